// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <troupe/actor/timer.hpp>
#include <troupe/base/cache_line.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/time/timer_wheel.hpp>

namespace troupe::detail {

class control_block;
class timer_service;

/// One armed timer: the envelope of its tick, a node of the wheel, and a place in its actor's list.
/// Entries are used again and never freed, so that a `timer` may ask at any time.
///
/// It is free once it is neither live nor queued. All members are under the service's mutex, except
/// as the tick passes through the mailbox.
///
/// Two cache lines: firing touches only the first one, which is what makes a million of them cost little.
struct alignas(cache_line_bytes) timer_entry : envelope, timer_node {
  timer_entry() noexcept : envelope{} {}

  bool live = false;                // neither cancelled nor done
  bool queued = false;              // its tick is in the mailbox, or being handled
  bool cloning = false;             // the message is being copied outside the lock
  bool alarm = false;               // says only that it is time; holds nobody
  bool own = false;                 // armed by its actor's object
  bool was_late = false;            // a simulation has had it fire later, and does so now
  control_block* target = nullptr;  // held
  envelope* message = nullptr;      // what is sent, or copied

  timer_entry* previous_of_actor = nullptr;
  timer_entry* next_of_actor = nullptr;  // or among the free
  timer_service* service = nullptr;
  std::uint64_t generation = 1;
  clone_function clone = nullptr;  // null: once
  duration period{};
  time_point deadline{};
  std::uint64_t trace = 0;
};
static_assert(sizeof(timer_entry) == 2 * cache_line_bytes);

/// Entries that have not been used yet, in chunks, each twice as large as the one before, up to a large page.
class entry_store {
 public:
  entry_store() = default;
  entry_store(const entry_store&) = delete;
  entry_store& operator=(const entry_store&) = delete;
  ~entry_store();

  /// Throws std::bad_alloc.
  [[nodiscard]] timer_entry& fresh();

 private:
  struct chunk {
    timer_entry* first;
    std::size_t count;
  };
  static std::align_val_t alignment(std::size_t count) noexcept;
  void add();

  std::vector<chunk> chunks_;
  std::size_t left_ = 0;  // in the last chunk
};

}  // namespace troupe::detail
