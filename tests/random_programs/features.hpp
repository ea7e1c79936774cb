// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe::random_programs {

/// A feature that can be active on an actor. A state lasts, and an event happens at one moment; see
/// feature_set.
enum class feature : std::uint8_t {
  spawns,             // event: it has spawned a child
  stopped,            // event: it is told to stop()
  stopped_now,        // event: it is told to stop_now()
  restarted,          // event: its supervisor creates its next incarnation
  constructor_fails,  // event: the constructor of its next incarnation throws
  on_stop_fails,      // event: on_stop() throws
  linked,             // state: it has a link
  watched,            // state: an actor monitors it
  watches,            // state: it monitors an actor
  unwatches,          // event: it has cancelled a monitor
  named,              // state: it has a name
  awaits_name,        // state: it waits for a name, in a handler or for a notification
  subscribed,         // state: it is subscribed to a topic
  publishes,          // event: it has published
  asks,               // state: it has made a request that has no result yet
  asked,              // event: it handles a request
  waits,              // state: one of its handlers is suspended
  exclusive,          // state: one of its exclusive handlers is suspended
  timed,              // state: a timer is armed for it
  timer_cancelled,    // event: a timer that was armed for it is cancelled
  suspends_senders,   // event: its mailbox is full and suspends a sender
  is_suspended,       // event: it has sent to a full mailbox and will be suspended
  refuses,            // event: its mailbox refuses a message
  drops_newest,       // event: its mailbox drops the newest message
  drops_oldest,       // event: its mailbox drops the oldest message
  redirects,          // event: its mailbox redirects a message
  fails_when_full,    // event: its full mailbox fails it
  type_limit,         // event: it handles a message that had a place of its type
  charged,            // event: it handles a message that was charged to its budget
  sends_when_ready,   // state: one of its handlers is in async_send()
  uses_channel,       // state: one of its handlers waits for channels
  changes_state,      // event: a state machine enters a state
  defers,             // event: a state machine defers a message
  state_limit,        // event: the time limit of a state has come
  in_group,           // event: it handles a message in a turn of a serial group
  on_dispatcher,      // event: it handles a message on a dispatcher of its own
  searched,           // event: the search for cycles has examined its references
  locked,             // event: a weak_ref to it was locked
  high_priority,      // event: it handles a message of high priority
  batch,              // event: it handles several messages together
  function,           // event: a function has received a message, or the result that it waited for
  awaits_end,         // state: one of its handlers is in end_of()
  shutdown,           // event: shutdown() finds messages in its mailbox
  shutdown_now,       // event: shutdown_now() finds messages in its mailbox
  owns_bytes,         // event: it handles a message that owns memory
  move_throws,        // event: moving a message throws in its handler, or when it sends
  count
};

inline constexpr std::size_t feature_count = static_cast<std::size_t>(feature::count);
using features = std::bitset<feature_count>;

[[nodiscard]] const char* to_string(feature f) noexcept;
/// Why the two are never active on one actor; null if they can be.
[[nodiscard]] const char* impossible(feature one, feature other) noexcept;

/// The pairs that one run has had on one actor.
class pairs {
 public:
  void add(feature f, const features& with) noexcept { with_[static_cast<std::size_t>(f)] |= with; }
  [[nodiscard]] bool has(std::size_t f, std::size_t g) const noexcept {
    return with_[f][g] || with_[g][f];
  }

 private:
  std::array<features, feature_count> with_{};
};

/// The active features of one actor.
///
/// Two states are a pair if they last at the same time; a state and an event, if the event happens
/// during the state; two events, if both happen in the life of the actor. A state that ended with
/// an incarnation counts as active until the next incarnation has started, so a restart is paired
/// with the states that it ends. An exclusive handler counts as active until the first message
/// after it, which it has delayed, has been handled.
class feature_set {
 public:
  void happens(feature f, pairs& in) noexcept {
    in.add(f, now_ | lately_ | past_);
    past_.set(static_cast<std::size_t>(f));
  }
  void begins(feature f, pairs& in) noexcept {
    const auto at = static_cast<std::size_t>(f);
    in.add(f, now_);
    now_.set(at);
    ++lasting_[at];
  }
  /// `with_object`: the state ends because its incarnation ends.
  void ends(feature f, bool with_object) noexcept {
    const auto at = static_cast<std::size_t>(f);
    if (with_object) lately_.set(at);
    if (lasting_[at] == 0 || --lasting_[at] != 0) return;
    now_.reset(at);
  }
  void next_object_started() noexcept { lately_.reset(); }
  /// Counts the state as lasting, or no longer so.
  void counts_as_lasting(feature f, bool does) noexcept {
    lately_.set(static_cast<std::size_t>(f), does);
  }

 private:
  features now_;
  features lately_;
  features past_;
  std::array<std::uint16_t, feature_count> lasting_{};
};

/// The number of runs in which each pair was active, in all processes that were forked after the
/// matrix was created.
class matrix {
 public:
  matrix();
  matrix(const matrix&) = delete;
  matrix& operator=(const matrix&) = delete;
  ~matrix();

  void add(const pairs& of_run) noexcept;
  [[nodiscard]] std::uint32_t count(std::size_t f, std::size_t g) const noexcept;
  /// A table with a row and a column for each feature.
  [[nodiscard]] std::string text() const;
  /// The possible pairs that have not occurred, one per line; empty if all have.
  [[nodiscard]] std::string missing() const;

 private:
  struct counts;
  counts* const counts_;  // shared memory
};

}  // namespace troupe::random_programs
