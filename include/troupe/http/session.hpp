// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include <troupe/detail/message/dispatch.hpp>
#include <troupe/http/websocket.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http {

/// Satisfied by an actor that can serve a WebSocket: it is constructed with the connection's
/// http::websocket and has `on(text)`, `on(binary)` or both. A message for which it has no handler
/// closes the connection with 1003. With `on(closed)` it is notified of the end.
template <class S>
concept session = understands<S, text> || understands<S, binary>;

namespace detail {

/// The result of passing a client's message to the session. After the first two, the session owns
/// it.
enum class handed_over : std::uint8_t {
  taken,
  taken_when_full,  // and there is no room for another message
  refused,          // for now, by the session's limits or by a budget
  too_large,        // for these limits or this budget: it can never be accepted
  gone,             // the session has terminated
  not_understood,   // the session has no handler for it
};

/// Finds out why a session has not accepted a message of `bytes` bytes. `budget`: the limit of the
/// session's memory budget.
[[nodiscard]] handed_over why_refused(troupe::detail::control_block& session, std::size_t bytes,
                                      std::size_t budget) noexcept;
void post_mark(troupe::detail::control_block& session, mark&& m);

/// A session as seen by its connection.
///
/// Threads: the loop's, outside of turns. In a turn the connection itself would be suspended when
///          it sends to a full mailbox, and would not write meanwhile.
class session_port {
 public:
  virtual ~session_port() = default;

  virtual handed_over deliver(text&& m) = 0;
  virtual handed_over deliver(binary&& m) = 0;
  // These two are delivered even if the session's mailbox is full, and may be called in turns.
  virtual void deliver(closed&& m) = 0;
  virtual void deliver(mark&& m) = 0;
  virtual address who() const noexcept = 0;
};

template <session S>
class session_of final : public session_port {
 public:
  /// `budget`: the limit of the session's memory budget.
  explicit session_of(ref<S> to, std::size_t budget = no_limit) noexcept
      : to_(std::move(to)), budget_(budget) {}

  handed_over deliver(text&& m) override { return hand_over(std::move(m)); }
  handed_over deliver(binary&& m) override { return hand_over(std::move(m)); }
  void deliver(closed&& m) override {
    if constexpr (understands<S, closed>) {
      troupe::detail::post_promised<S>(troupe::detail::ref_access::block(to_), std::move(m));
    }
  }
  void deliver(mark&& m) override {
    post_mark(troupe::detail::ref_access::block(to_), std::move(m));
  }
  address who() const noexcept override { return to_.address(); }

 private:
  template <class M>
  handed_over hand_over(M&& m) {
    if constexpr (understands<S, M>) {
      const std::size_t bytes = troupe::detail::dispatch_of<S, M>.bytes + m.owned_bytes();
      switch (to_.send(std::forward<M>(m))) {
        case delivery::accepted:
        case delivery::dropped:  // as the session's policy requires
          return handed_over::taken;
        case delivery::paused:
          return handed_over::taken_when_full;
        case delivery::refused:
          break;
      }
      return why_refused(troupe::detail::ref_access::block(to_), bytes, budget_);
    } else {
      return handed_over::not_understood;
    }
  }

  ref<S> to_;
  const std::size_t budget_;
};

using session_factory = std::function<std::unique_ptr<session_port>(websocket)>;
/// A session_factory for any system.
using session_maker = std::function<std::unique_ptr<session_port>(system&, websocket)>;

/// Each session gets copies of the arguments.
template <session Session, class... Args>
session_maker make_sessions(spawn_options how, Args... args) {
  return [how = std::move(how), args = std::make_tuple(std::move(args)...)](
             system& on, websocket client) -> std::unique_ptr<session_port> {
    return std::apply(
        [&](const Args&... copied) {
          return std::make_unique<session_of<Session>>(
              on.spawn<Session>(how, std::move(client), copied...),
              how.memory_budget ? how.memory_budget->limit() : no_limit);
        },
        args);
  };
}

}  // namespace detail
}  // namespace troupe::http
