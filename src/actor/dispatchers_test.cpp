// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/dispatcher.hpp>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/blocking.hpp>
#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/pump.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "sync/fake_control_groups.hpp"
#include "test_support.hpp"

namespace troupe::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

template <class Do>
std::string error_of(Do&& what) {
  try {
    what();
    return "none";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

struct where_am_i {};

/// Reports on which thread its handlers run.
class resident : public actor {
 public:
  std::string on(where_am_i) {
    std::string name(64, '\0');
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    return name.c_str();
  }
};

std::string thread_of(const ref<resident>& r) { return r.ask<where_am_i>(patience).get().value(); }

const dispatcher_statistics& of(const troupe::statistics& s, std::string_view name) {
  return *std::find_if(s.dispatchers.begin(), s.dispatchers.end(),
                       [&](const auto& each) { return each.name == name; });
}

// ── Placement ─────────────────────────────────────────────────────────────────────────────────

TEST(dispatchers, start_no_more_workers_than_the_cpu_quota_allows) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const auto cpus = static_cast<unsigned>(CPU_COUNT(&allowed));
  const fake_system files;
  files.mounts(version_2);
  files.is_in("0::/service\n");
  const auto workers_under = [&](const std::string& quota) {
    files.second("/service", quota);
    const char* const before = std::exchange(cpu_quota_root, files.root());
    const troupe::system s;
    cpu_quota_root = before;
    return s.statistics().workers;
  };
  EXPECT_EQ(workers_under("max 100000"), cpus);
  EXPECT_EQ(workers_under("900000000 100000"), cpus);
  EXPECT_EQ(workers_under("100000 100000"), 1u);
  EXPECT_EQ(workers_under("150000 100000"), std::min(cpus, 2u));
}

TEST(dispatchers, run_the_actors_that_name_them) {
  system s({.workers = 1, .dispatchers = {{.name = "io", .workers = 3}, {.name = "batch"}}});
  EXPECT_THAT(thread_of(s.spawn<resident>()), StartsWith("troupe/"));
  EXPECT_THAT(thread_of(s.spawn<resident>({.dispatcher = "pool"})), StartsWith("troupe/"));
  EXPECT_THAT(thread_of(s.spawn<resident>({.dispatcher = "io"})), StartsWith("io/"));
  EXPECT_THAT(thread_of(s.spawn<resident>({.dispatcher = "batch"})), StartsWith("batch/"));
}

TEST(dispatchers, with_a_long_name_keep_the_number_in_their_thread_names) {
  system s({.workers = 1, .dispatchers = {{.name = "database connections", .workers = 1}}});
  EXPECT_EQ(thread_of(s.spawn<resident>({.dispatcher = "database connections"})),
            "database conn/1");
}

TEST(dispatchers, have_the_configured_number_of_workers) {
  system s({.workers = 1, .dispatchers = {{.name = "io", .workers = 3}}});
  const troupe::statistics now = s.statistics();
  EXPECT_EQ(now.workers, 4u);
  EXPECT_EQ(now.pool_threads, 4u);
  ASSERT_EQ(now.dispatchers.size(), 2u);
  EXPECT_EQ(of(now, "pool").workers, 1u);
  EXPECT_EQ(of(now, "io").workers, 3u);
  EXPECT_EQ(of(now, "io").threads, 3u);
}

TEST(dispatchers, that_are_unknown_are_named_with_the_known_ones) {
  system s({.workers = 1, .dispatchers = {{.name = "io", .workers = 1}}});
  const std::string error = error_of([&] { (void)s.spawn<resident>({.dispatcher = "oi"}); });
  EXPECT_THAT(error, AllOf(HasSubstr("\"oi\""), HasSubstr("\"pool\", \"io\"")));
  EXPECT_EQ(s.statistics().actors_spawned, 0u);
}

TEST(dispatchers, do_not_go_with_another_placement) {
  system s({.workers = 1, .dispatchers = {{.name = "io", .workers = 1}}});
  pump p{s};
  for (const placement where : {own_thread, bound_to(p)}) {
    EXPECT_THAT(error_of([&] { (void)s.spawn<resident>({.where = where, .dispatcher = "io"}); }),
                HasSubstr("\"io\" and a `where` other than pool"));
  }
}

TEST(dispatchers, need_names_that_differ) {
  const auto with = [](std::vector<dispatcher_options> those) {
    return error_of([&] { const system s({.workers = 1, .dispatchers = those}); });
  };
  EXPECT_THAT(with({{.name = "", .workers = 1}}), HasSubstr("has no name"));
  EXPECT_THAT(with({{.name = "io", .workers = 1}, {.name = "io", .workers = 1}}),
              AllOf(HasSubstr("\"io\""), HasSubstr("another")));
  EXPECT_THAT(with({{.name = "pool", .workers = 1}}), HasSubstr("\"pool\""));
  EXPECT_EQ(with({{.name = "io", .workers = 1}}), "none");
}

// ── Pinning and niceness ──────────────────────────────────────────────────────────────────────

struct look {};
struct seen_by_thread {
  int cpus = 0;
  bool is_expected = false;
  int niceness = 0;
};

class observant : public actor {
 public:
  explicit observant(unsigned cpu) : cpu_(cpu) {}
  seen_by_thread on(look) {
    cpu_set_t those;
    CPU_ZERO(&those);
    ::sched_getaffinity(0, sizeof those, &those);
    return {CPU_COUNT(&those), CPU_ISSET(cpu_, &those) != 0, ::getpriority(PRIO_PROCESS, 0)};
  }

 private:
  const unsigned cpu_;
};

unsigned a_cpu() {
  cpu_set_t those;
  CPU_ZERO(&those);
  ::sched_getaffinity(0, sizeof those, &those);
  unsigned last = 0;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &those)) last = i;
  }
  return last;
}

