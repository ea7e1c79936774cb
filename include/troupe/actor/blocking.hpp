// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

namespace troupe {

namespace detail {

/// Marks the time during which this thread blocks.
class blocking_scope {
 public:
  blocking_scope() noexcept;
  blocking_scope(const blocking_scope&) = delete;
  blocking_scope& operator=(const blocking_scope&) = delete;
  ~blocking_scope();
};

}  // namespace detail

/// Runs a function that blocks its thread: it reads from a disk, or calls a library that waits.
///
///   void on(load m) { auto text = troupe::blocking([&] { return read_file(m.path); }); … }
///
/// In a handler of an actor on the pool, another thread first takes over the worker and the actors
/// that wait on it. No actor is delayed, not even for system_options::blocking_threshold, except for other
/// members of the handler's serial_group. Elsewhere it is a plain call.
///
/// Threads: any.
/// Cost:    waking or starting a thread; the handler's later messages go through the pool's shared
///          queue. Use it for long operations, not for each lock.
/// Errors:  those of `what`. If the pool has max_threads already, `what` runs nevertheless.
template <class F>
decltype(auto) blocking(F&& what) {
  const detail::blocking_scope scope;
  return std::invoke(std::forward<F>(what));
}

}  // namespace troupe
