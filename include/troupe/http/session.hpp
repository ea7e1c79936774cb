// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <troupe/http/websocket.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http {

/// What serves a WebSocket: an actor that is made with the connection's http::websocket and has
/// `on(text)` or `on(binary)` or both. A client that sends what it has no handler for is closed
/// with 1003. With `on(closed)` it hears of the end.
template <class S>
concept session = understands<S, text> || understands<S, binary>;

namespace detail {

/// A session as its connection sees it.
class session_port {
 public:
  virtual ~session_port() = default;

  /// False if the session has no handler for it.
  virtual bool deliver(text&& m) = 0;
  virtual bool deliver(binary&& m) = 0;
  virtual bool deliver(closed&& m) = 0;
  virtual address who() const noexcept = 0;
};

template <session S>
class session_of final : public session_port {
 public:
  explicit session_of(ref<S> to) noexcept : to_(std::move(to)) {}

  bool deliver(text&& m) override { return hand_over(std::move(m)); }
  bool deliver(binary&& m) override { return hand_over(std::move(m)); }
  // It comes once and last, so it comes also to a session that is full.
  bool deliver(closed&& m) override {
    if constexpr (understands<S, closed>) {
      troupe::detail::post_promised<S>(troupe::detail::ref_access::block(to_), std::move(m));
    }
    return understands<S, closed>;
  }
  address who() const noexcept override { return to_.address(); }

 private:
  // Refused by a session that has ended: the connection hears of that from the session's `down`.
  template <class M>
  bool hand_over(M&& m) {
    if constexpr (understands<S, M>) to_.send(std::forward<M>(m));
    return understands<S, M>;
  }

  ref<S> to_;
};

using session_factory = std::function<std::unique_ptr<session_port>(websocket)>;

}  // namespace detail
}  // namespace troupe::http
