// SPDX-License-Identifier: Apache-2.0

#include "gate.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe::http::detail {
namespace {

// What is left of an IPv4 client that comes through an IPv6 socket.
admission::address plain(const admission::address& from) {
  namespace ip = boost::asio::ip;
  if (from.is_v6() && from.to_v6().is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, from.to_v6());
  }
  return from;
}

address address_of(const auto& guest) {
  return std::visit([](const auto& who) { return address(who); }, guest);
}

}  // namespace

gate::gate(std::shared_ptr<const site> on, std::vector<net::loop*> loops, net::acceptor acceptor)
    : on_(std::move(on)),
      loops_(std::move(loops)),
      acceptor_(std::move(acceptor)),
      admission_(on_->limits()) {}

void gate::on_start() {
  listener_ = system().spawn<net::listener>(without_limits(loops_.front()->pump()),
                                            std::move(acceptor_), self(this));
  watch(listener_);
  accept_next();
}

void gate::accept_next() {
  listener_.send(net::accept{loops_[next_loop_]});
  next_loop_ = (next_loop_ + 1) % loops_.size();
}

void gate::on(net::accepted m) {
  if (shut_) return;
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
  const auto from = m.connection.remote_endpoint(error);
  if (error) return;  // gone already
  m.connection.set_option(net::protocol::no_delay(true), error);

  visitor v{.number = ++came_, .who = {}, .from = plain(from.address()), .as = entry::admitted};
  if (!give_place(v)) return;
  address key;
  try {
    v.who = spawn(std::move(m), v);
    key = address_of(v.who);
    visitors_.emplace(key, v);
    watch(key);
  } catch (...) {
    std::visit(
        [](const auto& who) {
          if (who) who.stop_now();
        },
        v.who);
    visitors_.erase(key);
    take_place_back(v);
    throw;
  }
}

gate::guest gate::spawn(net::accepted m, const visitor& v) {
  spawn_options how = without_limits(m.onto->pump());
  if (!on_->is_secure) {
    return system().spawn<connection>(std::move(how), on_, std::move(m.connection),
                                      v.from.to_string(), v.as);
  }
  tls_socket secured(std::move(m.connection), on_->tls.get(), &on_->counts.tls);
  return system().spawn<secure_connection>(std::move(how), on_, std::move(secured),
                                           v.from.to_string(), v.as);
}

// Returns false if no space is left even for an error response.
bool gate::give_place(visitor& v) {
  const admission::verdict verdict = admission_.enter(v.from);
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
    admission_.leave(v.from);
    on_->counts.connections.subtract();
  } else {
    --refusals_;
  }
}

void gate::on(const down& m) {
  if (m.who == listener_.address()) {
    if (shut_ || system().is_stopping()) return;
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
  for (const guest& one : in_order()) {
    std::visit([](const auto& who) { who.send(leave{}); }, one);
  }
  end_when_empty();
}

void gate::on(cut) {
  shut();
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

void gate::end_when_empty() {
  if (shut_ && visitors_.empty()) stop();
}

}  // namespace troupe::http::detail
