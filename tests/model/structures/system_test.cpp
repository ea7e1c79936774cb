// SPDX-License-Identifier: Apache-2.0
// The whole runtime under the checker: systems with their workers, their timers and their actors.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <chrono>
#include <stdexcept>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

// ── Sending ───────────────────────────────────────────────────────────────────────────────────

TEST(system, handles_messages_of_two_threads_before_it_terminates) {
  expect_holds({.random = 2'000}, [] {
    record done;
    {
      troupe::system all{small()};
      const ref<counter> one = all.spawn<counter>(done);
      jthread other([&] { one.send(add{1}); });
      one.send(add{2});
    }
    require(done.sum == 3, "both are handled");
    require(done.ends == 1, "it has ended");
  });
}

// A to B, then A to C, and C as a consequence to B.
TEST(system, messages_are_handled_in_causal_order) {
  class first_one_then_ten : public actor {
   public:
    explicit first_one_then_ten(plain<int>& last) : last_(last) {}
    void on(add m) {
      require(m.by == 1 ? last_ == 0 : last_ == 1, "cause comes before effect");
      last_ = m.by;
    }

   private:
    plain<int>& last_;
  };
  struct pass_on {};
  class middle : public actor {
   public:
    explicit middle(const ref<first_one_then_ten>& to) : to_(to) {}
    void on(pass_on) { to_.send(add{10}); }

   private:
    const ref<first_one_then_ten> to_;
  };
  expect_holds({.random = 3'000}, [] {
    plain<int> last{0};
    {
      troupe::system all{small(2)};
      const auto b = all.spawn<first_one_then_ten>(last);
      const auto c = all.spawn<middle>(b);
      b.send(add{1});
      c.send(pass_on{});
    }
  });
}

// ── Shutting down ─────────────────────────────────────────────────────────────────────────────

/// Counts created objects in `sum`, and destroyed ones in `ends`.
class made_and_ended : public actor {
 public:
  explicit made_and_ended(record& done) : done_(done) { done_.sum = done_.sum + 1; }
  made_and_ended(const made_and_ended&) = delete;
  made_and_ended& operator=(const made_and_ended&) = delete;
  ~made_and_ended() { done_.ends = done_.ends + 1; }
  void on(add) {}

 private:
  record& done_;
};

// An actor spawned after the beginning of a shutdown has no object, and is stopped from the start.
TEST(shutdown, stops_an_actor_that_is_spawned_meanwhile) {
  expect_holds({.random = 5'000}, [] {
    record done;
    {
      troupe::system all{small()};
      jthread spawner([&] {
        const ref<made_and_ended> one = all.spawn<made_and_ended>(done);
        require(one.join() == exit_reason::stopped, "it is told to stop");
      });
      require(all.shutdown(duration::max()).complete(), "nobody is left");
    }
    require(done.sum <= 1 && done.ends == done.sum, "one that was made has ended");
    varies(done.sum == 1, "it is made");
  });
}

// The actor is counted by the worker that spawns it, and by the worker on which it terminates.
TEST(shutdown, stops_an_actor_that_another_actor_spawns_meanwhile) {
  class parent : public actor {
   public:
    parent(record& of_child, ref<made_and_ended>& child) : of_child_(of_child), child_(child) {}
    void on(add) { child_ = system().spawn<made_and_ended>(of_child_); }

   private:
    record& of_child_;
    ref<made_and_ended>& child_;
  };
  expect_holds({.random = 5'000}, [] {
    record done;
    ref<made_and_ended> kept;  // so that it terminates only if it is told to
    troupe::system all{small(2)};
    const ref<parent> one = all.spawn<parent>(done, kept);
    one.send(add{1});
    require(all.shutdown(duration::max()).complete(), "nobody is left");
    const statistics counts = all.statistics();
    require(counts.actors_spawned == 2 && counts.actors_alive == 0, "each is counted once");
    require(done.sum <= 1 && done.ends == done.sum, "one that was made has ended");
    varies(done.sum == 1, "it is made");
  });
}

TEST(shutdown, completes_although_a_constructor_throws_meanwhile) {
  class stillborn : public actor {
   public:
    stillborn() { throw std::runtime_error("no"); }
  };
  expect_holds({.random = 5'000, .sees = {"it is not made", "its constructor throws"}}, [] {
    troupe::system all{small()};
    jthread spawner([&] {
      try {
        (void)all.spawn<stillborn>();
        model::seen("it is not made");
      } catch (const std::runtime_error&) {
        model::seen("its constructor throws");
      }
    });
    require(all.shutdown(duration::max()).complete(), "nobody is left");
  });
}

TEST(shutdown, all_that_was_done_before_it_is_seen_after_it) {
  expect_holds({.random = 3'000}, [] {
    record done;
    record also_done;
    troupe::system all{small(2)};
    const ref<counter> one = all.spawn<counter>(done);
    const ref<counter> other = all.spawn<counter>(also_done);
    one.send(add{1});
    other.send(add{2});
    require(all.shutdown(duration::max()).complete(), "nobody is left");
    require(done.sum == 1 && also_done.sum == 2, "what was sent before is handled");
    require(done.ends == 1 && also_done.ends == 1, "they have ended");
    require(one.send(add{1}) == delivery::refused, "there is nobody any more");
  });
}

TEST(shutdown, two_threads_wait_for_it) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small()};
    const ref<counter> one = all.spawn<counter>(done);
    const auto shut_down = [&] {
      require(all.shutdown(duration::max()).complete(), "nobody is left");
      require(done.ends == 1, "it has ended");
    };
    jthread other(shut_down);
    shut_down();
  });
}

TEST(shutdown, names_an_actor_that_is_left_at_the_deadline) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small()};
    const ref<counter> one = all.spawn<counter>(done);
    const shutdown_report report = all.shutdown(std::chrono::hours(1));
    if (varies(report.complete(), "it has ended")) {
      require(done.ends == 1, "it has ended");
    } else {
      require(report.stragglers.size() == 1, "there is only one");
      require(report.stragglers[0].who == one.address(), "it is this one");
    }
  });
}

// ── One system after the other ────────────────────────────────────────────────────────────────

TEST(system, may_start_while_references_to_the_previous_one_remain) {
  expect_holds({.random = 3'000}, [] {
    record done;
    ref<counter> left;
    {
      troupe::system first{small()};
      left = first.spawn<counter>(done);
    }
    require(done.ends == 1, "it ends with its system");
    jthread other([&] {
      require(left.send(add{1}) == delivery::refused, "there is nobody any more");
      left = {};
    });
    {
      troupe::system second{small()};
      second.spawn<counter>(done).send(add{2});
    }
    require(done.sum == 2 && done.ends == 2, "the other one is not disturbed");
  });
}

}  // namespace
}  // namespace troupe
