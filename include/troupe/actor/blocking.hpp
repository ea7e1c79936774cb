// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

namespace troupe {

namespace detail {

void begin_blocking() noexcept;

}  // namespace detail

/// Runs what blocks its thread: a read from a disk, a call of a library that waits.
///
///   void on(load m) { auto text = troupe::blocking([&] { return read_file(m.path); }); … }
///
/// In a handler of an actor on the pool: before, another thread takes over what waits behind it, so that nobody is
/// held up, not even for system_options::stuck_after; but for the others of its serial_group. Elsewhere it is a plain call.
///
/// Threads: any.
/// Cost:    waking a thread, or starting one; what the handler sends afterwards goes through the pool's shared
///          queue. So it is for what takes long, not for each lock.
/// Errors:  those of `what`. If the pool has max_threads already, `what` runs all the same.
template <class F>
decltype(auto) blocking(F&& what) {
  detail::begin_blocking();
  return std::invoke(std::forward<F>(what));
}

}  // namespace troupe
