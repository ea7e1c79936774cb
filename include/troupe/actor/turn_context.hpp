// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/scheduler/activity.hpp>
#include <troupe/sync/per_thread.hpp>

// What a thread that gives turns is in the middle of.

namespace troupe::detail {

class control_block;
struct handler_frame;

/// What is to be done after the message that is being handled, besides counting it: any of these.
namespace after {
inline constexpr std::uint8_t nothing = 0;
inline constexpr std::uint8_t pause = 1;       // it has sent to a full mailbox
inline constexpr std::uint8_t keep = 2;        // it is not handled yet
inline constexpr std::uint8_t exclusive = 4;   // a handler has become exclusive, or is over
inline constexpr std::uint8_t uncounted = 16;  // it was hidden
inline constexpr std::uint8_t batch = 8;       // it was one of several: turn_context::handled_too
}  // namespace after

/// What this thread is doing for Troupe at the moment.
struct turn_context {
  control_block* running = nullptr;       // whose turn it is
  control_block* constructing = nullptr;  // for whom the next actor object is made
  std::uint32_t constructors = 0;         // of actors, that run
  activity* counts = nullptr;             // of this thread, while a turn runs
  control_block* waits_for = nullptr;     // held: the full mailbox for which `running` will pause
  std::uint8_t after = after::nothing;    // of `running`'s turn
  bool unwrapped = false;                 // what runs was not in the mailbox itself
  bool comes_alone = false;               // and is no part of a batch
  ask_error no_answer = ask_error::refused;  // what is discarded tells who asked
  handler_frame* coroutine = nullptr;        // that runs
  std::uint64_t trace = 0;                   // to which belongs what is sent; see trace.hpp
  std::uint32_t pumps = 0;                   // that this thread has made
  bool in_hook = false;                      // the user is being told of an overload
  bool in_dead_letter = false;               // or of a dead letter
  bool must_not_wait = false;                // other than in `running`'s turn
  const dispatch* sent_to_full = nullptr;    // what it has sent there
  std::size_t handled_too = 0;               // with the first one of a batch
  int unwinding = 0;  // exceptions in flight below these turns: whoever pumps may be a destructor
};

inline turn_context& this_turn() noexcept { return per_thread<turn_context>::here(); }

/// Requests that are discarded meanwhile tell who asked that their actor has ended, and how.
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

/// While what runs was not in the mailbox itself, but was brought by something that was: if it is kept,
/// it does not count there. `alone`: its neighbours there are not of its kind.
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

/// While other turns run on this thread than the one that is in the middle of something, if any.
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

/// While the constructor of an actor's object runs: the next one to be made is that of `whose`.
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
