// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/blocking_pool.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "ask_test_support.hpp"
#include "no_memory_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Ne;

template <class T>
std::string described(const blocking_result<T>& got) {
  return got ? "value" : got.message();
}

// Blocks a thread of a pool until the test opens it.
struct gate {
  event begun;
  event opens;
  void pass() {
    begun.set();
    opens.wait();
  }
};

struct pooled {
  explicit pooled(blocking_pool_options options = {.threads = 1}) : pool(t.on.system, options) {}
  // Occupies a thread until `until` is open.
  [[nodiscard]] blocking_call<void> occupy(gate& until) const {
    auto call = pool.run(no_timeout, [&until] { until.pass(); });
    EXPECT_TRUE(until.begun.wait());
    return call;
  }
  [[nodiscard]] blocking_pool_statistics now() const { return pool.statistics(); }
  talk t;
  blocking_pool pool;
};

TEST(blocking_pool, gives_a_handler_the_value_of_a_function_from_another_thread) {
  pooled s;
  const auto test = std::this_thread::get_id();
  s.t.begin([&](asker_actor& me) -> task<> {
    const auto here = std::this_thread::get_id();
    const auto there = co_await s.pool.run(patience, [] { return std::this_thread::get_id(); });
    me.log.write(there && *there != here && *there != test ? "elsewhere" : "wrong");
    auto call =
        s.pool.run(patience, [p = std::make_unique<int>(4)]() mutable { return std::move(p); });
    const auto owned = co_await call;
    me.log.write(std::to_string(**owned));
    const auto nothing = co_await s.pool.run(patience, [] {});
    me.log.write(described(nothing));
  });
  ASSERT_TRUE(s.t.log.wait_for(3));
  EXPECT_THAT(s.t.log.lines(), ElementsAre("elsewhere", "4", "value"));
}

TEST(blocking_pool, an_exception_of_the_function_is_the_error_of_the_result) {
  pooled s;
  auto got = s.pool.run(patience, []() -> int { throw std::out_of_range("no such row"); }).get();
  EXPECT_FALSE(got);
  EXPECT_EQ(got.error(), ask_error::failed);
  EXPECT_EQ(got.message(), "failed: no such row");
  EXPECT_THAT(got.exception(), Ne(nullptr));
  EXPECT_THROW((void)std::move(got).value(), std::out_of_range);
  auto other = s.pool.run(patience, [] { throw 5; }).get();
  EXPECT_EQ(other.message(), "failed: an exception that is no std::exception");
  EXPECT_THROW(std::move(other).value(), int);
  EXPECT_EQ(s.now().calls_failed, 2u);
  EXPECT_EQ(s.now().calls_finished, 2u);
}

TEST(blocking_pool, an_exception_of_the_move_of_the_value_is_the_error_as_well) {
  struct moves_twice {
    moves_twice() = default;
    moves_twice(moves_twice&& other) : left(other.left - 1) {
      if (left < 0) throw std::runtime_error("moved too often");
    }
    int left = 0;
  };
  pooled s;
  const auto got = s.pool.run(patience, [] { return moves_twice{}; }).get();
  EXPECT_EQ(got.message(), "failed: moved too often");
}

TEST(blocking_pool, runs_as_many_calls_at_a_time_as_it_has_threads) {
  pooled s({.threads = 3});
  gate three[3];
  std::vector<blocking_call<void>> calls;
  for (gate& each : three) calls.push_back(s.occupy(each));
  atomic<bool> ran{false};
  auto fourth = s.pool.run(patience, [&] { ran.store(true); });
  EXPECT_EQ(s.now().threads_busy, 3u);
  EXPECT_EQ(s.now().calls_waiting, 1u);
  EXPECT_FALSE(ran.load());
  three[1].opens.set();
  EXPECT_TRUE(fourth.get().has_value());
  three[0].opens.set();
  three[2].opens.set();
  for (auto& each : calls) EXPECT_TRUE(each.get().has_value());
  const auto then = s.now();
  EXPECT_EQ(then.threads, 3u);
  EXPECT_EQ(then.threads_busy, 0u);
  EXPECT_EQ(then.calls_finished, 4u);
  EXPECT_GT(then.ran, duration::zero());
  EXPECT_GT(then.waited, duration::zero());
}

