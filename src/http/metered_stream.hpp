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

/// What has moved on one connection, and when: it is how a connection tells slow from silent.
struct meter {
  tally* counts;
  time_point heard = clock::now();  // something was read
  std::uint64_t written = 0;        // bytes, ever
};

/// A completion handler that tells the meter first. All else that is associated with the handler
/// (executor, allocator, cancellation) stays its own.
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

/// A stream that counts what goes through it. Above it are Beast's operations for HTTP, which do not
/// tell when part of one has got somewhere.
///
/// `Next` is a socket, or something that a test puts in its place: an AsyncReadStream and
/// AsyncWriteStream with close(), cancel() and shutdown() like asio's.
///
/// Threads: the loop's. Not to be moved while an operation is outstanding.
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
