// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/detail/actor/control_block.hpp>

namespace troupe {

/// Identifies all work, across actors, that one request from outside has caused; 0: no trace.
using trace_id = std::uint64_t;

/// Returns a new trace_id, which has not been used in this process.
[[nodiscard]] trace_id new_trace() noexcept;

/// Returns the trace that messages from this thread, or from the handler that runs on it, belong
/// to.
[[nodiscard]] inline trace_id current_trace() noexcept { return detail::this_turn().trace; }

/// During the lifetime of this object, everything that the thread sends belongs to the given trace:
/// messages, requests and timers. Messages that their handlers send in turn also belong to it, even
/// after a suspension. Reports of failures and dead letters contain the trace. Each system that is
/// involved needs system_options::traces; in a system without this option, the work continues
/// without a trace.
///
/// Threads: the one that created the object. In a handler that is a coroutine, the object must not
///          exist across a co_await.
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