TEST(blocking_pool, calls_wait_in_order) {
  pooled s;
  gate first;
  const auto occupied = s.occupy(first);
  journal log;
  std::vector<blocking_call<void>> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(s.pool.run(patience, [&log, i] { log.write(std::to_string(i)); }));
  }
  first.opens.set();
  for (auto& each : calls) EXPECT_TRUE(each.get().has_value());
  EXPECT_THAT(log.lines(), ElementsAre("0", "1", "2", "3", "4"));
}

TEST(blocking_pool, a_call_beyond_the_queue_is_refused_with_the_reason) {
  pooled s({.name = "sql", .threads = 1, .queue_max = 2});
  gate first;
  const auto occupied = s.occupy(first);
  auto one = s.pool.run(patience, [] { return 1; });
  auto two = s.pool.run(patience, [] { return 2; });
  const auto three = s.pool.run(patience, [] { return 3; }).get();
  EXPECT_EQ(three.error(), ask_error::refused);
  EXPECT_THAT(three.message(),
              HasSubstr("refused: 2 calls wait for the 1 threads of the blocking pool \"sql\""));
  EXPECT_EQ(s.now().calls_refused, 1u);
  first.opens.set();
  EXPECT_EQ(*one.get() + *two.get(), 3);
}

TEST(blocking_pool, without_a_queue_takes_a_call_for_each_idle_thread) {
  pooled s({.threads = 2, .queue_max = 0});
  gate one, two;
  const auto first = s.occupy(one);
  const auto second = s.occupy(two);
  EXPECT_EQ(s.pool.run(patience, [] {}).get().error(), ask_error::refused);
  one.opens.set();
  ASSERT_TRUE(eventually([&] { return s.now().threads_busy == 1; }));
  EXPECT_TRUE(s.pool.run(patience, [] {}).get().has_value());
  two.opens.set();
}

TEST(blocking_pool, a_call_that_waits_too_long_never_runs) {
  pooled s;
  gate first;
  const auto occupied = s.occupy(first);
  atomic<bool> ran{false};
  EXPECT_EQ(s.pool.run(1ms, [&] { ran.store(true); }).get().error(), ask_error::timeout);
  EXPECT_EQ(s.now().calls_waiting, 0u) << "it has left the queue";
  EXPECT_EQ(s.now().calls_cancelled, 1u);
  first.opens.set();
  EXPECT_TRUE(s.pool.run(patience, [] {}).get().has_value());
  EXPECT_FALSE(ran.load());
}

TEST(blocking_pool, a_call_whose_time_is_over_does_not_begin_although_nothing_has_noticed) {
  pooled s;
  gate first;
  const auto occupied = s.occupy(first);
  atomic<bool> ran{false};
  auto late = s.pool.run(0ms, [&] { ran.store(true); });  // nothing looks at the time
  first.opens.set();
  EXPECT_TRUE(s.pool.run(patience, [] {}).get().has_value());
  EXPECT_FALSE(ran.load());
  EXPECT_EQ(s.now().calls_cancelled, 1u);
  EXPECT_EQ(late.get().error(), ask_error::timeout);
}

TEST(blocking_pool, a_call_that_has_begun_goes_on_and_its_result_is_counted) {
  struct row {};
  pooled s;
  gate first;
  s.t.begin([&](asker_actor& me) -> task<> {
    const auto got = co_await s.pool.run(20ms, [&] {
      first.pass();
      return counted<row>{};
    });
    me.log.write(described(got));
  });
  ASSERT_TRUE(s.t.log.wait_for(1));
  EXPECT_THAT(s.t.log.lines(), ElementsAre("timeout"));
  first.opens.set();
  ASSERT_TRUE(eventually([&] { return s.now().calls_abandoned == 1; }));
  EXPECT_TRUE(s.pool.run(patience, [] {}).get().has_value());
  EXPECT_EQ(counted<row>::alive(), 0);
  EXPECT_EQ(s.t.on.system.statistics().answers_late, 0u);
}

TEST(blocking_pool, a_destroyed_call_leaves_the_queue_and_its_function_is_destroyed) {
  struct capture {};
  pooled s;
  gate first;
  const auto occupied = s.occupy(first);
  {
    auto call = s.pool.run(patience, [keeps = counted<capture>{}] { (void)keeps; });
    EXPECT_EQ(s.now().calls_waiting, 1u);
    EXPECT_EQ(counted<capture>::alive(), 1);
    auto moved = std::move(call);
  }
  EXPECT_EQ(s.now().calls_waiting, 0u);
  EXPECT_EQ(counted<capture>::alive(), 0);
  first.opens.set();
}

