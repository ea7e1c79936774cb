// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/detail/actor/control_block.hpp>

namespace troupe {

/// Identifies all work, across actors, that one request from outside has caused; 0: no trace.
using trace_id = std::uint64_t;

/// Returns a number that has not been used in this process.
[[nodiscard]] trace_id new_trace() noexcept;

/// Returns the trace that messages from this thread, or from the handler that runs on it, belong
/// to.
[[nodiscard]] inline trace_id current_trace() noexcept { return detail::this_turn().trace; }

/// Assigns everything that is sent during its lifetime to this trace: messages, requests and
/// timers, and the messages that their handlers send in turn, also after a suspension. Failures and
/// dead letters report the trace. The systems on the way need system_options::traces; at a system
/// without it, the trace ends and the work continues without it.
///
/// Threads: the one that made it. In a handler that is a coroutine it must not live across a
///          co_await.
class trace_scope {
 public:
  explicit trace_scope(trace_id id) noexcept : before_(detail::this_turn().trace) {
    detail::this_turn().trace = id;
  }
  trace_scope(const trace_scope&) = delete;
  trace_scope& operator=(const trace_scope&) = delete;
  ~trace_scope() { detail::this_turn().trace = before_; }

 private:
  const trace_id before_;
};

}  // namespace troupe
