// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/scheduler/tuning.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

class timeline_lane;

/// A counter that one thread updates and any thread may read.
///
/// Cost: a load and a store in the owner's cache line; no read-modify-write.
class own_counter {
 public:
  std::uint64_t add(std::uint64_t n) noexcept {
    // [counter] relaxed: statistics; no value is used to conclude anything about another.
    const std::uint64_t now = value_.load(relaxed) + n;
    value_.store(now, relaxed);
    return now;
  }
  void raise_to(std::uint64_t n) noexcept {
    if (n > value_.load(relaxed)) value_.store(n, relaxed);  // [counter]
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(relaxed); }  // [counter]

 private:
  atomic<std::uint64_t> value_{0};
};

/// Numbers of actors spawned and terminated, counted by one thread or shared by several. Both only
/// grow. Unlike the other counters, the program relies on them: see runtime::count_actors().
struct lives {
  atomic<std::uint64_t> spawned{0};
  atomic<std::uint64_t> ended{0};
};

/// The counters of one thread that runs turns, and the requests to its current turn.
///
/// Threads: written by its thread, read by any, unless a member says otherwise.
struct alignas(cache_line_bytes) activity {
  own_counter turns;
  own_counter accepted;       // messages put into a mailbox by turns on this thread
  own_counter handled;        // messages taken out again, handled or discarded
  own_counter depth_highest;  // the longest mailbox seen by a turn on this thread
  // Accepted minus handled; the sum over all threads is the number of waiting bytes.
  own_counter bytes_waiting;

  /// When bytes_waiting leaves the range from bytes_low to bytes_high, it is reported to the budget
  /// of the system.
  std::int64_t bytes_high;
  std::int64_t bytes_low;

  lives actors;

  /// Counters of the layer above, which assigns the indexes.
  std::array<own_counter, 9> events;

  /// Requests to the turn that runs on this thread; several may be set. The turn checks them after
  /// each message and clears them. A request may reach the next turn instead of the one that it was
  /// made for.
  ///   turn_over  other runnables wait, and the turn has taken long: end it here
  ///   tick       end a slice of the timeline
  ///   label      report a label for the timeline
  enum request : std::uint8_t { nothing = 0, turn_over = 1, tick = 2, label = 4 };
  atomic<std::uint8_t> asked{nothing};
  timeline_lane* lane = nullptr;  // null: no timeline. Constant while turns run

  /// May be called by any thread.
  void ask(request what) noexcept {
    // [turn-over] relaxed: a short delay does not matter.
    if ((asked.load(relaxed) & what) == 0) asked.fetch_or(what, relaxed);
  }

  /// Set while other runnables wait for the end of this turn, wherever they will then run.
  atomic<bool> is_waited_for{false};

  /// A turn on this thread ends after this number of messages.
  const std::size_t turn_messages;

  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  explicit activity(std::int64_t settles_at = never,
                    std::size_t messages_in_turn = tuning::turn_messages) noexcept
      : bytes_high(settles_at), bytes_low(-settles_at), turn_messages(messages_in_turn) {}

  /// The amount of work done here, for comparisons. It may decrease by a few, because some messages
  /// are subtracted from `handled` again.
  [[nodiscard]] std::uint64_t steps() const noexcept {
    return accepted.value() + handled.value() + actors.spawned.load(relaxed) +
           actors.ended.load(relaxed);  // [counter]
  }

  /// Counts an accepted message. True: the budget must be updated.
  [[nodiscard]] bool count_accepted(std::size_t bytes) noexcept {
    accepted.add(1);
    return static_cast<std::int64_t>(bytes_waiting.add(bytes)) > bytes_high;
  }
  /// Counts messages taken out of their mailboxes. True: the budget must be updated.
  [[nodiscard]] bool count_gone(std::size_t messages, std::size_t bytes) noexcept {
    handled.add(messages);
    return static_cast<std::int64_t>(bytes_waiting.add(0 - bytes)) < bytes_low;
  }
};

}  // namespace troupe::detail
