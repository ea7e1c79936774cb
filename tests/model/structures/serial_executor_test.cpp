// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/serial_executor.hpp>

#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <functional>
#include <troupe/detail/scheduler/worker_pool.hpp>
#include <troupe/detail/sync/parker.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;

// The state that the members of a group share without a lock.
struct shared {
  plain<int> turns{0};
};

// Counts its pending turns, and is scheduled when the count leaves zero.
struct member : runnable {
  atomic<int> asked{0};
  executor* runs_on = nullptr;
  shared* with = nullptr;
  std::function<void()> also;
  parker* done = nullptr;  // notified by each turn
  bool is_last = false;    // its first turn is also its last

  void poke() {
    if (asked.fetch_add(1, acq_rel) == 0) runs_on->schedule(*this);
  }

  static turn_result turn(runnable& r, activity& of_thread) noexcept {
    of_thread.turns.add(1);
    auto& self = static_cast<member&>(r);
    self.with->turns = self.with->turns + 1;
    if (self.also) self.also();
    parker* const tell = self.done;
    turn_result left = turn_result::ended;
    if (self.is_last) {
      self.runs_on->retire(self);
    } else {
      left = self.asked.fetch_sub(1, acq_rel) == 1 ? turn_result::resting : turn_result::again;
    }
    if (tell != nullptr) tell->notify();
    return left;
  }

  static turn_result turn_by_executor(runnable& r, activity& of_thread) noexcept {
    return static_cast<member&>(r).runs_on->give_turn(r, turn, of_thread);
  }
};

template <std::size_t Count>
struct group {
  explicit group(worker_pool& pool) : executor(&serial_executor::make(pool)) {
    for (member& each : members) {
      each.runs_on = executor;
      each.with = &book;
    }
  }
  group(const group&) = delete;
  group& operator=(const group&) = delete;

  shared book;
  serial_executor* const executor;
  std::array<member, Count> members;
};

TEST(serial_executor, turns_requested_by_two_threads_run_one_at_a_time) {
  expect_holds({.random = 8'000}, [] {
    std::array<parker, 2> done;
    worker_pool pool(2, member::turn_by_executor);
    group<2> both(pool);
    both.members[0].done = &done[0];
    both.members[1].done = &done[1];
    {
      const jthread other([&] { both.members[0].poke(); });
      both.members[1].poke();
    }
    done[0].park();
    done[1].park();
    pool.stop();
    require(both.book.turns == 2, "each has had its turn");
    both.executor->let_go();
  });
}

TEST(serial_executor, runs_work_that_a_turn_schedules_in_its_group) {
  expect_holds({.random = 8'000}, [] {
    parker done;
    worker_pool pool(2, member::turn_by_executor);
    group<3> all(pool);
    all.members[0].also = [&] {
      all.members[1].poke();
      all.members[2].poke();
    };
    all.members[2].done = &done;
    all.members[0].poke();
    done.park();
    pool.stop();
    require(all.book.turns == 3, "each has had its turn, in order");
    all.executor->let_go();
  });
}

TEST(serial_executor, a_runnable_with_more_work_runs_after_the_others) {
  expect_holds({.random = 8'000}, [] {
    std::array<parker, 2> done;
    worker_pool pool(2, member::turn_by_executor);
    group<2> both(pool);
    both.members[0].also = [&] {
      if (both.book.turns == 1) {
        both.members[0].poke();
        both.members[1].poke();
      } else {
        done[0].notify();
      }
    };
    both.members[1].done = &done[1];
    both.members[0].poke();
    done[0].park();
    done[1].park();
    pool.stop();
    require(both.book.turns == 3, "all have had their turns");
    both.executor->let_go();
  });
}

TEST(serial_executor, is_destroyed_by_its_last_user) {
  expect_holds({.random = 8'000}, [] {
    std::array<parker, 2> done;
    shared book;
    std::array<member, 2> members;
    worker_pool pool(2, member::turn_by_executor);
    serial_executor& one = serial_executor::make(pool);
    for (std::size_t i = 0; i < members.size(); ++i) {
      members[i].runs_on = &one;
      members[i].with = &book;
      members[i].is_last = true;
      members[i].done = &done[i];
      one.hold();
    }
    {
      const jthread other([&] { members[0].poke(); });
      members[1].poke();
      one.let_go();
    }
    done[0].park();
    done[1].park();
  });
}

}  // namespace
}  // namespace troupe::detail
