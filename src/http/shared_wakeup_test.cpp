// SPDX-License-Identifier: Apache-2.0

#include "shared_wakeup.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <latch>
#include <optional>

#include <troupe/detail/scheduler/worker_pool.hpp>

#include "scheduler/task_for_tests.hpp"

// Where a test promises that an event happens at all, a broken promise makes the test hang.

namespace troupe::http::detail {
namespace {

using boost::asio::io_context;
using troupe::detail::task;
using wakeup = shared_wakeup<io_context::executor_type>;

class shared_wakeup_of_tasks : public testing::Test {
 protected:
  void poke_both() {
    for (task* each : {&first_, &second_}) {
      const wakeup gathering(context_->get_executor());
      each->poke();
    }
  }

  std::latch told_{2};
  std::optional<io_context> context_{std::in_place, 1};
  troupe::detail::worker_pool pool_{1, task::turn};
  task first_{pool_, [this] { told_.count_down(); }};
  task second_{pool_, [this] { told_.count_down(); }};
};

TEST_F(shared_wakeup_of_tasks, one_posted_handler_runs_all_pending_wakeups) {
  poke_both();
  EXPECT_NE(flush_later::waiting(), nullptr);
  EXPECT_FALSE(told_.try_wait());
  EXPECT_EQ(context_->poll(), 1u) << "one for both";
  EXPECT_EQ(flush_later::waiting(), nullptr);
  told_.wait();
}

TEST_F(shared_wakeup_of_tasks, flush_now_runs_pending_wakeups_at_once) {
  poke_both();
  flush_later::flush_now();
  told_.wait();
  EXPECT_EQ(context_->poll(), 1u);
  EXPECT_EQ(flush_later::waiting(), nullptr);
}

TEST_F(shared_wakeup_of_tasks, destroying_the_loop_runs_pending_wakeups) {
  poke_both();
  context_.reset();
  EXPECT_EQ(flush_later::waiting(), nullptr);
  told_.wait();
}

TEST_F(shared_wakeup_of_tasks, nothing_is_posted_for_nothing) {
  { const wakeup gathering(context_->get_executor()); }
  EXPECT_EQ(flush_later::waiting(), nullptr);
  EXPECT_EQ(context_->poll(), 0u);
}

}  // namespace
}  // namespace troupe::http::detail
