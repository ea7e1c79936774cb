// SPDX-License-Identifier: Apache-2.0

#include "gate.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe::http::detail {
namespace {

address address_of(const auto& guest) {
  return std::visit([](const auto& who) { return address(who); }, guest);
}

}  // namespace

// The listener is made here, so that a lack of memory for it is an error of start().
gate::gate(std::shared_ptr<const server_context> on, std::vector<net::loop*> loops,
           net::acceptor acceptor)
    : on_(std::move(on)),
      loops_(std::move(loops)),
      listener_(system().spawn<net::listener>(without_limits(loops_.front()->pump()),
                                              std::move(acceptor), self(this))) {}

void gate::on_start() {
  watch_the_rest();
  accept_next();
}

// Needs no memory: nothing else would ask again.
void gate::accept_next() {
  (void)next_.send(listener_, *loops_[next_loop_]);
  next_loop_ = (next_loop_ + 1) % loops_.size();
}

void gate::on(net::accepted m) {
  if (shut_) return;
  watch_the_rest();
  try {
    admit(std::move(m));
  } catch (const std::exception&) {
    // No memory for this connection. Its socket is closed by now. The next one may find some.
  }
  accept_next();
}

void gate::on(const net::accept_paused&) { on_->counts.accept_pauses.add(); }

void gate::admit(net::accepted m) {
  net::error_code error;
  ip_address from;  // with a Unix socket that of all clients
  if (!on_->is_unix) {
    from = m.connection.remote_endpoint(error).address();
    if (error) return;  // gone already
  }
  visitor v{.number = ++came_, .who = {}, .from = unmapped(from), .as = entry::admitted};
  v.is_proxy = on_->proxies.trusts(v.from);
  if (is_too_frequent(v)) return;
  if (!on_->is_unix) m.connection.set_option(net::protocol::no_delay(true), error);
  if (!give_place(v)) return;
  // All that needs memory comes before the connection is there, but for the monitor. The place in
  // the table has no key until then.
  decltype(visitors_)::iterator at;
  try {
    at = visitors_.emplace(address{}, v).first;
  } catch (...) {
    take_place_back(v);
    throw;
  }
  try {
    at->second.who = spawn(std::move(m), v);
  } catch (...) {
    visitors_.erase(at);
    take_place_back(v);
    throw;
  }
  auto inside = visitors_.extract(at);
  inside.key() = address_of(inside.mapped().who);
  const auto done = visitors_.insert(std::move(inside));
  if (!done.inserted) return take_place_back(v);  // the system shuts down, and makes no actors
  visitor& one = done.position->second;
  one.next_unwatched = std::exchange(unwatched_, &one);
  watch_the_rest();
}

// Those that there was no memory to watch before. An actor that has ended meanwhile is reported
// too.
void gate::watch_the_rest() noexcept {
  try {
    if (!is_listener_watched_) watch(listener_);
    is_listener_watched_ = true;
    while (unwatched_ != nullptr) {
      std::visit([this](const auto& who) { watch(who); }, unwatched_->who);
      unwatched_ = std::exchange(unwatched_->next_unwatched, nullptr);
    }
  } catch (const std::exception&) {
    // There is no memory now either.
  }
}

// A proxy serves many clients. Their connections to it are not known here.
bool gate::is_too_frequent(const visitor& v) {
  if (v.is_proxy || !on_->rates.limits(rate::connections)) return false;
  if (on_->rates.take(rate::connections, client_key(v.from)) == duration{0}) return false;
  on_->counts.rate_connections.add();
  return true;
}

gate::guest gate::spawn(net::accepted m, const visitor& v) {
  spawn_options how = without_limits(m.onto->pump());
  if (!on_->is_secure) {
    return system().spawn<connection>(std::move(how), on_, std::move(m.connection), v.from, v.as,
                                      m.onto->pump());
  }
  handshake_quota quota;
  if (!v.is_proxy && on_->rates.limits(rate::tls_handshakes)) {
    quota = {.of = &on_->rates, .who = client_key(v.from)};
  }
  tls_socket secured(std::move(m.connection), on_->tls.get(), &on_->counts.tls, {}, quota);
  return system().spawn<secure_connection>(std::move(how), on_, std::move(secured), v.from, v.as,
                                           m.onto->pump());
}

// Returns false if no space is left even for an error response.
bool gate::give_place(visitor& v) {
  const admission::verdict verdict =
      v.is_proxy ? on_->places.enter_proxy() : on_->places.enter(v.from);
  tally& counts = on_->counts;
  if (verdict == admission::verdict::yes) {
    counts.accepted.add();
    counts.connections.add();
    return true;
  }
  (verdict == admission::verdict::full ? counts.refused_full : counts.refused_per_address).add();
  if (refusals_ == refusals_at_once_max) return false;
  ++refusals_;
  v.as = entry::refused;
  return true;
}

void gate::take_place_back(const visitor& v) {
  if (v.as == entry::admitted) {
    v.is_proxy ? on_->places.leave_proxy() : on_->places.leave(v.from);
    on_->counts.connections.subtract();
  } else {
    --refusals_;
  }
}

void gate::on(const down& m) {
  watch_the_rest();
  if (m.who == listener_.address()) {
    has_listener_ended_ = true;
    if (shut_ || system().is_stopping()) return end_when_empty();
    throw std::runtime_error("the listener has stopped (" + std::string(to_string(m.reason)) +
                             "): no more connections are accepted");
  }
  const auto found = visitors_.find(m.who);
  if (found == visitors_.end()) return;
  take_place_back(found->second);
  visitors_.erase(found);
  end_when_empty();
}

void gate::on(drain) {
  shut();
  watch_the_rest();
  for (const guest& one : in_order()) {
    std::visit([](const auto& who) { who.send(leave{}); }, one);
  }
  end_when_empty();
}

void gate::on(cut) {
  shut();
  watch_the_rest();
  for (const guest& one : in_order()) {
    std::visit([](const auto& who) { who.stop_now(); }, one);
  }
  end_when_empty();
}

// The order of the table would depend on memory addresses.
std::vector<gate::guest> gate::in_order() const {
  std::vector<const visitor*> all;
  all.reserve(visitors_.size());
  for (const auto& [key, one] : visitors_) all.push_back(&one);
  std::sort(all.begin(), all.end(),
            [](const visitor* a, const visitor* b) { return a->number < b->number; });
  std::vector<guest> those;
  those.reserve(all.size());
  for (const visitor* each : all) those.push_back(each->who);
  return those;
}

void gate::shut() {
  shut_ = true;
  listener_.stop_now();
}

// If there was no memory to watch the listener, its end is not waited for.
void gate::end_when_empty() {
  const bool may_still_listen = is_listener_watched_ && !has_listener_ended_;
  if (shut_ && visitors_.empty() && !may_still_listen) stop();
}

}  // namespace troupe::http::detail
