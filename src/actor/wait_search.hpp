// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/sync/mutex.hpp>
#include <troupe/sync/thread.hpp>

namespace troupe::detail {

class control_block;

/// A wait whose search for a wait cycle takes more steps than one slice has. It is in the queue
/// until the search begins, or the wait is over.
struct parked_search {
  [[nodiscard]] bool is_parked() const noexcept { return sender != nullptr; }

  control_block* sender = nullptr;  // the waiting actor; null: it is not in the queue
  std::uint64_t number = 0;         // of the wait
  parked_search* next = nullptr;
  parked_search* previous = nullptr;
};

/// Continues the searches for wait cycles that were not decided within their first slice, one at a
/// time. A search that meets a wait whose own search is parked is over: a cycle through both is
/// found by that one, which begins later. So the newest search comes first: in a chain, each search
/// then ends at the wait before it, and only the oldest one follows the whole chain. From time to
/// time the oldest comes first, so that none is left for good. A slice is one hold of the mutex of
/// the pauses. The thread for it exists only while searches are parked. In a simulation, and if no
/// thread can be started, the parking thread continues the searches itself, in the same slices.
///
/// Threads:   any. The queue is accessed under the mutex of the pauses.
/// Invariant: while a search is in the queue, a thread takes it out or is about to call go_on().
/// Cost:      nothing while each search is decided within its first slice.
class wait_search {
 public:
  /// Under the mutex of the pauses, like the next two. go_on() must be called after it.
  void park(parked_search& one, control_block& sender, std::uint64_t number) noexcept;
  void remove(parked_search& one) noexcept;
  /// Takes the next one out. If the queue is empty, the thread is done: sender is null.
  [[nodiscard]] parked_search take() noexcept;

  /// Without the mutex. `here`: on the calling thread.
  void go_on(bool here) noexcept;
  /// Waits for the thread, if no actor is suspended any more: it has nothing to do then.
  void join() noexcept;

  /// For tests: parked searches stay in the queue; the test calls pauses::go_on_searching().
  void keep_parked(bool keep) noexcept { keeps_parked_ = keep; }

 private:
  void empty() noexcept;

  parked_search* first_ = nullptr;
  parked_search* last_ = nullptr;
  std::uint32_t taken_ = 0;
  bool is_emptied_ = false;    // by the thread
  bool keeps_parked_ = false;  // constant while actors wait

  mutex thread_mutex_;  // guards thread_; taken before the mutex of the pauses
  thread thread_;
};

}  // namespace troupe::detail
