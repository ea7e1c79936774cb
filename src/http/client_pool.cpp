// SPDX-License-Identifier: Apache-2.0

#include "client_pool.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

#include "outgoing_request.hpp"
#include "trust.hpp"

namespace troupe::http::detail {
namespace {

client_options checked(client_options o) {
  const auto positive = [](bool is, const char* name) {
    if (!is) {
      throw std::invalid_argument(std::string("http::client_options::") + name +
                                  " must be positive");
    }
  };
  positive(o.connections_max > 0, "connections_max");
  positive(o.connections_per_host_max > 0, "connections_per_host_max");
  positive(o.bytes_max > 0, "bytes_max");
  positive(o.connect_timeout.count() > 0, "connect_timeout");
  const http::limits& l = o.websocket_limits;
  positive(l.handshake_timeout.count() > 0, "websocket_limits.handshake_timeout");
  positive(l.header_bytes > 0, "websocket_limits.header_bytes");
  positive(l.message_bytes > 0, "websocket_limits.message_bytes");
  positive(l.send_queue_bytes > 0, "websocket_limits.send_queue_bytes");
  positive(l.send_queues_bytes > 0, "websocket_limits.send_queues_bytes");
  positive(l.partial_messages_bytes > 0, "websocket_limits.partial_messages_bytes");
  positive(l.receive_window > 0, "websocket_limits.receive_window");
  positive(l.request_timeout.count() > 0, "websocket_limits.request_timeout");
  positive(l.idle_timeout.count() > 1, "websocket_limits.idle_timeout");
  positive(l.close_timeout.count() > 0, "websocket_limits.close_timeout");
  if (o.user_agent.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    throw std::invalid_argument("http::client_options::user_agent must be a single line");
  }
  o.connect_timeout = std::min(o.connect_timeout, time_max);
  o.keep_alive_timeout = std::clamp(o.keep_alive_timeout, std::chrono::milliseconds(0), time_max);
  return o;
}

}  // namespace

client_pool::client_pool(net::loop& on, client_options options)
    : loop_(on),
      options_(checked(std::move(options))),
      bytes_(std::make_shared<byte_gauge>(options_.bytes_max)) {
  // A named file of certificates is read at once; those of the system are read when first needed.
  if (!options_.trusted_certificates.empty()) (void)trust();
}

boost::asio::ssl::context& client_pool::trust() {
  if (!trust_) trust_.emplace(trusting(options_.trusted_certificates));
  return *trust_;
}

std::optional<std::string> client_pool::forbidden(const url& to) const {
  if (options_.allowed.allow(to.host, to.port)) return std::nullopt;
  return "no connection to " + to.host + ":" + std::to_string(to.port) +
         " is allowed: the host is not in the list of allowed hosts";
}

void client_pool::begin(std::shared_ptr<errand> which) {
  ++counts_.requests;
  if (auto problem = validate(which->what)) {
    return answer(*which, {.error = client_error::invalid, .why = std::move(*problem)});
  }
  which->to = std::get<url>(parse_url(which->what.url, scheme_kind::http));
  which->share = share();
  if (!which->count(0)) {
    return answer(*which, {.error = client_error::overloaded, .why = std::string(too_many_bytes)});
  }
  enqueue(std::move(which));
}

void client_pool::enqueue(std::shared_ptr<errand> which) {
  if (auto problem = forbidden(which->to)) {
    return answer(*which, {.error = client_error::not_allowed, .why = std::move(*problem)});
  }
  waiting_.push_back(std::move(which));
  const std::shared_ptr<errand> last = waiting_.back();
  call_by(last->due);
  serve();
  if (waiting_.size() <= options_.queue_max || waiting_.back() != last) return;
  waiting_.pop_back();
  answer(*last, {.error = client_error::overloaded,
                 .why = std::to_string(options_.queue_max) +
                        " requests wait for a connection already, which is the limit queue_max"});
}

// ── The result of an errand ───────────────────────────────────────────────────────────────────

void client_pool::answer(errand& which, fetched result) {
  ++(result ? counts_.answered : counts_.failed);
  result.url = which.to.host.empty() ? which.what.url : which.to.text();
  // From here on the share belongs to the response alone. If the response needs more than before
  // because of the strings that hold its headers, and no space is left, those do not count.
  if (result.share) (void)result.share->resize(bytes_of(result));
  which.owed.set_value(std::move(result));
}

void client_pool::finished(std::shared_ptr<errand> which, fetched result) {
  const bool may_lead_on = result && which->what.redirects > 0 && result.status / 100 == 3;
  if (!may_lead_on) {
    answer(*which, std::move(result));
    which.reset();
    return serve();
  }
  // A new errand, because some bytes of the previous one may still be being written.
  auto next = std::make_shared<errand>();
  next->what = which->what;
  next->to = which->to;
  next->due = which->due;
  next->redirected = which->redirected;
  next->share = which->share;
  if (!follow(*next, result)) {
    answer(*which, std::move(result));
    which.reset();
    return serve();
  }
  (void)next->count(0);  // less than before: the response has been read
  next->owed = std::move(which->owed);
  next->keeps = std::move(which->keeps);
  enqueue(std::move(next));
}

// Returns whether a redirect has to be followed. If it cannot be followed, that becomes the result.
bool client_pool::follow(errand& which, fetched& result) {
  const std::string location(result.header("location"));
  if (location.empty()) return false;
  const auto fail = [&](std::string why) {
    result.error = client_error::redirects;
    result.why = std::move(why);
    return false;
  };
  auto to = redirected(which.to, location);
  const auto* const next = std::get_if<url>(&to);
  const bool elsewhere = next == nullptr || next->origin() != which.to.origin();
  if (!redirect(which.what, result.status, elsewhere)) return false;
  if (next == nullptr)
    return fail("a redirect has an invalid location: " + std::get<std::string>(to));
  if (which.to.is_secure && !next->is_secure) {
    return fail("a redirect leads from https to " + next->text() + ", which is not encrypted");
  }
  if (++which.redirected > which.what.redirects) {
    return fail("more than " + std::to_string(which.what.redirects) + " redirects, the last to " +
                next->text());
  }
  which.to = *next;
  return true;
}

void client_pool::failed_when_kept(std::shared_ptr<errand> which, fetched result) {
  if (which->repeated || !may_be_repeated(which->what.method)) {
    answer(*which, std::move(result));
    which.reset();
    return serve();
  }
  ++counts_.repeated;
  which->repeated = true;
  waiting_.push_front(std::move(which));
  serve();
}

// ── Connections ───────────────────────────────────────────────────────────────────────────────

void client_pool::serve() {
  again_ = true;
  if (std::exchange(serving_, true)) return;
  while (std::exchange(again_, false)) {
    sweep();
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      each = serve(*each) ? waiting_.erase(each) : each + 1;
    }
  }
  serving_ = false;
}