TEST(dispatchers, run_on_their_cpus_only) {
  const unsigned cpu = a_cpu();
  system s({.workers = 1, .dispatchers = {{.name = "pinned", .workers = 2, .cpus = {cpu}}}});
  const auto one = s.spawn<observant>({.dispatcher = "pinned"}, cpu);
  for (int i = 0; i < 10; ++i) {
    const seen_by_thread seen = one.ask<look>(patience).get().value();
    EXPECT_EQ(seen.cpus, 1);
    EXPECT_TRUE(seen.is_expected);
  }
}

TEST(dispatchers, without_workers_have_one_for_each_cpu) {
  system s({.workers = 1, .dispatchers = {{.name = "pinned", .cpus = {a_cpu()}}}});
  EXPECT_EQ(of(s.statistics(), "pinned").workers, 1u);
}

TEST(dispatchers, the_systems_own_may_be_pinned_and_nice) {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  const unsigned cpu = a_cpu();
  system s({.cpus = {cpu}, .niceness = 1});
  EXPECT_EQ(s.statistics().workers, 1u);
  const auto one = s.spawn<observant>(cpu);
  const seen_by_thread seen = one.ask<look>(patience).get().value();
  EXPECT_EQ(seen.cpus, 1);
  EXPECT_TRUE(seen.is_expected);
  EXPECT_EQ(seen.niceness, std::min(before + 1, 19));
}

TEST(dispatchers, threads_that_are_added_are_pinned_and_nice_too) {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  const unsigned cpu = a_cpu();
  std::binary_semaphore go_on{0};
  std::binary_semaphore begun{0};
  class blocks : public actor {
   public:
    blocks(std::binary_semaphore& begun, std::binary_semaphore& go_on)
        : begun_(begun), go_on_(go_on) {}
    void on(look) {
      blocking([this] {
        begun_.release();
        go_on_.acquire();
      });
    }

   private:
    std::binary_semaphore& begun_;
    std::binary_semaphore& go_on_;
  };
  system s({.workers = 1,
            .dispatchers = {{.name = "pinned", .workers = 1, .cpus = {cpu}, .niceness = 2}}});
  const auto first = s.spawn<blocks>({.dispatcher = "pinned"}, begun, go_on);
  const auto one = s.spawn<observant>({.dispatcher = "pinned"}, cpu);
  first.send(look{});
  begun.acquire();
  const seen_by_thread seen = one.ask<look>(patience).get().value();
  EXPECT_EQ(of(s.statistics(), "pinned").workers_replaced, 1u);
  EXPECT_EQ(of(s.statistics(), "pool").workers_replaced, 0u);
  go_on.release();
  EXPECT_EQ(seen.cpus, 1);
  EXPECT_TRUE(seen.is_expected);
  EXPECT_EQ(seen.niceness, std::min(before + 2, 19));
}

TEST(dispatchers, that_the_program_may_not_have_are_named) {
  EXPECT_THAT(error_of([] {
                const system s({.workers = 1, .dispatchers = {{.name = "far", .cpus = {8000}}}});
              }),
              AllOf(HasSubstr("the dispatcher \"far\""), HasSubstr("CPU 8000")));
  EXPECT_THAT(error_of([] { const system s({.workers = 1, .niceness = 40}); }),
              AllOf(HasSubstr("the dispatcher \"pool\""), HasSubstr("40")));
}

// ── Apart from each other ─────────────────────────────────────────────────────────────────────

struct ball {
  int left;
};

/// Plays the ball back; the actor that has the last one reports it.
class player : public actor {
 public:
  explicit player(event& over) : over_(over) {}
  void on(const ref<player>& other) { other_ = other; }
  void on(ball b) {
    if (b.left == 0) return over_.set();
    other_.send(ball{b.left - 1});
  }

