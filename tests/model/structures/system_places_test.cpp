// SPDX-License-Identifier: Apache-2.0
// Actors outside of the pool, in a whole system: on a thread of their own, and on the thread of a
// pump.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <memory>
#include <stdexcept>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

// ── A thread of its own ───────────────────────────────────────────────────────────────────────

TEST(own_thread, handles_all_messages_and_ends_with_the_last_reference) {
  expect_holds({.random = 3'000}, [] {
    record done;
    {
      troupe::system all{small()};
      const auto one = all.spawn<counter>(spawn_options{.where = own_thread}, done);
      jthread other([&] { one.send(add{1}); });
      one.send(add{2});
    }
    require(done.sum == 3 && done.ends == 1, "all is handled, then it ends");
  });
}

TEST(own_thread, of_a_terminated_actor_is_joined_when_the_next_one_starts) {
  expect_holds({.random = 3'000}, [] {
    record first;
    record second;
    {
      troupe::system all{small()};
      const spawn_options own{.where = own_thread};
      all.spawn<counter>(own, first).stop();
      (void)all.spawn<counter>(own, second);
      require(all.shutdown(duration::max()).complete(), "nobody is left");
      const statistics counts = all.statistics();
      require(counts.actors_spawned == 2 && counts.actors_alive == 0, "each is counted once");
    }
    require(first.ends == 1 && second.ends == 1, "both have ended");
  });
}

// ── A pump ────────────────────────────────────────────────────────────────────────────────────

TEST(pump, gives_turns_until_all_that_are_bound_to_it_have_ended) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small()};
    troupe::pump p{all};
    const auto one = all.spawn<counter>(spawn_options{.where = bound_to(p)}, done);
    jthread other([&] {
      one.send(add{1});
      one.stop();
    });
    p.run_until_stopped();
    require(done.sum == 1 && done.ends == 1, "all is handled, then it ends");
  });
}

TEST(pump, that_ends_while_another_thread_sends_ends_its_actors) {
  expect_holds({.random = 5'000}, [] {
    record done;
    atomic<int> dead{0};
    {
      system_options options = small();
      options.on_dead_letter = [&](const dead_letter&) { dead.fetch_add(1, relaxed); };
      troupe::system all{std::move(options)};
      auto p = std::make_unique<troupe::pump>(all);
      const auto one = all.spawn<counter>(spawn_options{.where = bound_to(*p)}, done);
      jthread other([&] {
        one.send(add{1});
        one.send(add{1});
      });
      (void)p->drain();
      p.reset();
      require(done.ends == 1, "it has ended");
    }
    require(done.sum + dead.load(relaxed) == 2, "none is lost");
    varies(done.sum > 0, "some are handled");
    varies(dead.load(relaxed) > 0, "some are left over");
  });
}

TEST(pump, shutdown_on_its_thread_pumps) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small()};
    troupe::pump p{all};
    const auto one = all.spawn<counter>(spawn_options{.where = bound_to(p)}, done);
    jthread other([&] { one.send(add{1}); });
    require(all.shutdown(duration::max()).complete(), "nobody is left");
    require(done.ends == 1, "it has ended");
  });
}

TEST(pump, shutdown_on_its_thread_waits_for_actors_on_other_threads) {
  expect_holds({.random = 5'000}, [] {
    record done;
    troupe::system all{small()};
    troupe::pump p{all};
    (void)all.spawn<counter>(done);
    require(all.shutdown(duration::max()).complete(), "nobody is left");
    require(done.ends == 1, "it has ended");
  });
}

// ── A pump's actor without an object ──────────────────────────────────────────────────────────

class stillborn;

struct handed_out {
  parker given;
  ref<stillborn> who;
  plain<int> last_words{0};
};

// Gives out a reference to itself, and then fails.
class stillborn : public actor {
 public:
  explicit stillborn(handed_out& to) {
    to.who = self(this);
    to.given.notify();
    to.last_words = 1;
    throw std::runtime_error("no");
  }
};

void spawn_in_vain(troupe::system& all, troupe::pump& on, handed_out& to) {
  try {
    (void)all.spawn<stillborn>(spawn_options{.where = bound_to(on)}, to);
    require(false, "spawn() throws what the constructor throws");
  } catch (const std::runtime_error&) {
  }
}

TEST(pump, ends_when_a_constructor_has_thrown_on_another_thread) {
  expect_holds({.random = 3'000}, [] {
    handed_out to;
    troupe::system all{small()};
    {
      troupe::pump p{all};
      jthread spawner([&] { spawn_in_vain(all, p, to); });
      to.given.park();
      p.run_until_stopped();
      require(to.last_words == 1, "all that it did is seen");
    }
    to.who = {};
  });
}

TEST(pump, join_returns_when_the_constructor_has_thrown_on_another_thread) {
  expect_holds({.random = 3'000}, [] {
    record done;
    handed_out to;
    troupe::system all{small()};
    {
      troupe::pump p{all};
      const auto another = all.spawn<counter>(spawn_options{.where = bound_to(p)}, done);
      jthread spawner([&] { spawn_in_vain(all, p, to); });
      to.given.park();
      require(to.who.join() == exit_reason::failed, "it says why");
      require(to.last_words == 1, "all that it did is seen");
    }
    to.who = {};
  });
}

}  // namespace
}  // namespace troupe