TEST(blocking_pool, the_function_is_destroyed_before_the_result_arrives) {
  struct capture {};
  pooled s;
  for (int i = 0; i < 100; ++i) {
    (void)s.pool.run(patience, [keeps = counted<capture>{}] { (void)keeps; }).get();
    ASSERT_EQ(counted<capture>::alive(), 0);
  }
}

TEST(blocking_pool, an_actor_that_stops_cancels_its_calls) {
  pooled s;
  gate first;
  const auto occupied = s.occupy(first);
  atomic<bool> ran{false};
  s.t.begin([&](asker_actor&) -> task<> {
    (void)co_await s.pool.run(no_timeout, [&] { ran.store(true); });
  });
  ASSERT_TRUE(eventually([&] { return s.now().calls_waiting == 1; }));
  s.t.who.stop_now();
  s.t.who.join();
  EXPECT_EQ(s.now().calls_waiting, 0u);
  first.opens.set();
  EXPECT_TRUE(s.pool.run(patience, [] {}).get().has_value());
  EXPECT_FALSE(ran.load());
}

TEST(blocking_pool, an_actor_that_stops_while_its_call_runs_leaves_nothing_behind) {
  struct row {};
  pooled s;
  gate first;
  s.t.begin([&](asker_actor&) -> task<> {
    (void)co_await s.pool.run(no_timeout, [&] {
      first.pass();
      return counted<row>{};
    });
  });
  ASSERT_TRUE(first.begun.wait());
  s.t.who.stop_now();
  s.t.who.join();
  first.opens.set();
  ASSERT_TRUE(eventually([&] { return s.now().calls_abandoned == 1; }));
  EXPECT_TRUE(s.pool.run(patience, [] {}).get().has_value());
  EXPECT_EQ(counted<row>::alive(), 0);
}

TEST(blocking_pool, is_used_with_then_and_get_in_other_handlers) {
  class reader : public actor {
   public:
    reader(blocking_pool pool, journal& log) : pool_(std::move(pool)), log_(log) {}
    void on(note) {
      pool_.run(patience, [] { return 1; }).then([this](blocking_result<int> got) {
        log_.write(std::to_string(*got));
      });
      log_.write(std::to_string(*pool_.run(patience, [] { return 2; }).get()));
    }

   private:
    const blocking_pool pool_;
    journal& log_;
  };
  pooled s;
  s.t.on.system.spawn<reader>(s.pool, s.t.log).send(note{});
  ASSERT_TRUE(s.t.log.wait_for(2));
  EXPECT_THAT(s.t.log.lines(), ElementsAre("2", "1"));
}

// ── Ends ──────────────────────────────────────────────────────────────────────────────────────

TEST(blocking_pool, at_shutdown_lets_a_call_that_has_begun_finish_and_stops_the_others) {
  pooled s;
  gate first;
  auto begun = s.occupy(first);
  auto waits = s.pool.run(patience, [] {});
  const auto report = s.t.on.system.shutdown(10ms);
  ASSERT_EQ(report.stragglers.size(), 1u);
  EXPECT_EQ(report.stragglers.front().name, "blocking");
  // The name of a lambda: GCC's has the function around it, Clang's the file and the line.
  EXPECT_THAT(report.stragglers.front().doing,
              AnyOf(HasSubstr("occupy"), HasSubstr("blocking_pool_test.cpp:")));
  first.opens.set();
  EXPECT_TRUE(s.t.on.system.shutdown(patience).complete());
  EXPECT_TRUE(begun.get().has_value());
  EXPECT_EQ(waits.get().error(), ask_error::stopped);
  EXPECT_EQ(s.pool.run(patience, [] {}).get().error(), ask_error::stopped);
  EXPECT_EQ(s.now().threads, 0u);
}

TEST(blocking_pool, whose_last_copy_is_destroyed_stops_the_calls_that_wait) {
  talk t;
  gate first;
  std::optional<blocking_call<void>> begun, waits;
  {
    const blocking_pool pool(t.on.system, {.threads = 1});
    const blocking_pool copy = pool;
    begun.emplace(pool.run(patience, [&] { first.pass(); }));
    ASSERT_TRUE(first.begun.wait());
    waits.emplace(copy.run(patience, [] {}));
  }
  EXPECT_EQ(waits->get().error(), ask_error::stopped);
  const blocking_pool next(t.on.system, {.threads = 1});
  EXPECT_TRUE(next.run(patience, [] {}).get().has_value()) << "the name is free again";
  first.opens.set();
  EXPECT_TRUE(begun->get().has_value());
}

