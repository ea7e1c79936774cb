// SPDX-License-Identifier: Apache-2.0

#include "outgoing_websocket.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "request_access.hpp"
#include "websocket_steps.hpp"

namespace troupe::http::detail {

static_assert(client_handshake::read_bytes <= read_buffer::small_bytes);

namespace {

// The request as it was sent, which a session can read from its http::websocket.
request request_of(const connect_websocket& what, const url& to) {
  std::vector<std::pair<std::string, std::string>> headers{{"Host", to.authority()}};
  headers.insert(headers.end(), what.headers.begin(), what.headers.end());
  return request_access::make("GET", to.target, headers, to.host, to.is_secure);
}

}  // namespace

outgoing_websocket::outgoing_websocket(std::shared_ptr<client_pool> with,
                                       std::shared_ptr<const site> on, connect_websocket what,
                                       std::shared_ptr<byte_share> share, url to,
                                       troupe::reply<connected> owed)
    : pool_(std::move(with)),
      on_(std::move(on)),
      what_(std::move(what)),
      share_(std::move(share)),
      to_(std::move(to)),
      owed_(std::move(owed)) {}

outgoing_websocket::~outgoing_websocket() {
  if (dialing_) dialing_->abandon();
  if (greeting_) greeting_->abandon();
  if (stage_) stage_->abandon();
  if (owed_) owed_.set_value({.error = client_error::stopped, .why = "the client has stopped"});
}

// After abandon() no completion handler calls back, so they may capture `this`.
void outgoing_websocket::on_start() {
  const time_point now = clock::now();
  const auto time = std::min(
      what_.timeout.count() > 0 ? what_.timeout : on_->limits().handshake_timeout, time_max);
  due_ = now + time;
  set_alarm(due_);
  boost::asio::ssl::context* const trust = to_.is_secure ? &pool_->trust() : nullptr;
  dialing_ = std::make_shared<dialing>(
      pool_->loop(), to_, trust, std::min(due_, now + pool_->options().connect_timeout),
      dialing::told{.call_by = [this](time_point by) { set_alarm(by); },
                    .done = [this](dialed result) { dialed_as(std::move(result)); }});
  dialing_->begin();
}

void outgoing_websocket::dialed_as(dialed result) {
  dialing_.reset();
  if (!result.stream) return fail(result.error, std::move(result.why));
  greeting_ = std::make_shared<client_handshake>(
      std::move(result.stream), what_, to_, pool_->options().user_agent, on_->limits().header_bytes,
      [this](client_handshake_result answer) { greeted_as(std::move(answer)); });
  greeting_->begin();
}

void outgoing_websocket::greeted_as(client_handshake_result result) {
  greeting_.reset();
  if (!result.stream) return fail(result.error, std::move(result.why), result.status);
  try {
    open(std::move(result));
  } catch (...) {
    operation_failed(std::current_exception());
  }
}

void outgoing_websocket::open(client_handshake_result result) {
  upgrade with{.asked = request_of(what_, to_),
               .session = &what_.session,
               .protocol = std::move(result.protocol),
               .answer = {}};
  recipient<poke> me = self(this);
  metered_stream<outgoing_stream> stream(std::move(*result.stream), on_->counts);
  stage_ = std::make_shared<websocket_stage<outgoing_stream>>(*this, on_, std::move(stream),
                                                              std::move(with), std::move(me));
  stage_->begin(result.ahead);
  owed_.set_value(
      {.error = client_error::none, .why = {}, .status = 101, .socket = stage_->handle()});
}

void outgoing_websocket::fail(client_error what, std::string why, unsigned status) {
  owed_.set_value({.error = what, .why = std::move(why), .status = status, .socket = {}});
  stop();
}

void outgoing_websocket::on(tick) {
  alarm_.rang();
  const time_point now = clock::now();
  if (stage_) return set_alarm(stage_->tick(now));
  if (!owed_) return;  // already stopping
  if (now >= due_) {
    if (dialing_) dialing_->abandon();
    if (greeting_) greeting_->abandon();
    return fail(client_error::timeout,
                to_.host + " did not complete the WebSocket handshake in time");
  }
  set_alarm(due_);
  if (const auto begun = dialing_) set_alarm(begun->tick(now));
}

void outgoing_websocket::on(poke) {
  if (stage_) stage_->look();
}

void outgoing_websocket::on(const down& m) {
  if (stage_) stage_->session_ended(m.reason);
}

template class websocket_stage<outgoing_stream>;

}  // namespace troupe::http::detail
