// SPDX-License-Identifier: Apache-2.0
// The tick of a timer: either its actor or the cancelling thread gets the message, and the entry is
// reused when the actor is done with it.
#include <gtest/gtest.h>

#include <actor/handled_ticks.hpp>
#include <actor/timer_entry.hpp>
#include <checker/check.hpp>
#include <mutex>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/watched.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::require;
using model::varies;

constexpr dispatch nothing{.run = nullptr, .discard = nullptr, .message = "nothing"};

/// An entry whose tick has been delivered, and the state that its actor examines.
struct queued_timer {
  queued_timer() { (void)entry.begin_tick(nothing); }

  // As in timer_service::handle_once(). Returns true if it gets the message.
  bool handle(handled_ticks& to) {
    require(looked_at == 0, "nobody uses it again yet");
    const bool has = entry.claim();
    if (has) message = message + 1;
    to.push(entry.tick());
    return has;
  }
  // As in timer_service::cancel(), under the mutex.
  bool cancel() {
    const bool has = entry.claim();
    if (has) message = message + 1;
    return has;
  }

  timer_entry entry;
  watched<int> message{0};
  watched<int> looked_at{0};
};

TEST(handled_ticks, a_message_is_owned_by_its_actor_or_by_the_cancellation) {
  expect_holds([] {
    queued_timer one;
    handled_ticks handled;
    bool was_handled = false;
    bool was_cancelled = false;
    {
      jthread actor([&] { was_handled = one.handle(handled); });
      was_cancelled = one.cancel();
    }
    require(was_handled != was_cancelled, "one of the two has it");
    varies(was_handled, "its actor has it");
    require(one.message == 1, "and nobody else");
    require(handled.take_all() == &one.entry.tick(), "it comes back in either case");
  });
}

TEST(handled_ticks, an_entry_is_used_again_when_its_actor_is_through_with_it) {
  expect_holds([] {
    queued_timer one;
    queued_timer other;
    handled_ticks handled;
    int back = 0;
    const auto take = [&] {
      for (const envelope* each = handled.take_all(); each != nullptr; each = each->next) {
        queued_timer& its = each == &one.entry.tick() ? one : other;
        its.looked_at = 1;
        ++back;
      }
    };
    {
      jthread first([&] { (void)one.handle(handled); });
      jthread second([&] { (void)other.handle(handled); });
      take();
      varies(back == 0, "none is back yet");
      varies(back == 2, "both are back");
    }
    take();
    require(back == 2, "each comes back once");
  });
}

TEST(handled_ticks, a_thread_that_pushed_a_tick_finds_it) {
  expect_holds([] {
    queued_timer one;
    queued_timer other;
    handled_ticks handled;
    mutex guard;
    int back = 0;
    const auto take = [&] {
      const std::lock_guard lock(guard);
      for (const envelope* each = handled.take_all(); each != nullptr; each = each->next) ++back;
    };
    {
      // The termination of an actor, between others that arm timers.
      jthread ends([&] {
        (void)one.handle(handled);
        take();
        const std::lock_guard lock(guard);
        require(back >= 1, "his own is back");
      });
      (void)other.handle(handled);
      take();
    }
    require(back == 2, "both are back");
  });
}

}  // namespace
}  // namespace troupe::detail
