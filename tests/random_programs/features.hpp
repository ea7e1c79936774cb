// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe::random_programs {

/// What can be active on an actor. A state lasts, and an event happens at one moment; see feature_set.
enum class feature : std::uint8_t {
  spawns,             // event: it has spawned a child
  stopped,            // event: it is told to stop()
  stopped_now,        // event: it is told to stop_now()
  restarted,          // event: its supervisor makes its next object
  constructor_fails,  // event: the constructor of its next object throws
  on_stop_fails,      // event: on_stop() throws
  linked,             // state: it has a link
  watched,            // state: an actor watches it
  watches,            // state: it watches an actor
  unwatches,          // event: it has taken a watch back
  named,              // state: it has a name
  awaits_name,        // state: it waits for a name, in a handler or to be told
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
  sends_when_ready,   // state: one of its handlers is in send_when_ready()
  uses_channel,       // state: one of its handlers waits for channels
  changes_state,      // event: a state machine enters a state
  defers,             // event: a state machine defers a message
  state_limit,        // event: the time limit of a state has come
  in_group,           // event: it handles a message in a turn of a serial group
  on_dispatcher,      // event: it handles a message on a dispatcher of its own
  searched,           // event: the search for cycles has looked at what it holds
  locked,             // event: a weak_ref to it was locked
  high_priority,      // event: it handles a message of high priority
  batch,              // event: it handles several messages together
  function,           // event: a function has received a message, or what it waited for
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
/// Why the two are never active on one actor; null: they can be.
[[nodiscard]] const char* impossible(feature one, feature other) noexcept;

/// Which pairs one run has had on one actor.
class pairs {
 public:
  void add(feature f, const features& with) noexcept { with_[static_cast<std::size_t>(f)] |= with; }
  [[nodiscard]] bool has(std::size_t f, std::size_t g) const noexcept {
    return with_[f][g] || with_[g][f];
  }

 private:
  std::array<features, feature_count> with_{};
};

/// What is active on one actor.
///
/// Two states are a pair when they last at the same time; a state and an event, when the event happens in the state; two
/// events, when both happen in the life of the actor. A state that ended with an object is active until the next
/// object has started: so a restart meets what it ends. An exclusive handler is active until the first message behind it
/// has been handled, which it has held up.
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
  /// `with_object`: because its object ends.
  void ends(feature f, bool with_object) noexcept {
    const auto at = static_cast<std::size_t>(f);
    if (with_object) lately_.set(at);
    if (lasting_[at] == 0 || --lasting_[at] != 0) return;
    now_.reset(at);
  }
  void next_object_started() noexcept { lately_.reset(); }
  /// It is as if the state lasted, or not any more.
  void counts_as_lasting(feature f, bool does) noexcept {
    lately_.set(static_cast<std::size_t>(f), does);
  }

 private:
  features now_;
  features lately_;
  features past_;
  std::array<std::uint16_t, feature_count> lasting_{};
};

/// In how many runs each pair was active, of all processes that were forked after it was made.
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
  /// The pairs that can be and have not been, a line for each; empty: none.
  [[nodiscard]] std::string missing() const;

 private:
  struct counts;
  counts* const counts_;  // shared memory
};

}  // namespace troupe::random_programs