 private:
  event& over_;
  ref<player> other_;
};

class by_workers : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(with, by_workers, testing::Values(1u, 2u, 3u, 16u));

TEST_P(by_workers, dispatchers_lose_no_message_to_each_other) {
  constexpr std::size_t pairs = 8;
  constexpr int balls = sanitized ? 500 : 5'000;
  system s(
      {.workers = GetParam(),
       .dispatchers = {{.name = "io", .workers = GetParam()}, {.name = "batch", .workers = 1}}});
  std::vector<event> over(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto a = s.spawn<player>({.dispatcher = i % 2 == 0 ? "io" : "pool"}, over[i]);
    const auto b = s.spawn<player>({.dispatcher = i % 3 == 0 ? "io" : "batch"}, over[i]);
    a.send(ref{b});
    b.send(ref{a});
    a.send(ball{balls});
  }
  for (event& each : over) ASSERT_TRUE(each.wait());
  s.shutdown(patience);
  const troupe::statistics done = s.statistics();
  EXPECT_EQ(done.messages_accepted, done.messages_handled);
  EXPECT_EQ(done.actors_alive, 0u);
}

TEST(dispatchers, whose_workers_are_all_held_up_do_not_hold_up_others) {
  event begun;
  event go_on;
  journal log;
  system s(
      {.workers = 1,
       .dispatchers = {{.name = "io", .workers = 1, .blocking_threshold = 0s, .max_threads = 1}}});
  s.spawn<probe>({.dispatcher = "io"}, log).send(call{[&](probe&) {
    begun.set();
    go_on.wait();
  }});
  ASSERT_TRUE(begun.wait());
  const auto other = s.spawn<probe>({.dispatcher = "io"}, log);
  other.send(note{"behind it"});
  const auto elsewhere = s.spawn<resident>();
  for (int i = 0; i < 100; ++i) EXPECT_THAT(thread_of(elsewhere), StartsWith("troupe/"));
  EXPECT_TRUE(log.lines().empty());
  go_on.set();
  EXPECT_TRUE(log.wait_for(1));
}

TEST(dispatchers, a_handler_may_wait_in_get_for_an_actor_of_another_dispatcher) {
  system s({.workers = 1,
            .max_threads = 1,
            .dispatchers = {{.name = "io", .workers = 1, .max_threads = 1}}});
  struct pass_on {};
  class asks : public actor {
   public:
    explicit asks(ref<resident> whom) : whom_(std::move(whom)) {}
    std::string on(pass_on) { return thread_of(whom_); }

   private:
    ref<resident> whom_;
  };
  const auto one = s.spawn<asks>(s.spawn<resident>({.dispatcher = "io"}));
  EXPECT_EQ(one.ask<pass_on>(patience).get().value(), "io/1");
}

TEST(dispatchers, are_named_when_they_grow) {
  journal log;
  event go_on;
  event grown;
  std::string told;
  system s({.workers = 1,
            .dispatchers = {{.name = "io", .workers = 1}},
            .on_pool = [&](const pool_event& e) {
              if (e.what != pool_event::kind::grew) return;
              told = std::string(e.dispatcher) + ": " + std::string(e.actor);
              grown.set();
            }});
  s.spawn<probe>({.name = "slow", .dispatcher = "io"}, log).send(call{[&](probe&) {
    blocking([&] { go_on.wait(); });
  }});
  ASSERT_TRUE(grown.wait());
  EXPECT_EQ(told, "io: slow");
  go_on.set();
}

TEST(dispatchers, shutdown_waits_for_the_actors_of_all) {
  for (int round = 0; round < 20; ++round) {
    system s({.workers = 2,
              .dispatchers = {{.name = "io", .workers = 2}, {.name = "batch", .workers = 1}}});
    std::vector<ref<resident>> those;
    for (int i = 0; i < 30; ++i) {
      those.push_back(s.spawn<resident>({.dispatcher = i % 2 == 0 ? "io" : "batch"}));
    }
    EXPECT_TRUE(s.shutdown(patience).complete());
    EXPECT_EQ(s.statistics().actors_alive, 0u);
  }
}

TEST(dispatchers, are_not_inherited_by_the_next_system) {
  { const system s({.workers = 1, .dispatchers = {{.name = "io", .workers = 1}}}); }
  system s({.workers = 1});
  EXPECT_EQ(s.statistics().dispatchers.size(), 1u);
  EXPECT_THAT(error_of([&] { (void)s.spawn<resident>({.dispatcher = "io"}); }),
              HasSubstr("which has \"pool\":"));
}

}  // namespace
}  // namespace troupe::test