TEST(blocking_pool, may_outlive_its_system) {
  std::optional<blocking_pool> pool;
  {
    recorder told;
    troupe::system system(told.options());
    pool.emplace(system, blocking_pool_options{.threads = 2});
    EXPECT_TRUE(pool->run(patience, [] {}).get().has_value());
  }
  EXPECT_EQ(pool->run(patience, [] {}).get().error(), ask_error::stopped);
}

// ── Errors, figures, memory ───────────────────────────────────────────────────────────────────

TEST(blocking_pool, refuses_options_that_it_cannot_use) {
  recorder told;
  troupe::system system(told.options());
  const auto text = [&](blocking_pool_options options) -> std::string {
    try {
      const blocking_pool pool(system, std::move(options));
      return "none";
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
  };
  EXPECT_THAT(text({.threads = 0}), HasSubstr("threads is 0; it must be between 1 and 1024"));
  EXPECT_THAT(text({.threads = 1'025}), HasSubstr("threads is 1025"));
  EXPECT_THAT(text({.name = ""}), HasSubstr("name is empty"));
  const blocking_pool first(system, {.name = "sql"});
  EXPECT_THAT(text({.name = "sql"}), HasSubstr("already has a blocking pool \"sql\""));
  EXPECT_EQ(text({.name = "files"}), "none");
}

TEST(blocking_pool, is_in_the_statistics_of_its_system) {
  recorder told;
  troupe::system system(told.options());
  EXPECT_TRUE(system.statistics().blocking_pools.empty());
  const blocking_pool sql(system, {.name = "sql", .threads = 2, .queue_max = 7});
  const blocking_pool files(system, {.name = "files", .threads = 1});
  EXPECT_TRUE(sql.run(patience, [] {}).get().has_value());
  const auto all = system.statistics().blocking_pools;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "sql");
  EXPECT_EQ(all[0].threads, 2u);
  EXPECT_EQ(all[0].queue_max, 7u);
  EXPECT_EQ(all[0].calls_finished, 1u);
  EXPECT_EQ(all[1].name, "files");
}

TEST(blocking_pool, a_failed_allocation_of_a_call_leaves_nothing_behind) {
  struct capture {};
  pooled s;
  const std::uint64_t failed = with_each_allocation_failing(
      [&] { (void)s.pool.run(patience, [keeps = counted<capture>{}] { (void)keeps; }); },
      [&] {
        EXPECT_EQ(counted<capture>::alive(), 0);
        EXPECT_EQ(s.now().calls_waiting, 0u);
      });
  EXPECT_GE(failed, 1u);
  EXPECT_TRUE(s.pool.run(patience, [] {}).get().has_value());
  ASSERT_TRUE(eventually([] { return counted<capture>::alive() == 0; }));
}

TEST(blocking_pool, many_callers_that_give_up_lose_nothing) {
  pooled s({.threads = 3, .queue_max = 16});
  constexpr std::uint64_t callers = 4;
  constexpr std::uint64_t calls = 500;
  atomic<std::uint64_t> ran{0};
  atomic<std::uint64_t> gave{0};
  std::vector<std::thread> those;
  for (std::uint64_t c = 0; c < callers; ++c) {
    those.emplace_back([&, c] {
      for (std::uint64_t i = 0; i < calls; ++i) {
        auto call =
            s.pool.run(i % 7 == c ? duration(0) : duration(patience), [&] { ran.fetch_add(1); });
        if (i % 3 != 0 && call.get()) gave.fetch_add(1);
      }
    });
  }
  for (auto& each : those) each.join();
  ASSERT_TRUE(eventually([&] { return s.now().threads_busy == 0 && s.now().calls_waiting == 0; }));
  const auto then = s.now();
  EXPECT_EQ(then.calls_finished, ran.load());
  EXPECT_EQ(then.calls_finished + then.calls_refused + then.calls_cancelled, callers * calls);
  EXPECT_LE(gave.load(), ran.load());
  EXPECT_TRUE(s.pool.run(patience, [] {}).get().has_value());
}

}  // namespace
}  // namespace troupe::test
