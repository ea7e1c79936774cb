// SPDX-License-Identifier: Apache-2.0
// Notifications of observers and propagation of traces, beyond plain messages to actors: functions,
// batches, timers, waiting sends, constructors that throw; and all of it at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <troupe/actor/observer.hpp>
#include <troupe/actor/trace.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct begin {};
struct tell {
  int value = 0;
};
struct ask_it {};

/// Counts the events that it is told of.
class counting_observer : public observer {
 public:
  void started(const actor_event&) override { count("started"); }
  void restarted(const actor_event&) override { count("restarted"); }
  void ended(const actor_event&, exit_reason) override { count("ended"); }
  void sent(const message_event&) override { count("sent"); }
  void begun(const message_event&) override { count("begun"); }
  void done(const message_event&) override { count("done"); }
  void failed(const failure&) override { count("failed"); }
  void dead(const dead_letter&) override { count("dead"); }
  void overloaded(const overload_event&) override { count("overloaded"); }

  [[nodiscard]] std::size_t of(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    const auto at = counts_.find(what);
    return at != counts_.end() ? at->second : 0;
  }

 private:
  void count(const char* what) {
    const std::lock_guard lock(mutex_);
    ++counts_[what];
  }

  mutable mutex mutex_;
  std::map<std::string, std::size_t> counts_;
};

/// Records the trace of every message that it is sent.
class listener : public actor {
 public:
  explicit listener(journal& log) : log_(log) {}
  void on(tell) { log_.write("told " + std::to_string(current_trace())); }
  int on(ask_it) {
    log_.write("asked " + std::to_string(current_trace()));
    return 1;
  }

 private:
  journal& log_;
};

TEST(trace, continues_in_a_function_actor_after_receive) {
  journal log;
  std::uint64_t of_failure = 0;
  troupe::system system({.workers = 1,
                         .on_failure = [&](const failure& f) { of_failure = f.trace; },
                         .traces = true});
  const auto to = system.spawn<listener>(log);
  const auto it = system.spawn<begin>([to](context& self) -> task<> {
    for (int i = 0; i < 2; ++i) {
      (void)co_await self.receive<begin>();
      to.send(tell{});
      (void)co_await to.ask<ask_it>(patience);
      (void)to.send_after(0ms, tell{});
      if (i == 1) throw std::runtime_error("why not");
    }
  });
  {
    const trace_scope scope(42);
    it.send(begin{});
  }
  ASSERT_TRUE(log.wait_for(3));
  EXPECT_THAT(log.lines(), ElementsAre("told 42", "asked 42", "told 42"));
  {
    const trace_scope scope(43);
    it.send(begin{});
  }
  EXPECT_EQ(it.join(), exit_reason::failed);
  ASSERT_TRUE(log.wait_for(6));
  EXPECT_EQ(log.lines()[3], "told 43");
  EXPECT_EQ(of_failure, 43u);
}

TEST(trace, of_a_stashed_message_is_restored_when_it_is_received) {
  journal log;
  troupe::system system({.workers = 1, .traces = true});
  const auto to = system.spawn<listener>(log);
  const auto it = system.spawn<begin, tell>([to](context& self) -> task<> {
    (void)co_await self.receive<begin>();
    (void)co_await self.receive<tell>();
    to.send(tell{});
  });
  for (const auto& [trace, first] : {std::pair<trace_id, bool>{42, true}, {43, false}}) {
    const trace_scope scope(trace);
    first ? (void)it.send(tell{}) : (void)it.send(begin{});
  }
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("told 42"));
}

TEST(observer, sees_messages_that_the_dead_letter_hook_sends) {
  journal log;
  const auto seen = std::make_shared<counting_observer>();
  ref<listener> office;
  troupe::system system({.workers = 1,
                         .on_dead_letter = [&](const dead_letter&) { (void)office.send(tell{}); },
                         .observer = seen});
  office = system.spawn<listener>(log);
  const auto gone = system.spawn<listener>(log);
  gone.stop();
  gone.join();
  EXPECT_EQ(gone.send(tell{}), delivery::refused);
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_TRUE(system.shutdown(patience).complete());
  EXPECT_EQ(seen->of("dead"), 1u);
  EXPECT_EQ(seen->of("sent"), 1u);
  EXPECT_EQ(seen->of("done"), 1u);
  EXPECT_EQ(seen->of("started"), seen->of("ended"));
}

TEST(trace, is_reported_with_a_timer_that_cannot_be_armed) {
  journal log;
  std::vector<trace_id> of_letters;
  troupe::system system(
      {.workers = 1,
       .on_dead_letter = [&](const dead_letter& d) { of_letters.push_back(d.trace); },
       .traces = true});
  const auto it = system.spawn<listener>(log);
  it.stop();
  it.join();
  {
    const trace_scope scope(42);
    (void)it.send_after(1ms, tell{});
    (void)it.send_every(1ms, tell{});
  }
  (void)it.send_after(1ms, tell{});
  EXPECT_THAT(of_letters, ElementsAre(42u, 42u, 0u));
}

class cannot_be_made : public actor {
 public:
  cannot_be_made() { throw std::runtime_error("no"); }
  void on(tell) {}
};
class cannot_start : public actor {
 public:
  void on_start() { throw std::runtime_error("no"); }
  void on(tell) {}
};

TEST(observer, is_not_notified_of_an_actor_that_could_not_be_created) {
  const auto seen = std::make_shared<counting_observer>();
  troupe::system system({.workers = 1, .on_failure = [](const failure&) {}, .observer = seen});
  EXPECT_THROW((void)system.spawn<cannot_be_made>(), std::runtime_error);
  EXPECT_EQ(seen->of("ended"), 0u);
  EXPECT_EQ(system.spawn<cannot_start>().join(), exit_reason::failed);
  EXPECT_TRUE(system.shutdown(patience).complete());
  EXPECT_EQ(seen->of("started"), 0u);
  EXPECT_EQ(seen->of("failed"), 1u);
  EXPECT_EQ(seen->of("ended"), 1u);
}

