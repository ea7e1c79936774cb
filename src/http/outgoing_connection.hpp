// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <troupe/base/clock.hpp>
#include <troupe/http/client.hpp>
#include <troupe/net/loop.hpp>

#include "beast.hpp"
#include "byte_share.hpp"
#include "dialing.hpp"
#include "outgoing_stream.hpp"
#include "url.hpp"

namespace troupe::http::detail {

/// One request in progress.
struct errand {
  fetch what;
  url to;
  troupe::reply<fetched> owed;
  ref<client> keeps;  // keeps the client alive as long as this exists
  time_point due;
  std::shared_ptr<byte_share> share;  // its bytes, and then those of its response
  unsigned redirected = 0;
  bool repeated = false;

  /// Counts the request and this many bytes of the response. Returns false if that exceeds the
  /// limit.
  [[nodiscard]] bool count(std::size_t answer_bytes) {
    return share->resize(sizeof(errand) + what.owned_bytes() + answer_bytes);
  }
};

/// One connection to an origin. It carries one request and response at a time, and is kept for the
/// next request.
///
///   dialing ──▶ busy ──answered, both continue───▶ kept ──the next──▶ busy
///      │          │ else; failed; late               │ said something, closed, too old
///      ▼          ▼                                  ▼
///     over ◀──────────────────────────────────────────
///
/// It reads from its first request to its end, so a kept connection notices at once that the other
/// end has closed.
///
/// Threads:   the loop's.
/// Invariant: its errand is given back once, by one of the pool's functions. None of these is
///            called after abandon().
class outgoing_connection : public std::enable_shared_from_this<outgoing_connection> {
 public:
  /// The owner. Each function may be called in a completion handler or in tick().
  class pool {
   public:
    /// The errand has its response or its error. Then the connection is kept or over.
    virtual void finished(std::shared_ptr<errand> which, fetched result) = 0;
    /// The errand failed before any byte of the response arrived, on a connection that had been
    /// kept.
    virtual void failed_when_kept(std::shared_ptr<errand> which, fetched result) = 0;
    virtual void dialed() = 0;
    /// The state has changed: a connection that is over may be removed, a kept one may be used.
    virtual void changed() = 0;
    /// tick() has to be called by then.
    virtual void call_by(time_point due) = 0;

   protected:
    ~pool() = default;
  };

  outgoing_connection(pool& in, const client_options& options, std::string origin)
      : pool_(&in), options_(options), origin_(std::move(origin)) {}

  void dial(net::loop& on, boost::asio::ssl::context* trust, std::shared_ptr<errand> first,
            time_point due);
  void take(std::shared_ptr<errand> next);

  [[nodiscard]] const std::string& origin() const noexcept { return origin_; }
  [[nodiscard]] bool is_kept() const noexcept { return phase_ == phase::kept; }
  [[nodiscard]] bool is_over() const noexcept { return phase_ == phase::over; }
  [[nodiscard]] time_point kept_since() const noexcept { return kept_since_; }

  /// Does what is due, and returns when it has to be called next.
  time_point tick(time_point now);
  /// Cuts the connection. Returns its errand, if it has one.
  std::shared_ptr<errand> abandon() noexcept;

 private:
  enum class phase : std::uint8_t { dialing, busy, kept, over };
  using parser = beast::http::response_parser<beast::http::string_body>;

  template <auto Step>
  auto then();

  void dialed_as(dialed result);
  void begin();
  void begin_answer();
  void write();
  void on_written(net::error_code error, std::size_t bytes);
  void read();
  void on_read(net::error_code error, std::size_t bytes);
  void parse();
  void on_head();
  [[nodiscard]] bool has_room(std::size_t body_bytes);
  void on_end(net::error_code error);
  void not_an_answer(net::error_code error);
  void answered();
  void fail(client_error what, std::string why);
  void close() noexcept;

  pool* pool_;  // null once abandoned
  const client_options& options_;
  const std::string origin_;
  phase phase_ = phase::dialing;
  std::shared_ptr<dialing> dialing_;
  std::unique_ptr<outgoing_stream> stream_;
  std::shared_ptr<errand> errand_;

  std::string head_;          // of the request
  std::size_t written_ = 0;   // bytes of head and body
  std::size_t to_write_ = 0;  //
  bool reading_ = false;
  beast::flat_buffer buffer_;
  std::optional<parser> parser_;
  std::size_t head_bytes_ = 0;  // of the response
  header_list headers_;         // of the response, without the trailers
  unsigned interim_ = 0;        // interim responses: 100, 103
  bool is_first_ = true;        // no errand has been answered on this connection
  bool heard_ = false;          // part of the response has arrived
  time_point kept_since_;
};

}  // namespace troupe::http::detail
