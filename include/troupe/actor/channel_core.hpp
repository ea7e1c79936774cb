// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <troupe/actor/channel_value.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

// The implementation of channels, for values of any type. The protocol is described in
// channel_core.cpp.

namespace troupe::detail {

class channel_core;
class channel_waiter;

/// Operations on the values of a channel, which it knows only by their address.
struct value_operations {
  std::size_t bytes;
  std::size_t alignment;
  void (*move)(void* to, void* from) noexcept;      // `from` stays, in a moved-from state
  void (*relocate)(void* to, void* from) noexcept;  // `from` is destroyed
  void (*destroy)(void* value) noexcept;
};

template <class T>
inline constexpr value_operations operations_of{
    sizeof(T), alignof(T),
    [](void* to, void* from) noexcept { ::new (to) T(std::move(*static_cast<T*>(from))); },
    [](void* to, void* from) noexcept {
      ::new (to) T(std::move(*static_cast<T*>(from)));
      static_cast<T*>(from)->~T();
    },
    [](void* value) noexcept { static_cast<T*>(value)->~T(); }};

/// One operation on one channel, and its place in the channel's line if it has to wait.
struct channel_case {
  channel_core* of;
  bool sends;
  void* value = nullptr;     // the value to move from; or room for a received one
  void* dropped = nullptr;   // sending: room for the oldest value, if drop_oldest has to make room
  bool has_dropped = false;  // that value exists and must be destroyed by the caller
  bool tells_end = false;    // a closed and empty channel completes the operation
  bool at_end = false;       // it was completed in this way
  // receiving, after a wait: the sequence number of the value among those given to waiters
  std::uint64_t turn = 0;

  // Owned by the channel, under its mutex.
  channel_waiter* who = nullptr;
  bool in_line = false;
  channel_case* next = nullptr;
  channel_case* previous = nullptr;
};

/// A first in, first out queue of waiting operations.
class channel_line {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push(channel_case& c) noexcept;
  channel_case* pop() noexcept;
  void remove(channel_case& c) noexcept;

 private:
  channel_case* first_ = nullptr;
  channel_case* last_ = nullptr;
  std::size_t size_ = 0;
};

/// A waiter in the lines of one channel or of several. It waits until another thread completes one
/// of its cases.
///
/// Threads:   tell() is called once, from any thread, and only for a waiter that another thread has
///            decided. The waiter may be destroyed as soon as tell() has notified it; the values
///            that the waiter reads afterwards are complete.
/// Invariant: exactly one of all calls of decide() returns true.
class channel_waiter {
 public:
  channel_waiter() = default;
  channel_waiter(const channel_waiter&) = delete;
  channel_waiter& operator=(const channel_waiter&) = delete;

  /// Notifies the waiter to continue. Called without a lock.
  virtual void tell() noexcept = 0;

  /// Returns true if the caller is the one that decides: it may complete a case for the waiter, or,
  /// as the waiter itself, stop waiting.
  // [decided] relaxed: only one caller may win; tell() passes on what the winner does afterwards.
  [[nodiscard]] bool decide() noexcept { return !decided_.exchange(true, relaxed); }

  /// Returns the completed case; null: all of the channels have been closed.
  [[nodiscard]] channel_case* done() const noexcept { return done_; }

 protected:
  ~channel_waiter() = default;

 private:
  friend class channel_core;

  atomic<bool> decided_{false};
  atomic<std::size_t> open_{0};  // cases whose channels are not closed
  channel_case* done_ = nullptr;
  channel_waiter* next_told_ = nullptr;
};

/// A bounded queue of values, with one line for waiting senders and one for waiting receivers.
///
/// Threads:   any.
/// Invariant: receivers wait only while it is empty, senders only while it is full.
class channel_core : public std::enable_shared_from_this<channel_core> {
 public:
  enum class progress : std::uint8_t { done, must_wait, closed };

  /// Errors: std::invalid_argument for a policy that channels do not have; std::bad_alloc.
  channel_core(const value_operations& of, std::size_t capacity, overflow::policy on_full);
  channel_core(const channel_core&) = delete;
  channel_core& operator=(const channel_core&) = delete;
  ~channel_core();

  /// Completes one of the cases if that is possible without waiting; of those that are ready, one
  /// is chosen at random with equal probability. Otherwise, if `who` is not null, the waiter is
  /// entered into all lines. Changes the order of `cases`. `locks` must have the same size.
  static std::pair<progress, channel_case*> begin(std::span<channel_case*> cases,
                                                  std::span<channel_core*> locks,
                                                  channel_waiter* who);
  /// Must be called after begin(), once the waiter is decided: removes its cases from all lines.
  static void leave(std::span<channel_case* const> cases);

  /// Sends without waiting; counts a refused or dropped value.
  progress try_send(channel_case& c);

  /// Puts back a value that was given to a waiter that will not use it. Such values become the
  /// oldest ones, in the order in which they were given.
  void give_back(channel_case& c) noexcept;

  bool close();
  void open_end(bool sends, bool receives);
  void end_ends(bool sends, bool receives);

  void count_timed_out();
  [[nodiscard]] overload_counts counts() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] bool is_closed() const;
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] overflow::policy on_full() const noexcept { return on_full_; }

 private:
  class told_list;
  class all_locked;
  struct returned_value;

  // The following functions require mutex_.
  progress attempt(channel_case& c, told_list& told) noexcept;
  progress send(channel_case& c, told_list& told) noexcept;
  progress receive(channel_case& c, told_list& told) noexcept;
  void line_up(channel_case& c, channel_waiter& who) noexcept;
  bool close_locked(told_list& told) noexcept;
  void close_line(channel_line& line, told_list& told) noexcept;
  static channel_case* first_undecided(channel_line& line) noexcept;
  [[nodiscard]] bool is_full() const noexcept { return count_ + returned_count_ >= capacity_; }
  void keep_returned(channel_case& c) noexcept;
  void take_oldest(void* to) noexcept;
  void* push_slot() noexcept;
  void* pop_slot() noexcept;
  [[nodiscard]] void* slot(std::size_t index) const noexcept;
  void free_returned(returned_value* one) const noexcept;

  const value_operations& of_;
  const std::size_t capacity_;
  const overflow::policy on_full_;
  std::byte* const slots_;

  mutable mutex mutex_;  // guards the following members
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  // Values that were put back; they are older than those in the ring.
  returned_value* returned_ = nullptr;
  std::size_t returned_count_ = 0;
  std::uint64_t turns_ = 0;  // number of values that were given to waiters
  bool closed_ = false;
  channel_line senders_;
  channel_line receivers_;
  std::size_t sending_ends_ = 0;
  std::size_t receiving_ends_ = 0;
  overload_counts counts_;
};

/// The result of a send that was not completed although the channel is open: timed_out (which this
/// counts), refused or dropped.
channel_delivery not_sent_in_time(const channel_case& value);

/// As a deadline: do not wait.
inline constexpr time_point at_once = time_point::min();

/// Puts this thread to sleep until one of the cases is completed or all channels are closed;
/// returns `must_wait` if the deadline passes first.
/// Errors: std::logic_error in a handler of an actor that shares its thread, unless the deadline is
///         `at_once`.
std::pair<channel_core::progress, channel_case*> wait_for_one(std::span<channel_case*> cases,
                                                              std::span<channel_core*> locks,
                                                              time_point deadline);

}  // namespace troupe::detail
