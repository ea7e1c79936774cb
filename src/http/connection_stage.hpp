// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/socket_base.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/net/socket.hpp>

#include "completion.hpp"
#include "frames.hpp"
#include "site.hpp"

namespace troupe::http::detail {

template <class Stream>
class basic_connection;

/// The types that own a stage on such a stream, and the end of the connection that it is. This is a
/// server's end unless the header of the stream specialises it.
template <class Stream>
struct connection_end {
  using owner = basic_connection<Stream>;
  static constexpr role as = role::server;
};

// A larger read buffer is released when it is empty.
inline constexpr std::size_t idle_buffer_bytes_max = 4 * 1024;

/// The common part of the two stages of a connection: their owner, and how the results of
/// operations return to them.
///
/// Threads:   the loop's.
/// Invariant: owner() exists until abandon(). Afterwards no step of the stage runs.
template <class Stage, class Stream>
class stage : public std::enable_shared_from_this<Stage> {
 public:
  using owner_type = typename connection_end<Stream>::owner;

  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

 protected:
  stage(owner_type& owner, std::shared_ptr<const site> on) noexcept
      : owner_(&owner), on_(std::move(on)) {}
  ~stage() = default;

  /// A completion handler that calls `Step` on this stage. An exception of the step fails the
  /// connection, and so does a handler that is destroyed without being called.
  template <auto Step>
  [[nodiscard]] auto then() {
    completion made(
        this->shared_from_this(),
        [](Stage& me, auto... results) {
          --me.outstanding_;
          if (me.owner_ == nullptr) return;
          const in_step here(me.steps_);
          (me.*Step)(results...);
        },
        [](Stage& me, std::exception_ptr why) {
          if (why == nullptr) {
            --me.outstanding_;
            // A step could not start this operation. The exception that leaves the step has the
            // details.
            if (me.steps_ > 0 && std::uncaught_exceptions() > 0) return;
            why = std::make_exception_ptr(dropped_operation());
          }
          if (me.owner_ != nullptr) me.owner_->operation_failed(std::move(why));
        });
    ++outstanding_;
    return made;
  }

  /// An outstanding operation will call a step.
  [[nodiscard]] bool has_outstanding() const noexcept { return outstanding_ > 0; }

  [[nodiscard]] owner_type& owner() const noexcept { return *owner_; }
  void disown() noexcept { owner_ = nullptr; }

  [[nodiscard]] const site& on() const noexcept { return *on_; }
  [[nodiscard]] const http::limits& limits() const noexcept { return on_->limits(); }
  [[nodiscard]] tally& counts() const noexcept { return on_->counts; }

  /// Data can be exchanged. False during a TLS handshake.
  static bool is_secured(const Stream& stream) noexcept {
    if constexpr (requires { stream.is_established(); }) return stream.is_established();
    return true;
  }

  /// Closes at once, and makes the kernel discard data that the peer has not read.
  static void cut(Stream& stream) noexcept {
    net::error_code ignored;
    stream.set_option(boost::asio::socket_base::linger(true, 0), ignored);
    stream.close(ignored);
  }

 private:
  class in_step {
   public:
    explicit in_step(std::uint32_t& count) noexcept : count_(count) { ++count_; }
    in_step(const in_step&) = delete;
    in_step& operator=(const in_step&) = delete;
    ~in_step() { --count_; }

   private:
    std::uint32_t& count_;
  };

  owner_type* owner_;
  std::uint32_t outstanding_ = 0;
  std::uint32_t steps_ = 0;  // that are running now, nested
  const std::shared_ptr<const site> on_;
};

}  // namespace troupe::http::detail
