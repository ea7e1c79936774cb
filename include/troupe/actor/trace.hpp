// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/actor/control_block.hpp>

namespace troupe {

/// What one request from outside has set off, across actors: 0 is none.
using trace_id = std::uint64_t;

/// A number that has not been used in this process.
[[nodiscard]] trace_id new_trace() noexcept;

/// The trace to which belongs what this thread, or the handler that runs on it, sends.
[[nodiscard]] inline trace_id current_trace() noexcept { return detail::this_turn().trace; }

/// What is sent meanwhile belongs to this trace: messages, questions and timers, and what their handlers
/// send in turn, also when they go on after waiting. Failures and dead letters tell it. The systems
/// it goes through need system_options::traces; what has been stopped at one that has not goes on without.
///
/// Threads: the one that made it. In a handler that is a coroutine it must not live across a co_await.
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
