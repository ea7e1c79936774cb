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
#include <troupe/actor/overload.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

// What stands behind a channel, for values of any type. The protocol is in channel_core.cpp.

namespace troupe::detail {

class channel_core;
class channel_waiter;

/// How to handle the values of a channel, which it knows only by their address.
struct value_operations {
  std::size_t bytes;
  std::size_t alignment;
  void (*move)(void* to, void* from) noexcept;      // `from` stays, moved from
  void (*relocate)(void* to, void* from) noexcept;  // and is destroyed
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

/// What somebody wants of one channel, and his place in its line if he waits for that.
struct channel_case {
  channel_core* of;
  bool sends;
  void* value = nullptr;     // to move from; or room for one
  void* dropped = nullptr;   // sends: room for the one that made place
  bool has_dropped = false;  // there is one, to be destroyed by the caller
  bool tells_end = false;    // closed and empty is done as well
  bool at_end = false;       // that is what it was
  std::uint64_t turn = 0;    // receives, and has waited: which value this is of those given so

  // The channel's, under its mutex.
  channel_waiter* who = nullptr;
  bool in_line = false;
  channel_case* next = nullptr;
  channel_case* previous = nullptr;
};

/// First come, first served.
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

/// Somebody who waits in the lines of one channel or of several, until one of his cases is done by
/// whoever makes that possible.
///
/// Threads:   tell() comes once, from any thread, and only to who has been decided by another: it may
///            end as soon as that has told. What it reads of itself then is there.
/// Invariant: of all who call decide(), one gets true.
class channel_waiter {
 public:
  channel_waiter() = default;
  channel_waiter(const channel_waiter&) = delete;
  channel_waiter& operator=(const channel_waiter&) = delete;

  /// He goes on. No lock is held.
  virtual void tell() noexcept = 0;

  /// True: it is the caller who decides, for him or, as himself, that he waits no longer.
  // [decided] relaxed: only one may win; what he does then is handed over by tell().
  [[nodiscard]] bool decide() noexcept { return !decided_.exchange(true, relaxed); }

  /// What was done; null: all of the channels have been closed.
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

/// A bounded queue of values, and two lines of who waits.
///
/// Threads:   any.
/// Invariant: who waits to receive finds it empty, who waits to send finds it full.
class channel_core : public std::enable_shared_from_this<channel_core> {
 public:
  enum class progress : std::uint8_t { done, must_wait, closed };

  /// Errors: std::invalid_argument for what has no meaning for a channel; std::bad_alloc.
  channel_core(const value_operations& of, std::size_t capacity, overload::policy when_full);
  channel_core(const channel_core&) = delete;
  channel_core& operator=(const channel_core&) = delete;
  ~channel_core();

  /// Does one of them, if that is possible without waiting: of those that are ready, each with the same chance. Else, if
  /// there is somebody, he stands in all lines. Puts the cases in another order. `locks` is room for as many.
  static std::pair<progress, channel_case*> begin(std::span<channel_case*> cases,
                                                  std::span<channel_core*> locks,
                                                  channel_waiter* who);
  /// After that, when he has been decided: out of all lines.
  static void leave(std::span<channel_case* const> cases);

  /// Without waiting; what is refused or dropped is counted.
  progress try_send(channel_case& c);

  /// A value that was given to one who waited, and will not look at it: as the oldest, in the order in
  /// which they were given.
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
  [[nodiscard]] overload::policy when_full() const noexcept { return when_full_; }

 private:
  class told_list;
  class all_locked;
  struct returned_value;

  // All of these under mutex_.
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
  const overload::policy when_full_;
  std::byte* const slots_;

  mutable mutex mutex_;  // guards what follows
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  // Given back: older than what is in the ring.
  returned_value* returned_ = nullptr;
  std::size_t returned_count_ = 0;
  std::uint64_t turns_ = 0;  // values that were given to one who waited
  bool closed_ = false;
  channel_line senders_;
  channel_line receivers_;
  std::size_t sending_ends_ = 0;
  std::size_t receiving_ends_ = 0;
  overload_counts counts_;
};

/// For a case that sends and was not done, without having been closed: which of timed_out, refused and
/// dropped. The first is counted.
channel_delivery not_sent_in_time(const channel_case& value);

/// As a deadline: do not wait.
inline constexpr time_point at_once = time_point::min();

/// This thread sleeps until one of them is done, or all channels are closed; `must_wait` if the
/// deadline came first.
/// Errors: std::logic_error in a handler of an actor that shares its thread, unless it is `at_once`.
std::pair<channel_core::progress, channel_case*> wait_for_one(std::span<channel_case*> cases,
                                                              std::span<channel_core*> locks,
                                                              time_point deadline);

}  // namespace troupe::detail
