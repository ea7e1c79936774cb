// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/net/socket.hpp>

#include "tally.hpp"

namespace troupe::http::detail {

/// The bytes that one connection has moved, and when. A connection uses it to tell a slow client
/// from a silent one.
struct meter {
  tally* counts;
  time_point heard = clock::now();  // when data was last read
  std::uint64_t written = 0;        // bytes in total
};

/// A completion handler that updates the meter first. Its other associations (executor, allocator,
/// cancellation) remain those of the original handler.
template <class Handler, bool Reading>
struct metering_handler {
  Handler handler;
  meter* counts;

  void operator()(const net::error_code& error, std::size_t bytes) {
    if (bytes > 0) {
      if constexpr (Reading) {
        counts->heard = clock::now();
      } else {
        counts->written += bytes;
      }
      (Reading ? counts->counts->bytes_in : counts->counts->bytes_out).add(bytes);
    }
    std::move(handler)(error, bytes);
  }
};

/// A stream that counts the bytes that pass through it. Beast's operations for HTTP lie above it;
/// these do not report partial progress.
///
/// `Next` is a socket or the substitute of a test: an AsyncReadStream and AsyncWriteStream with
/// Asio's close(), cancel() and shutdown().
///
/// Threads: the loop's. It must not be moved while an operation is outstanding.
template <class Next>
class metered_stream {
 public:
  using executor_type = typename Next::executor_type;
  using next_layer_type = Next;

  metered_stream(Next next, tally& counts) : next_(std::move(next)), meter_{&counts} {}

  executor_type get_executor() noexcept { return next_.get_executor(); }
  Next& next_layer() noexcept { return next_; }
  const Next& next_layer() const noexcept { return next_; }
  detail::meter& meter() noexcept { return meter_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(net::error_code, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          next_.async_read_some(
              into, metering_handler<decltype(handler), true>{std::move(handler), &meter_});
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(net::error_code, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          next_.async_write_some(
              from, metering_handler<decltype(handler), false>{std::move(handler), &meter_});
        },
        token, buffers);
  }

 private:
  Next next_;
  detail::meter meter_;
};

}  // namespace troupe::http::detail

template <template <class, class> class Associator, class Handler, bool Reading, class Default>
struct boost::asio::associator<Associator, troupe::http::detail::metering_handler<Handler, Reading>,
                               Default> : Associator<Handler, Default> {
  static typename Associator<Handler, Default>::type get(
      const troupe::http::detail::metering_handler<Handler, Reading>& of) noexcept {
    return Associator<Handler, Default>::get(of.handler);
  }
  static auto get(const troupe::http::detail::metering_handler<Handler, Reading>& of,
                  const Default& otherwise) noexcept
      -> decltype(Associator<Handler, Default>::get(of.handler, otherwise)) {
    return Associator<Handler, Default>::get(of.handler, otherwise);
  }
};
