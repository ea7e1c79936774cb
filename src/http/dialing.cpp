// SPDX-License-Identifier: Apache-2.0

#include "dialing.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include <troupe/actor/conductor.hpp>

#include "completion.hpp"
#include "trust.hpp"

namespace troupe::http::detail {
namespace {

namespace asio = boost::asio;

// At most this many addresses of a name are tried.
constexpr std::size_t addresses_max = 8;

std::string shown(const net::protocol::endpoint& where) {
  const auto address = where.address();
  return (address.is_v6() ? "[" + address.to_string() + "]" : address.to_string()) + ":" +
         std::to_string(where.port());
}

}  // namespace

dialing::dialing(net::loop& on, url to, asio::ssl::context* trust, time_point due, told who)
    : on_(on.context()),
      to_(std::move(to)),
      trust_(trust),
      due_(due),
      told_(std::move(who)),
      resolver_(on.context()),
      attempt_due_(due) {}

// Takes the step unless the dialing is over. An exception or a dropped operation ends it.
template <class Step>
auto dialing::then(Step step) {
  return completion(
      shared_from_this(),
      [step](dialing& me, const auto&... results) {
        if (me.told_.done) step(me, results...);
      },
      [](dialing& me, const std::exception_ptr& why) {
        if (!me.told_.done) return;
        if (why != nullptr) return me.fail(client_error::connect, reason_of(why));
        // Posted, because the caller that starts an operation must not be called back from within.
        asio::post(me.on_, [it = me.shared_from_this()] {
          if (it->told_.done) it->fail(client_error::connect, reason_of(nullptr));
        });
      });
}

void dialing::begin() {
  told_.call_by(due_);
  net::error_code error;
  if (const auto address = asio::ip::make_address(to_.host, error); !error) {
    left_.emplace_back(address, to_.port);
    return connect();
  }
  if (troupe::detail::conductor::here() != nullptr) {
    // A simulation does not resolve names: every address is this host's, and a resolver would need
    // another thread.
    left_.emplace_back(asio::ip::address_v4::loopback(), to_.port);
    return connect();
  }
  resolver_.async_resolve(to_.host, std::to_string(to_.port),
                          asio::ip::resolver_base::numeric_service,
                          then([](dialing& me, net::error_code e,
                                  const resolver::results_type& found) { me.resolved(e, found); }));
}

void dialing::resolved(net::error_code error, const resolver::results_type& found) {
  if (error) {
    return fail(client_error::resolve,
                "the name " + to_.host + " cannot be resolved: " + error.message());
  }
  for (const auto& each : found) {
    if (left_.size() < addresses_max) left_.push_back(each.endpoint());
  }
  std::reverse(left_.begin(), left_.end());
  connect();
}

void dialing::connect() {
  if (left_.empty()) return fail(client_error::connect, last_);
  const net::protocol::endpoint next = left_.back();
  left_.pop_back();
  const time_point now = clock::now();
  attempt_due_ = now + (due_ - now) / static_cast<std::int64_t>(left_.size() + 1);
  last_ = "cannot connect to " + shown(next) + ": ";
  told_.call_by(attempt_due_);
  const std::uint64_t which = ++attempt_;
  stream_ = std::make_unique<outgoing_stream>(net::socket(on_));
  stream_->socket().async_connect(next, then([which](dialing& me, net::error_code error) {
                                    if (which == me.attempt_) me.connected(error);
                                  }));
}

void dialing::connected(net::error_code error) {
  if (error) {
    last_ += error.message();
    return connect();
  }
  attempt_due_ = due_;
  told_.call_by(due_);
  stream_->set_option(net::protocol::no_delay(true), error);
  if (!to_.is_secure) return finish({.stream = std::move(stream_)});
  auto& tls = stream_->begin_tls(*trust_);
  tls_ = tls.native_handle();
  expect_host(tls_, to_.host);
  tls.async_handshake(asio::ssl::stream_base::client,
                      then([](dialing& me, net::error_code e) { me.shaken_hands(e); }));
}

void dialing::shaken_hands(net::error_code error) {
  if (error) return fail(client_error::tls, handshake_failure(tls_, to_.host, error));
  finish({.stream = std::move(stream_)});
}

time_point dialing::tick(time_point now) {
  if (!told_.done) return time_point::max();
  if (now >= due_) {
    const char* const what = tls_ != nullptr ? " did not complete the TLS handshake in time"
                             : attempt_ != 0 ? " did not accept the connection in time"
                                             : " could not be resolved in time";
    fail(client_error::timeout, to_.host + what);
    return time_point::max();
  }
  if (now >= attempt_due_) {
    last_ += "timed out";
    connect();  // the socket of the previous attempt is closed with its stream
  }
  return told_.done ? attempt_due_ : time_point::max();
}

void dialing::abandon() noexcept {
  told_.done = nullptr;
  try {
    resolver_.cancel();
  } catch (const std::exception&) {
    // Then it completes later, and the result is ignored.
  }
  if (!stream_) return;
  net::error_code ignored;
  stream_->close(ignored);
}

void dialing::fail(client_error what, std::string why) {
  const std::shared_ptr<dialing> stays = shared_from_this();
  const auto done = std::exchange(told_.done, nullptr);
  if (!done) return;  // an exception of the callback leaves this function
  abandon();
  done({.error = what, .why = std::move(why)});
}

void dialing::finish(dialed with) {
  const std::shared_ptr<dialing> stays = shared_from_this();
  const auto done = std::exchange(told_.done, nullptr);
  if (!done) return;  // an exception of the callback leaves this function
  done(std::move(with));
}

}  // namespace troupe::http::detail
