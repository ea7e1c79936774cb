// SPDX-License-Identifier: Apache-2.0

#include "outgoing_connection.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <exception>
#include <utility>

#include "completion.hpp"
#include "outgoing_request.hpp"

namespace troupe::http::detail {
namespace {

namespace asio = boost::asio;
namespace bh = beast::http;

constexpr std::size_t read_bytes = 8 * 1024;
constexpr unsigned interim_max = 8;

// The errors that parse() reports when the other end has closed its side.
bool is_end(const net::error_code& error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated;
}

}  // namespace

// Takes the step unless the connection is over. An exception or a dropped operation fails the
// exchange.
template <auto Step>
auto outgoing_connection::then() {
  return completion(
      shared_from_this(),
      [](outgoing_connection& me, net::error_code error, std::size_t bytes) {
        if (me.phase_ != phase::over) (me.*Step)(error, bytes);
      },
      [](outgoing_connection& me, const std::exception_ptr& why) {
        if (me.phase_ == phase::over) return;
        if (why != nullptr) return me.fail(client_error::closed, reason_of(why));
        // Posted, because the caller that starts an operation must not be called back from within.
        asio::post(me.stream_->get_executor(), [it = me.shared_from_this()] {
          if (it->phase_ != phase::over) it->fail(client_error::closed, reason_of(nullptr));
        });
      });
}

// ── Connecting ────────────────────────────────────────────────────────────────────────────────

void outgoing_connection::dial(net::loop& on, asio::ssl::context* trust,
                               std::shared_ptr<client_exchange> first, time_point due) {
  exchange_ = std::move(first);
  // A weak reference: a strong one would form a cycle with the dialing.
  const auto me = weak_from_this();
  dialing_ = std::make_shared<dialing>(on, exchange_->to, trust, due,
                                       dialing::told{.call_by =
                                                         [me](time_point by) {
                                                           const auto still = me.lock();
                                                           if (still && still->pool_ != nullptr)
                                                             still->pool_->call_by(by);
                                                         },
                                                     .done =
                                                         [me](dialed result) {
                                                           if (const auto still = me.lock())
                                                             still->dialed_as(std::move(result));
                                                         }});
  dialing_->begin();
}

void outgoing_connection::dialed_as(dialed result) {
  dialing_.reset();
  if (pool_ == nullptr || phase_ != phase::dialing) return;
  if (!result.stream) return fail(result.error, std::move(result.why));
  stream_ = std::move(result.stream);
  pool_->dialed();
  begin();
}

void outgoing_connection::take(std::shared_ptr<client_exchange> next) {
  exchange_ = std::move(next);
  begin();
}

void outgoing_connection::begin() {
  phase_ = phase::busy;
  head_ = head_of_request(exchange_->what, exchange_->to, options_.user_agent);
  written_ = 0;
  to_write_ = head_.size() + exchange_->what.body.size();
  interim_ = 0;
  heard_ = false;
  begin_answer();
  write();
  read();
}

void outgoing_connection::begin_answer() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(
      std::min<std::size_t>(exchange_->what.header_bytes, std::uint32_t(-1))));
  parser_->body_limit(exchange_->what.body_bytes);
  if (exchange_->what.method == "HEAD") parser_->skip(true);
  head_bytes_ = 0;
}

// ── The request ───────────────────────────────────────────────────────────────────────────────

void outgoing_connection::write() {
  std::array<asio::const_buffer, 2> left{asio::buffer(head_), asio::buffer(exchange_->what.body)};
  std::size_t skipped = written_;
  for (asio::const_buffer& each : left) {
    const std::size_t before = std::min(skipped, each.size());
    each += before;
    skipped -= before;
  }
  stream_->async_write_some(left, then<&outgoing_connection::on_written>());
}

void outgoing_connection::on_written(net::error_code error, std::size_t bytes) {
  // The other end may have sent its reason before it closed. Reading finds that, or the end as
  // well.
  if (error || phase_ != phase::busy) return;
  written_ += bytes;
  if (written_ < to_write_) write();
}

// ── The response ──────────────────────────────────────────────────────────────────────────────

void outgoing_connection::read() {
  if (reading_) return;
  reading_ = true;
  stream_->async_read_some(buffer_.prepare(read_bytes), then<&outgoing_connection::on_read>());
}

void outgoing_connection::on_read(net::error_code error, std::size_t bytes) {
  reading_ = false;
  if (phase_ == phase::kept) {
    // It has closed, or it sends data that no request explains. Such a connection is no longer
    // trusted.
    close();
    return pool_->changed();
  }
  if (error) return on_end(error);
  buffer_.commit(bytes);
  heard_ = true;
  parse();
}

void outgoing_connection::parse() {
  while (!parser_->is_done()) {
    if (buffer_.size() == 0) return read();
    net::error_code error;
    const bool in_head = !parser_->is_header_done();
    const std::size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (in_head) head_bytes_ += used;
    const std::size_t most = exchange_->what.header_bytes;
    if (error == bh::error::need_more || (!error && used == 0)) {
      // Incomplete heads, including those of chunks, and trailers wait here.
      if (buffer_.size() + (in_head ? head_bytes_ : 0) > most) {
        return not_an_answer(bh::error::header_limit);
      }
      return read();
    }
    if (!error && head_bytes_ > most) error = bh::error::header_limit;
    if (error) return not_an_answer(error);
    if (in_head && parser_->is_header_done()) {
      on_head();
      if (phase_ != phase::busy) return;
    }
    if (!has_room(parser_->get().body().capacity())) return;
  }
  answered();
}

