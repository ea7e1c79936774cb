// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of http_stage, for the files that instantiate it.

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "connection.hpp"
#include "forwarded.hpp"
#include "http_stage.hpp"
#include "shared_wakeup.hpp"

namespace troupe::http::detail {

template <class Stream>
void http_stage<Stream>::await_request() {
  if (!in_.unread().empty()) {
    begin_request();
    return go_through();
  }
  if (draining_ || is_at_end_) return finish();
  forget_client();
  since_ = clock::now();
  enter(phase::waiting, is_first() ? handshake_due_ : since_ + this->limits().idle_timeout);
  read();
}

template <class Stream>
void http_stage<Stream>::begin_request() {
  began_ = clock::now();
  request_due_ = began_ + this->limits().request_timeout;
  enter(phase::reading, std::min(request_due_, handshake_due_));
  parser_.emplace(this->limits().header_bytes);
  forget_client();
}

// The next request on the connection of a proxy may be of another client.
template <class Stream>
void http_stage<Stream>::forget_client() {
  if (!is_proxied_) return;
  place_.leave();
  client_ = peer_.to_string();
  client_key_ = client_key(peer_);
  read_at_ = {};
}

// From the head of a request that a trusted proxy has passed on. False if that is answered.
template <class Stream>
bool http_stage<Stream>::find_client() {
  const server_context& on = this->on();
  const request& asked = parser_->head().asked;
  const auto client = client_of(asked, peer_, on.proxies, on.options.proxy_header);
  if (!client) {
    reject({400, "Forwarded or X-Forwarded-For is malformed, or they name different clients"});
    return false;
  }
  client_ = client->to_string();
  client_key_ = client_key(*client);
  charge_received(std::exchange(received_, 0));
  if (place_.enter(on.places, client_key_)) return true;
  this->counts().refused_per_address.add();
  fail({503, "too many connections"});
  return false;
}

template <class Stream>
void http_stage<Stream>::count_received(std::size_t bytes) {
  if (!this->on().rates.limits(rate::received_bytes)) return;
  const bool is_known = !is_proxied_ || decoder_;
  is_known ? charge_received(bytes) : void(received_ += bytes);
}

template <class Stream>
void http_stage<Stream>::charge_received(std::size_t bytes) {
  const duration wait = this->on().rates.charge(rate::received_bytes, client_key_, bytes);
  if (wait == duration{0}) return;
  this->counts().rate_received_bytes.add();
  read_at_ = clock::now() + wait;
}

template <class Stream>
void http_stage<Stream>::read() {
  if (timed_out_) return fail({408});  // the deadline passed while no read was outstanding
  if (is_reading_) return;             // since the last request was handled
  read_within_rate();
}

template <class Stream>
void http_stage<Stream>::read_within_rate() {
  if (read_at_ == time_point{} || clock::now() >= read_at_) return start_reading();
  paused_ = true;
  this->owner().set_alarm(read_at_);
}

template <class Stream>
void http_stage<Stream>::start_reading() {
  read_at_ = {};
  if (is_reading_) return;
  is_reading_ = true;
  const std::span<char> room = in_.prepare();
  const auto into = boost::asio::buffer(room.data(), room.size());
  // Discarded bytes do not count as received ones.
  phase_ == phase::lingering
      ? socket().async_read_some(into, this->template then<&http_stage::on_read>())
      : stream_.async_read_some(into, this->template then<&http_stage::on_read>());
}

template <class Stream>
void http_stage<Stream>::on_read(net::error_code error, std::size_t bytes) {
  is_reading_ = false;
  switch (phase_) {
    case phase::waiting:
    case phase::reading:
      break;
    case phase::handling:
      if (error) return client_is_gone();
      in_.commit(bytes);
      count_received(bytes);
      return watch_client();
    case phase::making:
    case phase::writing:
      // The response is written nevertheless, or fails.
      error ? void(is_at_end_ = true) : in_.commit(bytes);
      if (!error) count_received(bytes);
      return;
    case phase::upgrading:
      if (error && error != boost::asio::error::operation_aborted) return finish();
      if (!error) in_.commit(bytes);
      return switch_to_websocket();
    case phase::lingering:
      if (error) return finish();
      in_.commit(bytes);
      in_.keep(in_.unread().last(0));
      count_received(bytes);
      return read_within_rate();
    case phase::over:
      return;
  }
  if (is_continuing_ && !timed_out_) {
    error ? void(is_at_end_ = true) : in_.commit(bytes);
    if (!error) count_received(bytes);
    return;
  }
  if (error) return timed_out_ ? fail({408}) : finish();
  in_.commit(bytes);
  count_received(bytes);
  if (phase_ == phase::waiting) begin_request();
  go_through();
}

template <class Stream>
void http_stage<Stream>::go_through() {
  decoder_ ? read_body() : read_head();
}

template <class Stream>
void http_stage<Stream>::read_head() {
  const std::span<char> unread = in_.unread();
  std::string_view bytes(unread.data(), unread.size());
  const request_parser::outcome so_far = parser_->next(bytes);
  in_.keep(unread.last(bytes.size()));
  switch (so_far) {
    case request_parser::outcome::more:
      return read();
    case request_parser::outcome::done:
      return on_head();
    case request_parser::outcome::failed:
      return reject(parser_->error());
  }
}

template <class Stream>
void http_stage<Stream>::on_head() {
  handshake_due_ = time_point::max();
  const request_head& head = parser_->head();
  keep_alive_ = head.keep_alive;
  if (this->on().options.on_access) {
    method_ = head.asked.method();
    target_ = head.asked.target();
  }
  if (is_proxied_ && !find_client()) return;
  const duration wait = this->on().rates.take(rate::requests, client_key_);
  if (wait > duration{0}) return answer_too_many(wait);
  if (!head.has_body()) return answer();
  if (reader_of_body(this->on(), head) == nullptr) {
    // The body is not read, so the connection cannot be used for another request.
    keep_alive_ = false;
    unread_ = true;
    return answer();
  }
  if (head.body_bytes > this->limits().body_bytes) return reject({413});
  decoder_ = head.body == framing::chunked ? body_decoder::chunked(this->limits().header_bytes)
                                           : body_decoder::sized(head.body_bytes);
  this->owner().set_alarm(request_due_);
  if (!head.expects_continue || !in_.unread().empty()) return read_body();
  // A read may be outstanding since an earlier request. Its bytes wait until this is written.
  is_continuing_ = true;
  static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  boost::asio::async_write(stream_, boost::asio::buffer(go_on),
                           this->template then<&http_stage::on_continued>());
}

template <class Stream>
void http_stage<Stream>::on_continued(net::error_code error, std::size_t) {
  is_continuing_ = false;
  if (phase_ != phase::reading) return;
  if (error) return timed_out_ ? fail({408}) : finish();
  in_.unread().empty() ? read() : go_through();
}

template <class Stream>
void http_stage<Stream>::read_body() {
  const std::span<char> unread = in_.unread();
  std::string_view bytes(unread.data(), unread.size());
  for (;;) {
    const body_decoder::outcome so_far = decoder_->next(bytes);
    switch (so_far) {
      case body_decoder::outcome::data:
        if (decoder_->data().size() > this->limits().body_bytes - body_.size()) {
          return reject({413});
        }
        if (add_to_body(decoder_->data())) break;
        return reject({503, "the memory for request bodies is used up"});
      case body_decoder::outcome::more:
        in_.keep(unread.last(bytes.size()));
        return read();
      case body_decoder::outcome::done:
        in_.keep(unread.last(bytes.size()));
        return answer();
      case body_decoder::outcome::failed:
        if (decoder_->is_too_large())
          return reject({431, "chunk extensions and trailers are too large"});
        return reject({400, "the body is not valid chunked encoding"});
    }
  }
}

// Returns false if the memory for the bodies of all requests is used up.
template <class Stream>
bool http_stage<Stream>::add_to_body(std::string_view piece) {
  const std::size_t needed = body_.size() + piece.size();
  if (needed > body_.capacity()) {
    const request_head& head = parser_->head();
    const std::size_t most = head.body == framing::sized ? static_cast<std::size_t>(head.body_bytes)
                                                         : this->limits().body_bytes;
    const std::size_t room = std::min(std::max(needed, 2 * body_.capacity()), most);
    // The storage inside the string object is not counted.
    if (!share_.grow(room - (body_.empty() ? 0 : body_.capacity()))) return false;
    body_.reserve(room);
  }
  body_ += piece;
  return true;
}

template <class Stream>
void http_stage<Stream>::answer() {
  flush_later::flush_now();  // a handler or a file may take long
  decoder_.reset();
  request_head& head = parser_->head();
  request_access::set_peer(head.asked, client_, this->on().is_secure);
  request_access::set_body(head.asked, std::exchange(body_, {}));
  leave_if_draining();
  auto result = respond(this->on(), head, keep_alive_);
  if (const auto* from = std::get_if<scrape>(&result)) return await_metrics(*from->from);
  if (const auto* handle = std::get_if<to_handle>(&result)) return await_handler(*handle->by);
  parser_.reset();
  share_.clear();
  if (auto* to = std::get_if<upgrade>(&result)) {
    upgrade_ = std::make_unique<upgrade>(std::move(*to));
    return switch_to_websocket();
  }
  auto& r = *std::get_if<reply>(&result);
  // It says that this is the last response, which the client may not expect.
  if (keep_alive_ && !r.keep_alive()) {
    keep_alive_ = false;
    unread_ = true;
  }
  write(std::move(r));
}

// Nothing may follow before the response: bytes that another party wrote would be read as WebSocket
// frames. A read that is outstanding since an earlier request ends first.
template <class Stream>
void http_stage<Stream>::switch_to_websocket() {
  if (!in_.unread().empty()) {
    upgrade_.reset();
    this->counts().malformed_requests.add();
    return refuse({400, "data was sent before the WebSocket handshake was complete"});
  }
  if (is_reading_) {
    since_ = clock::now();
    enter(phase::upgrading, since_ + this->limits().close_timeout);
    return cancel();
  }
  phase_ = phase::over;
  tell(101, 0);
  this->owner().switch_to_websocket(std::move(stream_), std::move(*upgrade_), client_key_,
                                    std::move(place_));
}

// While draining, requests that were received ahead still get responses.
template <class Stream>
void http_stage<Stream>::leave_if_draining() noexcept {
  keep_alive_ = keep_alive_ && !(draining_ && in_.unread().empty());
}

template <class Stream>
void http_stage<Stream>::await_metrics(const ref<metrics_maker>& from) {
  since_ = clock::now();
  enter(phase::making, since_ + this->limits().request_timeout);
  if (!this->owner().want_metrics(from, ++scrape_)) refuse({503, "the server is stopping"});
}

template <class Stream>
void http_stage<Stream>::on_metrics(const metrics_text& made) {
  // It may come too late, and then another request may wait already.
  if (phase_ != phase::making || made.number != scrape_) return;
  if (!made.text) {
    this->counts().handler_failures.add();
    return refuse({500, "the metrics could not be made"});
  }
  leave_if_draining();
  reply r = respond_metrics(this->on(), parser_->head(), keep_alive_, made.text);
  parser_.reset();
  share_.clear();
  write(std::move(r));
}

template <class Stream>
void http_stage<Stream>::await_handler(const route_handler& by) {
  request_head& head = parser_->head();
  form_ = response_form::of(head);
  handled_path_ = head.asked.path();
  since_ = clock::now();
  handler_due_ = later(since_, by.options.timeout.value_or(this->limits().handler_timeout));
  request asked = std::move(head.asked);
  parser_.reset();
  enter(phase::handling, handler_due_);
  this->counts().handlers.add();
  is_handler_counted_ = true;
  if (this->owner().start_handler(by, ++handled_, std::move(asked), std::move(share_))) {
    return watch_client();
  }
  handled refused{.number = handled_,
                  .with = response::error(503, "the server cannot handle more requests")};
  keep_alive_ = false;
  on_handled(std::move(refused));
}

// Reads while a handler runs. A client that is held to a rate, or has filled the buffer, is not
// read: its end is noticed later.
template <class Stream>
void http_stage<Stream>::watch_client() {
  if (is_at_end_ || in_.unread().size() >= read_buffer::large_bytes) return;
  if (read_at_ != time_point{} && clock::now() < read_at_) return;
  start_reading();
}

template <class Stream>
void http_stage<Stream>::client_is_gone() {
  uncount_handler();
  this->counts().handlers_cancelled.add();
  tell(499, 0);  // as nginx writes it into its log
  finish();
}

template <class Stream>
void http_stage<Stream>::on_handled(handled&& m) {
  if (phase_ != phase::handling || m.number != handled_) return;
  uncount_handler();
  if (m.failed) this->counts().handler_failures.add();
  leave_if_draining();
  write(respond_handled(this->on(), form_, keep_alive_, handled_path_, std::move(m.with)));
}

// A body is not read, so the connection ends after a request with a body.
template <class Stream>
void http_stage<Stream>::answer_too_many(duration wait) {
  this->counts().requests.add();
  this->counts().rate_requests.add();
  const request_head& head = parser_->head();
  const bool is_last = draining_ && in_.unread().empty();
  if (head.has_body()) unread_ = true;
  if (head.has_body() || is_last) keep_alive_ = false;
  reply r = respond_too_many(this->on(), head, keep_alive_, wait);
  parser_.reset();
  write(std::move(r));
}

// Counts why.
template <class Stream>
void http_stage<Stream>::reject(const refusal& what) {
  tally& counts = this->counts();
  (what.status == 414 || what.status == 431 ? counts.headers_too_large
   : what.status == 413                     ? counts.bodies_too_large
   : what.status == 503                     ? counts.bodies_refused
                                            : counts.malformed_requests)
      .add();
  fail(what);
}

template <class Stream>
void http_stage<Stream>::fail(const refusal& what) {
  this->counts().requests.add();
  refuse(what);
}

template <class Stream>
void http_stage<Stream>::refuse(const refusal& what) {
  keep_alive_ = false;
  unread_ = true;
  reply r = respond_error(this->on(), what, parser_ ? &parser_->head() : nullptr);
  decoder_.reset();
  parser_.reset();
  std::string{}.swap(body_);
  share_.clear();
  write(std::move(r));
}

template <class Stream>
void http_stage<Stream>::write(reply r) {
  since_ = clock::now();
  written_before_ = stream_.meter().written;
  enter(phase::writing, writing_due());
  status_ = r.status;
  beast::async_write(stream_, std::move(r), this->template then<&http_stage::on_written>());
}

template <class Stream>
void http_stage<Stream>::on_written(net::error_code error, std::size_t bytes) {
  tell(status_, bytes);
  if (error) return finish();
  if (keep_alive_) return await_request();
  // With everything read, closing sends FIN; otherwise it would reset the connection.
  unread_ || !in_.unread().empty() ? linger() : finish();
}

template <class Stream>
void http_stage<Stream>::tell(unsigned status, std::uint64_t bytes) {
  const auto& on_access = this->on().options.on_access;
  if (!on_access) return;
  on_access({.what = access::kind::request,
             .peer = client_,
             .method = method_,
             .target = target_,
             .status = status,
             .bytes = bytes,
             .took = clock::now() - began_});
  method_.clear();
  target_.clear();
}

// A socket that is closed with unread bytes in it resets the connection, and a reset overtakes data
// that was sent before: the client might never read why the connection was closed. So the client is
// read, at its rate, until it has closed too.
template <class Stream>
void http_stage<Stream>::linger() {
  since_ = clock::now();
  enter(phase::lingering, since_ + this->limits().close_timeout);
  net::error_code ignored;  // if this fails, reading does too
  socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
  in_.keep(in_.unread().last(0));
  if (!is_reading_) read_within_rate();
}

template <class Stream>
void http_stage<Stream>::finish() {
  if (phase_ == phase::over) return;
  phase_ = phase::over;
  place_.leave();
  net::error_code ignored;
  socket().close(ignored);
  this->owner().over();
}

// A client that is refused for lack of space is answered before anything was read, and so perhaps
// during a TLS handshake.
template <class Stream>
time_point http_stage<Stream>::writing_due() noexcept {
  const http::limits& l = this->limits();
  return since_ + (base::is_secured(socket()) ? l.idle_timeout : l.handshake_timeout);
}

// Compares with the last check. Any progress at all would not suffice: a client that reads a few
// bytes now and then could keep its connection, and the response's memory, as long as it likes.
template <class Stream>
bool http_stage<Stream>::is_read_fast_enough() noexcept {
  const http::limits& l = this->limits();
  const auto taken = static_cast<double>(stream_.meter().written - written_before_);
  const auto seconds = std::chrono::duration<double>(l.idle_timeout).count();
  return base::is_secured(socket()) &&
         taken >= std::max(1.0, static_cast<double>(l.read_bytes_per_second) * seconds);
}

// The deadline of the phase has not passed. When to look again.
template <class Stream>
time_point http_stage<Stream>::read_when_due(time_point now, time_point due) {
  if (!paused_) return due;
  if (now < read_at_) return std::min(due, read_at_);
  paused_ = false;
  start_reading();
  return due;
}

template <class Stream>
time_point http_stage<Stream>::tick(time_point now) {
  const http::limits& l = this->limits();
  time_point due = time_point::max();
  switch (phase_) {
    case phase::waiting:
      due = is_first() ? handshake_due_ : since_ + l.idle_timeout;
      if (now < due) return read_when_due(now, due);
      (is_first() ? this->counts().requests_timed_out : this->counts().idle_closed).add();
      finish();
      break;
    case phase::reading:
      due = std::min(request_due_, handshake_due_);
      if (now < due) return read_when_due(now, due);
      this->counts().requests_timed_out.add();
      timed_out_ = true;
      // The interrupted step answers. While reading is paused, no step is outstanding.
      std::exchange(paused_, false) ? fail({408}) : cancel();
      break;
    case phase::making:
      due = since_ + l.request_timeout;
      if (now < due) return due;
      this->counts().requests_timed_out.add();
      refuse({503, "the metrics were not made in time"});
      break;
    case phase::handling: {
      if (now < handler_due_) return handler_due_;
      this->counts().handlers_timed_out.add();
      this->owner().cancel_handlers();
      response late = response::error(503, "the request was not answered in time");
      late.headers.emplace_back("Retry-After", "1");
      on_handled({.number = handled_, .with = std::move(late)});
      break;
    }
    case phase::writing:
      due = writing_due();
      if (now < due) return due;
      if (is_read_fast_enough()) {
        since_ = now;
        written_before_ = stream_.meter().written;
        return writing_due();
      }
      this->counts().idle_closed.add();
      base::cut(socket());
      break;
    case phase::upgrading:
    case phase::lingering:
      due = since_ + l.close_timeout;
      if (now < due) return read_when_due(now, due);
      this->counts().close_timed_out.add();
      finish();
      break;
    case phase::over:
      break;
  }
  return time_point::max();
}

}  // namespace troupe::http::detail
