// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <troupe/actor/events.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/scheduler/activity.hpp>
#include <troupe/detail/sync/per_thread.hpp>

// The current activity of a thread that runs turns.

namespace troupe::detail {

class control_block;
struct handler_frame;
struct uncounted_message;

/// Flags for the work after the message that is being handled, besides counting it; any
/// combination.
namespace after {
inline constexpr std::uint8_t nothing = 0;
inline constexpr std::uint8_t pause = 1;       // it has sent to a full mailbox
inline constexpr std::uint8_t keep = 2;        // it is stashed
inline constexpr std::uint8_t exclusive = 4;   // a handler has become exclusive, or is over
inline constexpr std::uint8_t uncounted = 16;  // it was hidden
inline constexpr std::uint8_t batch = 8;       // it was one of a batch: turn_context::handled_too
}  // namespace after

/// This thread's current activity in Troupe.
struct [[gnu::visibility("default")]] turn_context {
  control_block* running = nullptr;       // the actor whose turn it is
  control_block* constructing = nullptr;  // the actor for which the next object is made
  std::uint32_t constructors = 0;         // actor constructors that are running
  activity* counts = nullptr;             // of this thread, while a turn runs
  control_block* waits_for =
      nullptr;  // held: the full mailbox for which `running` will be suspended
  std::vector<control_block*>* also = nullptr;  // held as well: further ones, each once, sorted
  std::uint8_t after = after::nothing;          // for `running`'s turn
  bool unwrapped = false;                    // the message that runs was not in the mailbox itself
  bool comes_alone = false;                  // and is not part of a batch
  ask_error no_answer = ask_error::refused;  // error for the requesters of discarded requests
  handler_frame* coroutine = nullptr;        // the one that runs
  std::uint64_t trace = 0;                   // of the messages that are sent; see trace.hpp
  std::uint32_t pumps = 0;                   // that this thread has made
  bool in_hook = false;                      // the user's on_overload or on_pool is running
  bool in_dead_letter = false;               // the user's on_dead_letter is running
  bool must_not_wait = false;                // for another reason than `running`'s turn
  const dispatch* sent_to_full = nullptr;    // type of the message sent to `waits_for`
  uncounted_message* uncounted = nullptr;    // that contains the message being handled
  std::size_t handled_too = 0;               // with the first one of a batch
  int unwinding = 0;  // exceptions in flight below these turns: a destructor may run a pump
};

inline turn_context& this_turn() noexcept { return per_thread<turn_context>::here(); }

/// During its lifetime, requesters of discarded requests get an error that says how the asked actor
/// has terminated.
class no_answer_scope {
 public:
  explicit no_answer_scope(ask_error why) noexcept
      : before_(std::exchange(this_turn().no_answer, why)) {}
  explicit no_answer_scope(exit_reason why) noexcept
      : no_answer_scope(why == exit_reason::failed ? ask_error::failed : ask_error::stopped) {}
  no_answer_scope(const no_answer_scope&) = delete;
  no_answer_scope& operator=(const no_answer_scope&) = delete;
  ~no_answer_scope() { this_turn().no_answer = before_; }

 private:
  const ask_error before_;
};

/// Marks code that runs a message that was not in the mailbox itself, but inside another one: if it
/// is stashed, it does not count in the mailbox. `alone`: its neighbours in the mailbox are not of
/// its kind.
class unwrapped_scope {
 public:
  explicit unwrapped_scope(bool alone = true) noexcept
      : before_(std::exchange(this_turn().unwrapped, true)),
        alone_before_(std::exchange(this_turn().comes_alone, alone)) {}
  unwrapped_scope(const unwrapped_scope&) = delete;
  unwrapped_scope& operator=(const unwrapped_scope&) = delete;
  ~unwrapped_scope() {
    this_turn().unwrapped = before_;
    this_turn().comes_alone = alone_before_;
  }

 private:
  const bool before_;
  const bool alone_before_;
};

/// Saves the context of the turn that may be in progress, so that other turns can run on this
/// thread.
class other_turns_scope {
 public:
  other_turns_scope() noexcept : before_(this_turn()) {
    this_turn() = {.pumps = before_.pumps,
                   .in_hook = before_.in_hook,
                   .in_dead_letter = before_.in_dead_letter,
                   .must_not_wait = before_.must_not_wait,
                   .unwinding = std::uncaught_exceptions()};
  }
  other_turns_scope(const other_turns_scope&) = delete;
  other_turns_scope& operator=(const other_turns_scope&) = delete;
  ~other_turns_scope() {
    turn_context& here = this_turn();
    const std::uint32_t pumps = here.pumps;
    here = before_;
    here.pumps = pumps;
  }

 private:
  const turn_context before_;
};

/// Marks that an object of the actor `whose` is about to be constructed on this thread.
class constructing_scope {
 public:
  explicit constructing_scope(control_block& whose) noexcept
      : before_(std::exchange(this_turn().constructing, &whose)) {
    ++this_turn().constructors;
  }
  constructing_scope(const constructing_scope&) = delete;
  constructing_scope& operator=(const constructing_scope&) = delete;
  ~constructing_scope() {
    --this_turn().constructors;
    this_turn().constructing = before_;
  }

 private:
  control_block* const before_;
};

}  // namespace troupe::detail
