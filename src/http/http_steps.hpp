// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of http_stage, for the files that instantiate it.

#include <algorithm>
#include <boost/asio/write.hpp>
#include <string_view>
#include <variant>

#include "connection.hpp"
#include "http_stage.hpp"
#include "linger.hpp"
#include "shared_wakeup.hpp"

namespace troupe::http::detail {

template <class Stream>
void http_stage<Stream>::await_request() {
  if (buffer_.size() > 0) return read_request();
  if (draining_) return finish();
  if (buffer_.capacity() > idle_buffer_bytes_max) buffer_.shrink_to_fit();
  since_ = clock::now();
  enter(phase::waiting, is_first() ? handshake_due_ : since_ + this->limits().idle_time);
  stream_.async_read_some(buffer_.prepare(2048),
                          this->template then<&http_stage::on_first_bytes>());
}

template <class Stream>
void http_stage<Stream>::on_first_bytes(net::error_code error, std::size_t bytes) {
  if (error) return finish();
  buffer_.commit(bytes);
  read_request();
}

template <class Stream>
void http_stage<Stream>::read_request() {
  began_ = clock::now();
  request_due_ = began_ + this->limits().request_time;
  enter(phase::reading, std::min(request_due_, handshake_due_));
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(this->limits().header_bytes));
  parser_->body_limit(this->limits().body_bytes);
  beast::http::async_read_header(stream_, buffer_, *parser_,
                                 this->template then<&http_stage::on_header>());
}

template <class Stream>
void http_stage<Stream>::on_header(net::error_code error, std::size_t bytes) {
  // Beast does not count the request line with the headers if they come later than it.
  if (!error && bytes > this->limits().header_bytes) error = beast::http::error::header_limit;
  if (error) return not_a_request(error);
  handshake_due_ = time_point::max();
  if (parser_->is_done()) return answer();
  this->owner().set_alarm(request_due_);
  if (!beast::iequals(parser_->get()[beast::http::field::expect], "100-continue")) {
    return read_body();
  }
  static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  boost::asio::async_write(stream_, boost::asio::buffer(go_on),
                           this->template then<&http_stage::on_continued>());
}

template <class Stream>
void http_stage<Stream>::on_continued(net::error_code error, std::size_t) {
  if (error) return not_a_request(error);
  read_body();
}

template <class Stream>
void http_stage<Stream>::read_body() {
  beast::http::async_read(stream_, buffer_, *parser_, this->template then<&http_stage::on_body>());
}

template <class Stream>
void http_stage<Stream>::on_body(net::error_code error, std::size_t) {
  if (error) return not_a_request(error);
  answer();
}

template <class Stream>
void http_stage<Stream>::not_a_request(net::error_code error) {
  namespace bh = beast::http;
  if (timed_out_) return fail(408);
  if (error == bh::error::header_limit || error == bh::error::buffer_overflow) {
    this->counts().headers_too_large.add();
    return fail(431);
  }
  if (error == bh::error::body_limit) {
    this->counts().bodies_too_large.add();
    return fail(413);
  }
  static const auto& of_http = bh::make_error_code(bh::error::end_of_stream).category();
  const bool gone = error == bh::error::end_of_stream || error == bh::error::partial_message ||
                    error.category() != of_http;
  if (gone) return finish();
  this->counts().malformed_requests.add();
  fail(400, error.message());
}