void client_pool::sweep() {
  std::erase_if(connections_, [](const connection& each) { return each->is_over(); });
}

// Returns false if the errand has to wait.
bool client_pool::serve(const std::shared_ptr<errand>& which) {
  try {
    return serve_somehow(which);
  } catch (const std::exception& e) {
    sweep();
    answer(*which, {.error = which->to.is_secure ? client_error::tls : client_error::connect,
                    .why = e.what()});
    return true;
  }
}

bool client_pool::serve_somehow(const std::shared_ptr<errand>& which) {
  const std::string origin = which->to.origin();
  std::size_t to_that = 0;
  outgoing_connection* kept = nullptr;
  for (const connection& each : connections_) {
    if (each->is_over() || each->origin() != origin) continue;
    ++to_that;
    // The connection used last is the least likely to have been closed.
    const bool is_better = kept == nullptr || each->kept_since() > kept->kept_since();
    if (each->is_kept() && is_better) kept = each.get();
  }
  if (kept != nullptr && !which->repeated) {
    ++counts_.reused;
    kept->take(which);
    return true;
  }
  if (to_that >= options_.connections_per_host_max || !make_room()) {
    // A repeated errand requires a new connection, for which a kept one makes space.
    if (kept == nullptr) return false;
    (void)kept->abandon();
    sweep();
  }
  dial(which);
  return true;
}

bool client_pool::make_room() {
  if (connections_.size() < options_.connections_max) return true;
  sweep();
  if (connections_.size() < options_.connections_max) return true;
  const auto oldest = std::min_element(connections_.begin(), connections_.end(),
                                       [](const connection& a, const connection& b) {
                                         if (a->is_kept() != b->is_kept()) return a->is_kept();
                                         return a->kept_since() < b->kept_since();
                                       });
  if (!(*oldest)->is_kept()) return false;
  (void)(*oldest)->abandon();
  connections_.erase(oldest);
  return true;
}

void client_pool::dial(const std::shared_ptr<errand>& which) {
  boost::asio::ssl::context* const with = which->to.is_secure ? &trust() : nullptr;
  auto made = std::make_shared<outgoing_connection>(*this, options_, which->to.origin());
  connections_.reserve(connections_.size() + 1);
  made->dial(loop_, with, which, std::min(which->due, clock::now() + options_.connect_timeout));
  connections_.push_back(std::move(made));
}

// ── Time ──────────────────────────────────────────────────────────────────────────────────────

time_point client_pool::tick(time_point now) {
  time_point next = time_point::max();
  const std::vector<connection> all = connections_;  // a copy: a call may change connections_
  for (const connection& each : all) next = std::min(next, each->tick(now));
  std::vector<std::shared_ptr<errand>> late;
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    if (now < (*each)->due) {
      next = std::min(next, (*each++)->due);
      continue;
    }
    late.push_back(std::move(*each));
    each = waiting_.erase(each);
  }
  for (const auto& each : late) {
    answer(*each, {.error = client_error::timeout,
                   .why = "no connection was free in time: all allowed connections are in use"});
  }
  serve();
  return next;
}

void client_pool::abandon() noexcept {
  call_by_ = nullptr;
  const auto all = std::exchange(connections_, {});
  auto left = std::exchange(waiting_, {});
  for (const connection& each : all) {
    if (auto its = each->abandon()) left.push_back(std::move(its));
  }
  for (const auto& each : left) {
    answer(*each, {.error = client_error::stopped, .why = "the client has stopped"});
  }
}

client_statistics client_pool::statistics() const noexcept {
  client_statistics now = counts_;
  now.waiting = waiting_.size();
  now.connections = static_cast<std::uint64_t>(
      std::count_if(connections_.begin(), connections_.end(),
                    [](const connection& each) { return !each->is_over(); }));
  return now;
}

}  // namespace troupe::http::detail
