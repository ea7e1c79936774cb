// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <memory>
#include <troupe/detail/sync/semaphore.hpp>

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

TEST(semaphore, a_post_is_never_lost) {
  expect_holds([] {
    semaphore permits;
    plain<int> work{0};
    jthread poster("poster", [&] {
      work = 1;
      permits.post();
    });
    require(permits.wait() == wait_result::taken, "there is one");
    require(work == 1, "what came before the post is seen");
  });
}

TEST(semaphore, a_successful_try_wait_sees_writes_before_the_post) {
  expect_holds([] {
    semaphore permits;
    plain<int> work{0};
    jthread poster("poster", [&] {
      work = 1;
      permits.post(2);
    });
    if (varies(permits.try_wait(), "there is one")) require(work == 1, "seen after one");
    if (varies(permits.try_wait(2), "there are two")) require(work == 1, "seen after two");
  });
}

TEST(semaphore, two_posts_wake_two) {
  expect_holds({.preemptions = 2, .spurious = 0}, [] {
    semaphore permits;
    jthread one("one", [&] { (void)permits.wait(); });
    jthread other("other", [&] { (void)permits.wait(); });
    permits.post();
    permits.post();
  });
}

TEST(semaphore, several_posted_at_once_wake_as_many) {
  expect_holds({.preemptions = 2, .spurious = 0}, [] {
    semaphore permits;
    jthread one("one", [&] { (void)permits.wait(); });
    jthread other("other", [&] { (void)permits.wait(); });
    permits.post(2);
  });
}

TEST(semaphore, each_permit_is_taken_once) {
  expect_holds({.preemptions = 2, .spurious = 0}, [] {
    semaphore permits(1);
    plain<int> value{0};
    const auto add_one = [&] {
      require(permits.wait() == wait_result::taken, "it is given back");
      value = value + 1;
      permits.post();
    };
    {
      jthread left("left", add_one);
      jthread right("right", add_one);
    }
    require(value == 2, "both additions count");
  });
}

TEST(semaphore, reports_at_the_deadline_whether_a_permit_was_posted) {
  expect_holds([] {
    semaphore permits;
    plain<int> work{0};
    jthread poster("poster", [&] {
      work = 1;
      permits.post();
    });
    const wait_result first = permits.wait_until(time_point{});
    if (varies(first == wait_result::timed_out, "it is too late")) {
      require(permits.wait() == wait_result::taken, "a post after the deadline is kept");
    }
    require(work == 1, "what came before the post is seen");
  });
}

TEST(semaphore, a_post_at_the_deadline_of_one_waiter_goes_to_the_other) {
  expect_holds({.preemptions = 2, .spurious = 0}, [] {
    semaphore permits;
    plain<int> work{0};
    jthread patient("patient", [&] { (void)permits.wait(); });
    jthread hasty("hasty", [&] {
      const bool has_it = permits.wait_until(time_point{}) == wait_result::taken;
      if (!varies(has_it, "it comes in time")) return;
      require(work == 1, "what came before the post is seen");
      permits.post();
    });
    work = 1;
    permits.post();
  });
}

TEST(semaphore, a_post_after_a_contended_deadline_wakes_a_waiter) {
  expect_holds({.preemptions = 3, .spurious = 0}, [] {
    semaphore permits;
    {
      jthread hasty("hasty", [&] { (void)permits.wait_until(time_point{}); });
      permits.post();
      varies(permits.try_wait(), "it is not taken yet");
    }
    // One of the two threads has taken it. From here on the semaphore is as new.
    require(!permits.try_wait(), "it was taken");
    jthread patient("patient", [&] { (void)permits.wait(); });
    permits.post();
  });
}

TEST(semaphore, close_wakes_all_waiters) {
  expect_holds({.preemptions = 2, .spurious = 0}, [] {
    semaphore permits;
    plain<int> value{0};
    const auto waiter = [&] {
      require(permits.wait() == wait_result::closed, "there is none");
      require(value == 1, "what came before close() is seen");
    };
    jthread one("one", waiter);
    jthread other("other", waiter);
    value = 1;
    permits.close();
  });
}

TEST(semaphore, a_waiter_that_finds_it_closed_sees_writes_before_close) {
  expect_holds([] {
    semaphore permits;
    plain<int> value{0};
    jthread closer("closer", [&] {
      value = 1;
      permits.close();
    });
    const bool is_closed = permits.wait_until(time_point{}) == wait_result::closed;
    if (varies(is_closed, "it is closed in time")) {
      require(value == 1, "what came before close() is seen");
    }
  });
}

TEST(semaphore, permits_posted_before_close_are_taken) {
  expect_holds({.preemptions = 2, .spurious = 0}, [] {
    semaphore permits;
    plain<int> taken{0};
    plain<int> also_taken{0};
    {
      jthread one("one", [&] { taken = permits.wait() == wait_result::taken ? 1 : 0; });
      jthread other("other", [&] { also_taken = permits.wait() == wait_result::taken ? 1 : 0; });
      permits.post();
      permits.close();
    }
    require(taken + also_taken == 1, "one of them has it");
    varies(taken == 1, "it is the first one");
  });
}

TEST(semaphore, two_waiters_for_several_permits_are_both_served) {
  expect_holds({.preemptions = 1}, [] {
    semaphore permits;
    const auto takes_two = [&] {
      require(permits.wait(2) == wait_result::taken, "there are enough");
    };
    jthread one("one", takes_two);
    jthread other("other", takes_two);
    permits.post(1);
    permits.post(3);
  });
}

TEST(semaphore, a_waiter_that_gives_up_leaves_its_permits_to_others) {
  expect_holds({.preemptions = 1, .spurious = 0}, [] {
    semaphore permits;
    plain<int> work{0};
    jthread greedy("greedy", [&] {
      require(permits.wait_until(2, time_point{}) == wait_result::timed_out, "there is but one");
    });
    jthread modest("modest", [&] {
      require(permits.wait() == wait_result::taken, "it is given back");
      require(work == 1, "what came before the post is seen");
    });
    work = 1;
    permits.post();
  });
}

TEST(semaphore, may_end_as_soon_as_its_waiter_is_awake) {
  expect_holds([] {
    auto done = std::make_unique<semaphore>();
    jthread other([at = done.get()] { at->post(); });
    require(done->wait() == wait_result::taken, "it is posted");
    done.reset();
  });
}

}  // namespace
}  // namespace troupe