template <class Stream>
void http_stage<Stream>::answer() {
  flush_later::flush_now();  // a handler or a file may take its time
  parsed_request asked = parser_->release();
  parser_.reset();
  // While draining, what has been received ahead is still answered.
  keep_alive_ = asked.keep_alive() && !(draining_ && buffer_.size() == 0);
  if (this->on().options.on_access) {
    method_ = std::string_view{asked.method_string()};
    target_ = std::string_view{asked.target()};
  }
  auto result = respond(this->on(), asked, peer_, keep_alive_);
  if (auto* to = std::get_if<upgrade>(&result)) {
    // Nothing may follow before the answer: whoever wrote it would be read as WebSocket frames.
    if (buffer_.size() > 0) {
      this->counts().malformed_requests.add();
      return refuse(400, "data before the WebSocket was there");
    }
    phase_ = phase::over;
    tell(101, 0);
    return this->owner().switch_to_websocket(std::move(stream_), std::move(*to));
  }
  auto& r = *std::get_if<reply>(&result);
  // It says that this is the end, which the client may not expect.
  if (keep_alive_ && !r.keep_alive()) {
    keep_alive_ = false;
    unread_ = true;
  }
  write(std::move(r));
}

template <class Stream>
void http_stage<Stream>::fail(unsigned status, std::string_view why) {
  this->counts().requests.add();
  refuse(status, why);
}

template <class Stream>
void http_stage<Stream>::refuse(unsigned status, std::string_view why) {
  keep_alive_ = false;
  unread_ = true;
  write(respond_error(this->on(), status, why));
}

template <class Stream>
void http_stage<Stream>::write(reply r) {
  since_ = clock::now();
  enter(phase::writing, writing_due());
  status_ = r.status;
  beast::async_write(stream_, std::move(r), this->template then<&http_stage::on_written>());
}

template <class Stream>
void http_stage<Stream>::on_written(net::error_code error, std::size_t bytes) {
  tell(status_, bytes);
  if (error) return finish();
  if (keep_alive_) return await_request();
  // With everything read, closing says goodbye; otherwise it would reset the connection.
  unread_ || buffer_.size() > 0 ? linger() : finish();
}

template <class Stream>
void http_stage<Stream>::tell(unsigned status, std::uint64_t bytes) {
  const auto& on_access = this->on().options.on_access;
  if (!on_access) return;
  on_access({.what = access::kind::request,
             .peer = peer_,
             .method = method_,
             .target = target_,
             .status = status,
             .bytes = bytes,
             .took = clock::now() - began_});
  method_.clear();
  target_.clear();
}

template <class Stream>
void http_stage<Stream>::linger() {
  since_ = clock::now();
  enter(phase::lingering, since_ + this->limits().close_time);
  async_linger(socket(), this->template then<&http_stage::on_lingered>());
}

template <class Stream>
void http_stage<Stream>::on_lingered(net::error_code) {
  finish();
}

template <class Stream>
void http_stage<Stream>::finish() {
  if (phase_ == phase::over) return;
  phase_ = phase::over;
  net::error_code ignored;
  socket().close(ignored);
  this->owner().over();
}

// Whom there is no room for is answered before anything was read, and so perhaps in the midst of a handshake.
template <class Stream>
time_point http_stage<Stream>::writing_due() noexcept {
  const http::limits& l = this->limits();
  return std::max(since_, stream_.meter().taken) +
         (base::is_secured(socket()) ? l.idle_time : l.handshake_time);
}

template <class Stream>
time_point http_stage<Stream>::tick(time_point now) {
  const http::limits& l = this->limits();
  time_point due = time_point::max();
  switch (phase_) {
    case phase::waiting:
      due = is_first() ? handshake_due_ : since_ + l.idle_time;
      if (now < due) return due;
      (is_first() ? this->counts().requests_timed_out : this->counts().idle_closed).add();
      finish();
      break;
    case phase::reading:
      due = std::min(request_due_, handshake_due_);
      if (now < due) return due;
      this->counts().requests_timed_out.add();
      timed_out_ = true;
      cancel();  // the step that is interrupted answers
      break;
    case phase::writing:
      due = writing_due();
      if (now < due) return due;
      this->counts().idle_closed.add();
      base::cut(socket());
      break;
    case phase::lingering:
      due = since_ + l.close_time;
      if (now < due) return due;
      this->counts().close_timed_out.add();
      finish();
      break;
    case phase::over:
      break;
  }
  return time_point::max();
}

}  // namespace troupe::http::detail