TEST(observer, is_notified_of_each_message_of_a_batch_but_not_of_done_if_it_fails) {
  class eats : public actor {
   public:
    void on(std::span<tell> batch) {
      if (batch.back().value < 0) throw std::runtime_error("negative");
    }
  };
  const auto seen = std::make_shared<counting_observer>();
  troupe::system system({.workers = 1, .on_failure = [](const failure&) {}, .observer = seen});
  pump here(system);
  const auto it = system.spawn<eats>({.where = bound_to(here)});
  here.run_until_idle();
  for (int i = 0; i < 3; ++i) it.send(tell{i});
  here.run_until_idle();
  EXPECT_EQ(seen->of("begun"), 3u);
  EXPECT_EQ(seen->of("done"), 3u);
  for (int i = 0; i > -4; --i) it.send(tell{i});
  here.run_until_idle();
  EXPECT_EQ(seen->of("begun"), 7u);
  EXPECT_EQ(seen->of("done"), 3u);
  EXPECT_EQ(seen->of("failed"), 1u);
}

TEST(observer, is_notified_of_a_message_that_waited_for_space) {
  journal log;
  const auto seen = std::make_shared<counting_observer>();
  troupe::system system({.workers = 1, .observer = seen});
  pump here(system);
  const auto full = system.spawn<listener>({.where = bound_to(here), .max_messages = 1}, log);
  class waits : public actor {
   public:
    explicit waits(ref<listener> to) : to_(std::move(to)) {}
    task<> on(begin) {
      for (int i = 0; i < 4; ++i) EXPECT_EQ(co_await to_.async_send(tell{i}), delivery::accepted);
    }

   private:
    const ref<listener> to_;
  };
  const auto it = system.spawn<waits>({.where = bound_to(here)}, full);
  it.send(begin{});
  ASSERT_TRUE(eventually([&] { return here.run_until_idle(), log.lines().size() == 4; }));
  EXPECT_EQ(seen->of("sent"), 5u);
  EXPECT_EQ(seen->of("begun"), 5u);
  EXPECT_EQ(seen->of("done"), 5u);
}

// ── All at once ───────────────────────────────────────────────────────────────────────────────

/// Handles batches, sends on, waits, and fails now and then.
class worker_of_all : public actor {
 public:
  explicit worker_of_all(ref<worker_of_all> next) : next_(std::move(next)) {}
  void on(std::span<tell> batch) {
    for (const tell& each : batch) {
      if (next_) next_.send(begin{});
      if (each.value % 97 == 96) throw std::runtime_error("now and then");
    }
  }
  task<> on(begin) {
    if (next_) (void)co_await next_.ask<ask_it>(1ms);
  }
  int on(ask_it) { return 1; }

 private:
  const ref<worker_of_all> next_;
};

// Each message that begins is done or fails; each actor that starts terminates; each dead letter is
// counted and reported; no message belongs to a trace that it was not sent in.
TEST(observer, sees_everything_once_while_actors_fail_and_end_and_are_full) {
  const auto seen = std::make_shared<counting_observer>();
  atomic<std::uint64_t> in_handlers{0};
  atomic<std::uint64_t> letters{0};
  atomic<std::uint64_t> strange{0};
  {
    troupe::system system({.workers = 2,
                           .on_failure =
                               [&](const failure& f) {
                                 ++in_handlers;
                                 if (f.trace > 3) ++strange;
                               },
                           .on_dead_letter =
                               [&](const dead_letter& d) {
                                 ++letters;
                                 if (d.trace > 3) ++strange;
                               },
                           .observer = seen,
                           .traces = true});
    std::vector<std::thread> threads;
    for (trace_id thread = 1; thread <= 3; ++thread) {
      threads.emplace_back([&system, thread] {
        for (int round = 0; round < 20; ++round) {
          const trace_scope scope(thread);
          const auto last = system.spawn<worker_of_all>({.max_messages = 8}, ref<worker_of_all>());
          const auto middle = system.spawn<worker_of_all>(
              {.max_messages = 8, .on_full = overflow::drop_oldest}, last);
          const auto first =
              system.spawn<worker_of_all>({.max_messages = 8, .on_full = overflow::refuse}, middle);
          for (int i = 0; i < 200; ++i) {
            (void)first.send(tell{i});
            if (i == 150) last.stop_now();
          }
          (void)middle.send_after(0ms, tell{1});
          system.spawn<worker_of_all>(ref<worker_of_all>()).send(tell{96});
          if (round % 2 == 0) first.stop();
        }
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_TRUE(system.shutdown(patience).complete());
    const troupe::statistics s = system.statistics();
    EXPECT_EQ(s.failures, in_handlers.load());
    EXPECT_EQ(s.dead_letters, letters.load());
    EXPECT_EQ(seen->of("dead"), letters.load());
  }
  EXPECT_EQ(strange.load(), 0u);
  EXPECT_GE(seen->of("failed"), 60u);
  EXPECT_GT(seen->of("overloaded"), 0u);
  EXPECT_EQ(seen->of("failed"), in_handlers.load());
  EXPECT_EQ(seen->of("ended"), 240u);
  EXPECT_LE(seen->of("started"), seen->of("ended"));
  EXPECT_LE(seen->of("done"), seen->of("begun"));
}

}  // namespace
}  // namespace troupe::test
