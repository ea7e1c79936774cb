// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/http/request.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http {

namespace detail {

class channel;

/// A message's place in its connection's receive window, released when the message is destroyed.
class window_place {
 public:
  window_place() = default;
  explicit window_place(std::shared_ptr<channel> of) noexcept : of_(std::move(of)) {}
  window_place(window_place&&) noexcept = default;
  window_place& operator=(window_place&& other) noexcept {
    window_place old{std::move(of_)};
    of_ = std::move(other.of_);
    return *this;
  }
  ~window_place();

 private:
  std::shared_ptr<channel> of_;
};

/// A marker that follows a connection's messages to its session. The session never sees it: when
/// its turn has come, or the session has terminated, it is destroyed, which notifies the
/// connection.
class mark {
 public:
  explicit mark(std::shared_ptr<channel> of) noexcept : of_(std::move(of)) {}
  mark(mark&&) noexcept = default;
  mark& operator=(mark&&) = delete;
  ~mark();

 private:
  std::shared_ptr<channel> of_;
};

}  // namespace detail

/// A text message from the client: valid UTF-8. The connection stops reading when
/// limits::receive_window of these exist, until half of them are destroyed; to keep the data for
/// long, move `data` out.
struct text {
  std::string data;
  detail::window_place place{};

  /// Counted by the limits and budgets of the session's mailbox.
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return data.capacity(); }
};

/// A binary message from the client; otherwise like text.
struct binary {
  std::string data;
  detail::window_place place{};

  [[nodiscard]] std::size_t owned_bytes() const noexcept { return data.capacity(); }
};

/// Tells a session that its connection has ended. It is sent once, as the last message.
///
/// `code` is the close code of the side that closed first, or 1005 if the client gave none. It is
/// 1006 if there was no close handshake: the connection was reset, aborted or silent, as `reason`
/// says.
struct closed {
  std::uint16_t code = 1006;
  std::string reason;
};

/// A session's handle to its client. Messages are sent in the order of the calls.
///
/// Threads: any; copies are equivalent. The handle keeps neither the connection nor the session
///          alive.
/// Cost:    send: one short lock; one message to the connection for everything sent until the
///          connection reads it. Data sent as a shared_ptr is not copied.
class websocket {
 public:
  websocket() = default;

  /// Queues one message; text must be UTF-8. Returns `refused` if the connection has ended or is
  /// closing. It also returns `refused` if the message would exceed limits::send_queue_bytes; the
  /// connection is then closed with 1008.
  delivery send(std::string text) const;
  delivery send(std::shared_ptr<const std::string> text) const;
  delivery send_binary(std::string data) const;
  delivery send_binary(std::shared_ptr<const std::string> data) const;

  /// Closes the connection after all messages that were sent before. `code` must be 1000–1003,
  /// 1007–1014 or 3000–4999. At most 123 bytes of the reason are sent. No effect if the connection
  /// is already closed.
  void close(std::uint16_t code = 1000, std::string reason = {}) const;

  /// Returns the client's address.
  [[nodiscard]] std::string_view peer() const noexcept;
  /// Returns the request that opened the connection, with the headers selected by
  /// websocket_options::kept_headers.
  [[nodiscard]] const request& upgrade_request() const noexcept;
  /// Returns the agreed subprotocol: one of websocket_options::protocols, or empty.
  [[nodiscard]] std::string_view protocol() const noexcept;

  /// Returns false for a default-constructed object, on which only this function may be called.
  explicit operator bool() const noexcept { return channel_ != nullptr; }
  friend bool operator==(const websocket&, const websocket&) = default;

 private:
  friend class detail::channel;
  explicit websocket(std::shared_ptr<detail::channel> to) noexcept : channel_(std::move(to)) {}

  std::shared_ptr<detail::channel> channel_;
};

}  // namespace troupe::http
