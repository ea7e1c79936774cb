// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <memory>
#include <troupe/detail/scheduler/pump_executor.hpp>
#include <troupe/detail/scheduler/thread_executor.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

// Counts its pending turns, and is scheduled when the count leaves zero.
struct task : runnable {
  atomic<int> asked{0};
  plain<int> done{0};
  int last = 0;  // the number of its last piece
  executor* runs_on = nullptr;

  void poke() {
    if (asked.fetch_add(1, acq_rel) == 0) runs_on->schedule(*this);
  }

  static turn_result turn(runnable& r, activity&) noexcept {
    auto& self = static_cast<task&>(r);
    self.done = self.done + 1;
    if (self.done == self.last) {
      self.runs_on->retire(self);
      return turn_result::ended;
    }
    return self.asked.fetch_sub(1, acq_rel) == 1 ? turn_result::resting : turn_result::again;
  }
};

// The part of a pump that concerns its executor.
class test_pump final : public pump_executor {
 public:
  void pump() {
    runnable_list scheduled = take();
    while (runnable* const r = scheduled.pop()) {
      if (task::turn(*r, done()) == turn_result::again) schedule(*r);
    }
  }
};

TEST(pump_executor, runs_scheduled_work) {
  expect_holds({.preemptions = 2}, [] {
    test_pump executor;
    std::array<task, 2> tasks;
    for (task& each : tasks) each.runs_on = &executor;
    jthread one([&] { tasks[0].poke(); });
    jthread other([&] {
      tasks[1].poke();
      tasks[0].poke();
    });
    while (tasks[0].done < 2 || tasks[1].done < 1) {
      executor.wait();
      executor.pump();
    }
  });
}

TEST(pump_executor, the_callback_is_not_called_any_more_once_it_was_taken_off) {
  expect_holds([] {
    test_pump executor;
    task one;
    one.runs_on = &executor;
    auto wakeups = std::make_unique<plain<int>>(0);
    executor.on_wakeup([at = wakeups.get()] { *at = *at + 1; });
    jthread other([&] { one.poke(); });
    executor.on_wakeup(nullptr);
    wakeups.reset();
    executor.wait();
    executor.pump();
    require(one.done == 1, "it has had its turn");
  });
}

TEST(pump_executor, may_be_destroyed_with_the_work_that_it_has_run) {
  expect_holds([] {
    auto executor = std::make_unique<test_pump>();
    auto one = std::make_unique<task>();
    one->runs_on = executor.get();
    jthread other([at = one.get()] { at->poke(); });
    executor->wait();
    executor->pump();
    one.reset();
    executor.reset();
  });
}

TEST(thread_executor, runs_scheduled_work_and_its_thread_exits_after_the_last_turn) {
  expect_holds([] {
    task one;
    thread_executor executor(task::turn);
    one.runs_on = &executor;
    one.last = 2;
    executor.start(one, "own");
    jthread other([&] { one.poke(); });
    one.poke();
  });
}

TEST(thread_executor, a_finished_executor_shows_its_last_turn) {
  expect_holds([] {
    task one;
    thread_executor executor(task::turn);
    one.runs_on = &executor;
    one.last = 1;
    executor.start(one, "own");
    one.poke();
    if (varies(executor.finished(), "it has finished")) require(one.done == 1, "its turn is seen");
  });
}

TEST(thread_executor, terminates_without_a_turn_if_its_runnable_never_starts) {
  expect_holds([] {
    task one;
    thread_executor executor(task::turn);
    executor.start(one, "own");
    executor.retire(one);
  });
}

}  // namespace
}  // namespace troupe::detail
