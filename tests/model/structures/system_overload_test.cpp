// SPDX-License-Identifier: Apache-2.0
// Full mailboxes and budgets in a whole system: nobody is left waiting, and what is accepted is
// handled.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;

const spawn_options narrow{.max_messages = 1};

bool is_taken(delivery became) {
  return became == delivery::accepted || became == delivery::paused;
}

struct flood {
  int messages;
};

/// Sends some in a turn and says how many were taken.
class flooder : public actor {
 public:
  flooder(ref<counter> to, plain<int>& taken) : to_(std::move(to)), taken_(taken) {}
  void on(flood f) {
    for (int i = 0; i < f.messages; ++i) {
      if (is_taken(to_.send(add{1}))) taken_ = taken_ + 1;
    }
  }

 private:
  const ref<counter> to_;
  plain<int>& taken_;
};

TEST(pause, an_actor_that_was_paused_goes_on) {
  expect_holds({.random = 1'500}, [] {
    record done;
    plain<int> taken{0};
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(narrow, done);
      const auto from = all.spawn<flooder>(to, taken);
      from.send(flood{2});
      from.send(flood{2});
      from.stop();
      require(from.join() == exit_reason::stopped, "it gets its turns");
    }
    require(taken >= 2 && done.sum == taken, "what was taken is handled");
  });
}

TEST(pause, two_that_were_paused_for_the_same_go_on) {
  expect_holds({.random = 1'500}, [] {
    record done;
    plain<int> taken{0};
    plain<int> other_taken{0};
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(narrow, done);
      const auto one = all.spawn<flooder>(to, taken);
      const auto other = all.spawn<flooder>(to, other_taken);
      one.send(flood{2});
      other.send(flood{2});
      one.stop();
      other.stop();
      require(one.join() == exit_reason::stopped, "it gets its turns");
      require(other.join() == exit_reason::stopped, "so does the other");
    }
    require(done.sum == taken + other_taken, "what was taken is handled");
  });
}

TEST(pause, a_thread_that_waits_for_room_goes_on) {
  expect_holds({.random = 1'500}, [] {
    record done;
    plain<int> taken{0};
    {
      troupe::system all{small()};
      const auto to = all.spawn<counter>(narrow, done);
      jthread other([&] {
        for (int i = 0; i < 3; ++i) {
          if (is_taken(to.send(add{1}))) taken = taken + 1;
        }
      });
    }
    require(done.sum == taken, "what was taken is handled");
  });
}

TEST(pause, who_is_paused_for_one_that_ends_goes_on) {
  expect_holds({.random = 1'500}, [] {
    record done;
    plain<int> taken{0};
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(narrow, done);
      const auto from = all.spawn<flooder>(to, taken);
      from.send(flood{3});
      to.stop_now();
      from.stop();
      require(from.join() == exit_reason::stopped, "it gets its turns");
    }
    require(done.sum <= taken, "no more than was taken is handled");
  });
}

// Each thread counts for itself and settles; what none of them has settled shows in the sum.
TEST(budget, all_that_is_charged_is_released) {
  expect_holds({.random = 1'500}, [] {
    record done;
    plain<int> taken{0};
    {
      system_options options = small(2);
      options.memory_budget = 100;
      troupe::system all{options};
      const auto to = all.spawn<counter>(done);
      const auto from = all.spawn<flooder>(to, taken);
      from.send(flood{3});
      (void)to.send(add{0});
      from.stop();
      (void)from.join();
      to.stop();
      (void)to.join();
      require(all.statistics().message_bytes_waiting == 0, "nothing waits any more");
    }
    require(done.sum == taken, "what was taken is handled");
  });
}

}  // namespace
}  // namespace troupe
