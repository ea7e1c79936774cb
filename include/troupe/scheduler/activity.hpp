// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <troupe/base/cache_line.hpp>
#include <troupe/scheduler/tuning.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

class timeline_lane;

/// A count that one thread keeps and any thread may look at.
///
/// Cost: a load and a store of the owner's own cache line; no read-modify-write.
class own_counter {
 public:
  std::uint64_t add(std::uint64_t n) noexcept {
    // [counter] relaxed: figures for people; nothing is concluded from one about another.
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

/// The actors that were spawned, and that have ended, as far as one thread has done it, or some have.
/// Both counts only grow. Unlike the other counts they are relied on: see runtime::count_actors().
struct lives {
  atomic<std::uint64_t> spawned{0};
  atomic<std::uint64_t> ended{0};
};

/// What one thread that gives turns has done.
///
/// Threads: written by its thread, read by any; but for what says otherwise.
struct alignas(cache_line_bytes) activity {
  own_counter turns;
  own_counter accepted;       // messages put into a mailbox by turns on this thread
  own_counter handled;        // messages taken out again, handled or not
  own_counter depth_highest;  // the longest queue that a turn on this thread found
  own_counter
      bytes_waiting;  // accepted less handled: with those of all others, the bytes that wait

  /// Beyond these its bytes_waiting are told to the budget of its system.
  std::int64_t bytes_high;
  std::int64_t bytes_low;

  lives actors;

  /// What the turn that runs on this thread is asked for, any of these. It looks behind each message, and takes them off:
  /// the next turn may do what the one before was asked for.
  ///   turn_over  others wait, and it has lasted for long: it ends here
  ///   tick       a slice for the timeline
  ///   label      what the timeline is to call it
  enum request : std::uint8_t { nothing = 0, turn_over = 1, tick = 2, label = 4 };
  atomic<std::uint8_t> asked{nothing};
  timeline_lane* lane = nullptr;  // null: there is no timeline. Constant while turns are given

  /// From anywhere.
  void ask(request what) noexcept {
    // [turn-over] relaxed: it comes soon enough.
    if ((asked.load(relaxed) & what) == 0) asked.fetch_or(what, relaxed);
  }

  /// Others wait for the end of the turn that runs on this thread, wherever they then get theirs.
  atomic<bool> is_waited_for{false};

  /// A turn on this thread ends after so many.
  const std::size_t turn_messages;

  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  explicit activity(std::int64_t settles_at = never,
                    std::size_t messages_in_turn = tuning::turn_messages) noexcept
      : bytes_high(settles_at), bytes_low(-settles_at), turn_messages(messages_in_turn) {}

  /// How much has been done here, for comparing. It may go down by a few: some messages are taken
  /// off the count of the handled ones again.
  [[nodiscard]] std::uint64_t steps() const noexcept {
    return accepted.value() + handled.value() + actors.spawned.load(relaxed) +
           actors.ended.load(relaxed);  // [counter]
  }

  /// A message was accepted. True: the budget is to be told.
  [[nodiscard]] bool count_accepted(std::size_t bytes) noexcept {
    accepted.add(1);
    return static_cast<std::int64_t>(bytes_waiting.add(bytes)) > bytes_high;
  }
  /// So many are out of their mailboxes again. True: the budget is to be told.
  [[nodiscard]] bool count_gone(std::size_t messages, std::size_t bytes) noexcept {
    handled.add(messages);
    return static_cast<std::int64_t>(bytes_waiting.add(0 - bytes)) < bytes_low;
  }
};

}  // namespace troupe::detail