void outgoing_connection::on_head() {
  const unsigned status = parser_->get().result_int();
  if (status >= 200) {
    // Copied here because Beast adds trailers to the fields later (RFC 9110, 6.5.1).
    headers_.clear();
    for (const auto& each : parser_->get()) headers_.emplace_back(each.name_string(), each.value());
    return;
  }
  if (status == 101) {
    return fail(client_error::malformed,
                "the response switches protocols although no upgrade was requested");
  }
  if (++interim_ > interim_max) {
    return fail(client_error::malformed,
                "more than 8 interim responses came before the final response");
  }
  begin_answer();
}

// The announced size is checked before memory is allocated. Without space the exchange has failed.
bool outgoing_connection::has_room(std::size_t body_bytes) {
  std::size_t bytes = body_bytes;
  if (parser_->is_header_done() && !parser_->is_done()) {
    const auto announced = parser_->content_length_remaining().value_or(0);
    bytes = std::max<std::size_t>(bytes,
                                  std::min<std::uint64_t>(announced, exchange_->what.body_bytes));
  }
  if (exchange_->count(head_bytes_ + bytes)) return true;
  fail(client_error::overloaded, std::string(too_many_bytes));
  return false;
}

void outgoing_connection::on_end(net::error_code error) {
  if (!heard_) {
    return fail(client_error::closed,
                "the connection was closed before a response: " + error.message());
  }
  // A body that extends to the end of the connection is complete only if the other end has
  // announced that end itself. Without that, a third party could have cut it.
  const bool said_so = is_end(error) && error != asio::ssl::error::stream_truncated;
  if (said_so && parser_->is_header_done() && parser_->need_eof()) {
    net::error_code ignored;
    parser_->put_eof(ignored);
    if (!ignored) return answered();
  }
  fail(client_error::closed,
       "the connection ended before the response was complete: " + error.message());
}

void outgoing_connection::not_an_answer(net::error_code error) {
  if (error == bh::error::header_limit || error == bh::error::buffer_overflow) {
    return fail(client_error::too_large, "the response headers have more than " +
                                             std::to_string(exchange_->what.header_bytes) +
                                             " bytes");
  }
  if (error == bh::error::body_limit) {
    return fail(client_error::too_large, "the response body has more than " +
                                             std::to_string(exchange_->what.body_bytes) + " bytes");
  }
  fail(client_error::malformed, "the response is not valid HTTP: " + error.message());
}

void outgoing_connection::answered() {
  // A server may wrongly send a body after the response to HEAD. It would be taken for the next
  // response.
  const bool may_go_on = parser_->keep_alive() && written_ == to_write_ && buffer_.size() == 0 &&
                         options_.keep_alive_timeout.count() > 0 &&
                         exchange_->what.method != "HEAD";
  auto answer = parser_->release();
  parser_.reset();
  fetched result;
  result.status = answer.result_int();
  result.headers = std::exchange(headers_, {});
  result.body = std::move(answer.body());
  result.share = exchange_->share;
  std::string{}.swap(head_);
  if (may_go_on) {
    phase_ = phase::kept;
    kept_since_ = clock::now();
    is_first_ = false;
  } else {
    close();
  }
  const std::shared_ptr<outgoing_connection> stays = shared_from_this();
  pool* const in = pool_;
  if (may_go_on) {
    in->call_by(kept_since_ + options_.keep_alive_timeout);
    read();
  }
  in->finished(std::exchange(exchange_, nullptr), std::move(result));
}

// ── Termination ───────────────────────────────────────────────────────────────────────────────

void outgoing_connection::fail(client_error what, std::string why) {
  const std::shared_ptr<outgoing_connection> stays = shared_from_this();
  const bool when_kept = !is_first_ && !heard_ && what == client_error::closed;
  close();
  auto which = std::exchange(exchange_, nullptr);
  if (pool_ == nullptr) return;
  fetched result{.error = what, .why = std::move(why)};
  if (which == nullptr) return pool_->changed();
  when_kept ? pool_->failed_when_kept(std::move(which), std::move(result))
            : pool_->finished(std::move(which), std::move(result));
}

void outgoing_connection::close() noexcept {
  phase_ = phase::over;
  if (const auto begun = std::exchange(dialing_, nullptr)) begun->abandon();
  if (!stream_) return;
  net::error_code ignored;
  stream_->close(ignored);
}

time_point outgoing_connection::tick(time_point now) {
  switch (phase_) {
    case phase::dialing: {
      const std::shared_ptr<dialing> begun = dialing_;
      return begun ? begun->tick(now) : time_point::max();
    }
    case phase::busy:
      if (now < exchange_->due) return exchange_->due;
      fail(client_error::timeout,
           heard_ ? "the response was not complete in time" : "no response came in time");
      break;
    case phase::kept: {
      const time_point due = kept_since_ + options_.keep_alive_timeout;
      if (now < due) return due;
      close();
      pool_->changed();
      break;
    }
    case phase::over:
      break;
  }
  return time_point::max();
}

std::shared_ptr<client_exchange> outgoing_connection::abandon() noexcept {
  pool_ = nullptr;
  close();
  return std::exchange(exchange_, nullptr);
}

}  // namespace troupe::http::detail
