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

/// A message's place in its connection's receive window, given back when the message is destroyed.
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

/// Put behind a connection's messages to its session. The session never sees it: when its turn has
/// come, or the session has ended, it is destroyed, and the connection is told.
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

/// A text message from the client: valid UTF-8. The connection reads on while at most
/// limits::receive_window of these exist; take `data` out of one that is kept.
struct text {
  std::string data;
  detail::window_place place{};

  /// For the limits and budgets of the session's mailbox.
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return data.capacity(); }
};

/// A binary message from the client; otherwise as text.
struct binary {
  std::string data;
  detail::window_place place{};

  [[nodiscard]] std::size_t owned_bytes() const noexcept { return data.capacity(); }
};

/// The connection is over. It comes once and last.
///
/// `code` is the client's if the client closed, the server's if the server did; 1005 if the client
/// gave none, and 1006 if there was no closing: reset, cut or silent. `reason` says which.
struct closed {
  std::uint16_t code = 1006;
  std::string reason;
};

/// A session's hold on its client. What is sent goes out in the order of the calls.
///
/// Threads: any; copies are equal. It keeps neither connection nor session alive.
/// Cost:    send: one short lock; one message to the connection for all that is sent until that
///          looks. What is sent as a shared_ptr is copied nowhere.
class websocket {
 public:
  websocket() = default;

  /// Queues one message. Refused: the connection is over or closing, or this message would exceed
  /// limits::send_queue_bytes, which closes it with 1008. Text must be UTF-8.
  delivery send(std::string text) const;
  delivery send(std::shared_ptr<const std::string> text) const;
  delivery send_binary(std::string data) const;
  delivery send_binary(std::shared_ptr<const std::string> data) const;

  /// Closes after what was sent before. `code` must be one that may be sent: 1000–1003, 1007–1014
  /// or 3000–4999. Of the reason, 123 bytes are sent. Closing what is closed does nothing.
  void close(std::uint16_t code = 1000, std::string reason = {}) const;

  /// The address that the connection came from.
  [[nodiscard]] std::string_view peer() const noexcept;
  [[nodiscard]] const request& upgrade_request() const noexcept;
  /// The subprotocol that was agreed on: one of websocket_options::protocols, or empty.
  [[nodiscard]] std::string_view protocol() const noexcept;

  /// False for one that was made without a connection; nothing but this may be asked of it then.
  explicit operator bool() const noexcept { return channel_ != nullptr; }
  friend bool operator==(const websocket&, const websocket&) = default;

 private:
  friend class detail::channel;
  explicit websocket(std::shared_ptr<detail::channel> to) noexcept : channel_(std::move(to)) {}

  std::shared_ptr<detail::channel> channel_;
};

}  // namespace troupe::http
