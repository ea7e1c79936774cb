// SPDX-License-Identifier: Apache-2.0
// Timers in a whole system. The clock is the real one, so none of them is ever due.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <chrono>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/per_process.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::require;
using model::varies;

constexpr std::chrono::hours in_an_hour{1};

TEST(timer, armed_while_its_actor_ends_ends_with_it) {
  expect_holds({.random = 5'000}, [] {
    record done;
    troupe::system all{small()};
    const ref<counter> one = all.spawn<counter>(done);
    jthread other([&] { one.stop_now(); });
    (void)one.send_after(in_an_hour, add{1});
    one.join();
    require(all.statistics().timers_armed == 0, "the end cancels it, or it is not armed");
    require(done.sum == 0, "nothing of it arrives");
  });
}

TEST(timer, is_cancelled_once_by_a_thread_or_by_the_end) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small()};
    {
      const ref<counter> one = all.spawn<counter>(done);
      troupe::timer t = one.send_after(in_an_hour, add{1});
      jthread other([&] { one.stop_now(); });
      const bool cancelled = varies(t.cancel(), "the thread cancels it");
      require(!t.cancel(), "there is nothing left to cancel");
      one.join();
      if (!cancelled) require(done.ends == 1, "only the end cancels it as well");
    }
    require(all.statistics().timers_armed == 0, "none is left");
  });
}

TEST(timer, keeps_its_actor_till_it_is_cancelled) {
  class mortal : public counter {
   public:
    mortal(record& done, parker& ended) : counter(done), ended_(ended) {}
    ~mortal() { ended_.notify(); }

   private:
    parker& ended_;
  };
  expect_holds({.random = 3'000}, [] {
    record done;
    parker ended;
    troupe::system all{small()};
    ref<mortal> one = all.spawn<mortal>(done, ended);
    troupe::timer t = one.send_after(in_an_hour, add{1});
    jthread other([&] { one = {}; });
    require(t.cancel(), "it is armed");
    ended.park();
    require(done.sum == 0, "nothing of it arrives");
  });
}

// A surplus must be given back by a system that is notified or, if it terminates first, by the next
// one.
TEST(system, releases_surplus_memory_when_it_is_notified) {
  expect_holds({.random = 3'000}, [] {
    pool_of_checks& pool = per_process<pool_of_checks>::here();
    troupe::system all{small()};
    pool.surplus.raise();
    pool.trimmed.park();
  });
}

TEST(system, leaves_memory_to_the_next_one_if_it_ends_before_it_gave_it_back) {
  expect_holds({.random = 3'000}, [] {
    pool_of_checks& pool = per_process<pool_of_checks>::here();
    {
      troupe::system first{small()};
      pool.surplus.raise();
    }
    troupe::system second{small()};
    pool.trimmed.park();
  });
}

}  // namespace
}  // namespace troupe
