// SPDX-License-Identifier: Apache-2.0
// The row `shutdown` of the contract, its report, and the system's destructor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/resource.h>
#endif

#include <array>
#include <cstdlib>
#include <fstream>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(contract, shutdown_stops_a_starting_actor_as_stop_does) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, steps{.at_start = [&](probe&) { log.write("on_start"); },
                                           .at_stop = [&](probe&) { log.write("on_stop"); }});
  a.send(note{"before"});
  EXPECT_TRUE(s.system.shutdown(patience).complete());
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "before", "on_stop", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(contract, shutdown_stops_a_running_actor_as_stop_does) {
  journal log;
  event handling;
  system s{{.workers = 2}};
  const auto a = s.spawn<probe>(log);
  a.send(call{[&](probe&) { handling.set(); }});
  for (int i = 0; i < 100; ++i) a.send(note{"before"});
  ASSERT_TRUE(handling.wait());
  const shutdown_report report = s.shutdown(patience);
  EXPECT_TRUE(report.complete());
  EXPECT_LT(report.waited, patience);
  EXPECT_THAT(log.lines(), SizeIs(101)) << "all that was sent before, and its destructor";
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_EQ(s.statistics().actors_alive, 0u);
}

TEST(contract, shutdown_waits_for_a_stopping_actor) {
  journal log;
  event in_on_stop;
  event go_on;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(spawn_options{.name = "slow"}, log, steps{.at_stop = [&](probe&) {
                                  in_on_stop.set();
                                  go_on.wait();
                                }});
  a.stop_now();
  ASSERT_TRUE(in_on_stop.wait());
  const shutdown_report report = s.shutdown(1ms);
  ASSERT_THAT(report.stragglers, SizeIs(1));
  EXPECT_GE(report.waited, 1ms);
  EXPECT_EQ(report.stragglers[0].who, a.address());
  EXPECT_EQ(report.stragglers[0].name, "slow");
  EXPECT_THAT(report.stragglers[0].doing, HasSubstr("on_stop"));
  go_on.set();
  EXPECT_TRUE(s.shutdown(patience).complete());
  EXPECT_EQ(a.join(), exit_reason::stopped_now) << "shutting down had no effect on it";
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, shutdown_with_only_terminated_actors_is_complete_at_once) {
  journal log;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(log);
  a.stop_now();
  a.join();
  EXPECT_TRUE(s.shutdown(patience).complete());
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
}

TEST(shutdown, of_an_empty_system_is_complete_and_can_be_repeated) {
  system s;
  EXPECT_TRUE(s.shutdown(0s).complete());
  EXPECT_TRUE(s.shutdown(duration::max()).complete());
  EXPECT_EQ(to_string(s.shutdown(0s)), "");
}

// Shuts down while `a` hangs in what `hang` makes it do; returns what the report says about it.
struct hanging {
  event hangs;
  event go_on;
  void operator()(probe&) {
    hangs.set();
    go_on.wait();
  }
};

TEST(shutdown, report_names_a_blocked_actor_and_its_handler) {
  journal log;
  hanging h;
  system s{{.workers = 2}};
  const auto stuck = s.spawn<probe>(spawn_options{.name = "alice"}, log);
  const auto fine = s.spawn<probe>(log);
  stuck.send(call{std::ref(h)});
  ASSERT_TRUE(h.hangs.wait());
  shutdown_report report = s.shutdown(20ms);
  // `fine` has had time enough, but a slow host may not have run it.
  while (report.stragglers.size() > 1) report = s.shutdown(20ms);
  ASSERT_THAT(report.stragglers, SizeIs(1));
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(report.stragglers[0].who, stuck.address());
  EXPECT_EQ(report.stragglers[0].name, "alice");
  EXPECT_THAT(report.stragglers[0].doing, HasSubstr("on(" + std::string(type_name<call>())));
  const std::string text = to_string(report);
  EXPECT_THAT(text, HasSubstr("alice"));
  EXPECT_THAT(text, HasSubstr(report.stragglers[0].doing));
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
  h.go_on.set();
  EXPECT_TRUE(s.shutdown(patience).complete());
  EXPECT_EQ(stuck.join(), exit_reason::stopped);
}

TEST(shutdown, report_names_the_timer_message_that_a_blocked_actor_handles) {
  journal log;
  hanging h;
  system s{{.workers = 1}};
  const auto stuck = s.spawn<probe>(log);
  stuck.send_after(0s, call{std::ref(h)});
  ASSERT_TRUE(h.hangs.wait());
  const shutdown_report report = s.shutdown(0s);
  EXPECT_THAT(to_string(report), HasSubstr("on(" + std::string(type_name<call>())));
  h.go_on.set();
}

TEST(shutdown, report_names_an_actor_that_is_blocked_in_on_start) {
  journal log;
  hanging h;
  system s{{.workers = 1}};
  const auto stuck = s.spawn<probe>(log, steps{.at_start = std::ref(h)});
  ASSERT_TRUE(h.hangs.wait());
  const shutdown_report report = s.shutdown(0s);
  ASSERT_THAT(report.stragglers, SizeIs(1));
  EXPECT_EQ(report.stragglers[0].name, type_name<probe>());
  EXPECT_THAT(report.stragglers[0].doing, HasSubstr("on_start"));
  h.go_on.set();
}

TEST(shutdown, report_names_an_actor_that_is_blocked_in_its_destructor) {
  journal log;
  hanging h;
  system s{{.workers = 1}};
  const auto stuck = s.spawn<probe>(log, steps{.at_end = std::ref(h)});
  stuck.stop();
  ASSERT_TRUE(h.hangs.wait());
  const shutdown_report report = s.shutdown(0s);
  ASSERT_THAT(report.stragglers, SizeIs(1));
  EXPECT_THAT(report.stragglers[0].doing, HasSubstr("destructor"));
  h.go_on.set();
}

TEST(shutdown, report_names_an_actor_whose_pump_does_not_run) {
  journal log;
  stage s;
  const auto stuck = s.spawn<probe>(log);
  std::thread other([&] {
    const shutdown_report report = s.system.shutdown(1ms);
    ASSERT_THAT(report.stragglers, SizeIs(1));
    EXPECT_EQ(report.stragglers[0].who, stuck.address());
    EXPECT_THAT(report.stragglers[0].doing, HasSubstr("pump"));
  });
  other.join();
  EXPECT_TRUE(s.system.shutdown(patience).complete()) << "on the pump's thread it pumps";
}

TEST(shutdown, stops_idle_actors_on_threads_of_their_own_and_on_pumps) {
  journal log;
  stage s;
  const auto own = s.system.spawn<probe>(spawn_options{.where = own_thread}, log);
  const auto bound = s.spawn<probe>(log);
  const auto pooled = s.system.spawn<probe>(log);
  s.play();
  EXPECT_TRUE(s.system.shutdown(patience).complete());
  for (const auto& each : {own, bound, pooled}) EXPECT_EQ(each.join(), exit_reason::stopped);
}

TEST(shutdown, reaches_actors_that_only_timers_keep_alive) {
  journal log;
  system s{{.workers = 1}};
  s.spawn<probe>(log).send_after(1h, note{"never"});
  EXPECT_TRUE(s.shutdown(patience).complete());
  EXPECT_EQ(s.statistics().timers_armed, 0u);
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(contract, shutdown_has_spawn_return_an_actor_that_has_stopped) {
  journal log;
  system s{{.workers = 1}};
  s.shutdown(patience);
  const auto a = s.spawn<probe>(log, steps{.at_start = [&](probe&) { log.write("on_start"); }});
  EXPECT_EQ(a.send(note{"too late"}), delivery::refused);
  EXPECT_EQ(a.join_for(0s), exit_reason::stopped);
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(shutdown, is_not_outrun_by_actors_that_spawn_others) {
  class family : public actor {
   public:
    // Each one that terminates leaves another one; while the system shuts down there are no further
    // ones.
    explicit family(int generations) : left_(generations) {}
    ~family() {
      if (left_ > 0) system().spawn<family>(left_ - 1);
    }

   private:
    int left_;
  };
  system s{{.workers = 2}};
  std::vector<ref<family>> first;
  for (int i = 0; i < 20; ++i) first.push_back(s.spawn<family>(50));
  EXPECT_TRUE(s.shutdown(patience).complete());
  EXPECT_LE(s.statistics().actors_spawned, 20u * 51);
  EXPECT_EQ(s.statistics().actors_alive, 0u);
}

TEST(shutdown, leaves_no_actor_running_that_is_spawned_at_the_same_time) {
  class plain : public actor {};
  for (int round = 0; round < 30; ++round) {
    system s{{.workers = 2}};
    std::array<std::vector<ref<plain>>, 2> made;
    std::vector<std::thread> threads;
    for (auto& mine : made) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) mine.push_back(s.spawn<plain>());
      });
    }
    while (s.statistics().actors_spawned < 10) std::this_thread::yield();
    s.shutdown(patience);
    for (std::thread& each : threads) each.join();
    for (const auto& mine : made) {
      for (const auto& each : mine) ASSERT_EQ(each.join_for(patience), exit_reason::stopped);
    }
  }
}

TEST(shutdown, by_several_threads_at_once_is_complete_for_all) {
  journal log;
  system s{{.workers = 2}};
  for (int i = 0; i < 100; ++i) {
    s.spawn<probe>(log).send_after(1h, note{"never"});
  }
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] { EXPECT_TRUE(s.shutdown(patience).complete()); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_THAT(log.lines(), SizeIs(100));
}

TEST(shutdown, inside_a_handler_is_a_logic_error) {
  journal log;
  stage s;
  for (const placement where : {pool, own_thread, bound_to(s.pump)}) {
    const auto a = s.system.spawn<probe>(spawn_options{.where = where}, log);
    a.send(call{[&](probe& me) { EXPECT_THROW(me.system().shutdown(0s), std::logic_error); }});
    a.stop();
    EXPECT_EQ(a.join(), exit_reason::stopped);
  }
}

TEST(system_destructor, stops_everything_and_waits) {
  journal log;
  {
    system s{{.workers = 2}};
    for (int i = 0; i < 100; ++i) {
      s.spawn<probe>(log).send_after(1h, note{"never"});
    }
  }
  EXPECT_THAT(log.lines(), SizeIs(100));
}

// Reads what the process writes to stderr, as it comes.
class stderr_reader {
 public:
  stderr_reader() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    read_ = ends[0];
  }
  stderr_reader(const stderr_reader&) = delete;
  stderr_reader& operator=(const stderr_reader&) = delete;
  ~stderr_reader() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(read_);
  }
  // Everything until `text` has appeared.
  std::string until(const std::string& text) {
    std::string all;
    char c = 0;
    while (all.find(text) == std::string::npos && ::read(read_, &c, 1) == 1) all += c;
    return all;
  }

 private:
  const int before_ = ::dup(STDERR_FILENO);
  int read_ = -1;
};

TEST(system_destructor, reports_blocked_actors_and_waits_with_hang_policy_wait) {
  journal log;
  stderr_reader errors;
  hanging h;
  std::thread other([&] {
    system s{{.workers = 1,
              .shutdown_deadline = 1ms,
              .hang_deadline = 1ms,
              .on_hang = hang_policy::wait}};
    s.spawn<probe>(spawn_options{.name = "alice"}, log).send(call{std::ref(h)});
    ASSERT_TRUE(h.hangs.wait());
  });
  EXPECT_THAT(errors.until("hang_deadline has passed"), HasSubstr("alice"));
  EXPECT_THAT(errors.until(std::string(type_name<call>())), HasSubstr("alice"));
  EXPECT_THAT(log.lines(), IsEmpty());
  h.go_on.set();
  other.join();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
}

TEST(system_destructor, discards_a_backlog_after_its_deadline_and_reports_its_size) {
  journal log;
  stderr_reader errors;
  hanging h;
  std::thread other([&] {
    system s{{.workers = 1, .shutdown_deadline = 1ms, .hang_deadline = patience}};
    const auto a = s.spawn<probe>(spawn_options{.name = "alice"}, log);
    a.send(call{std::ref(h)});
    for (int i = 0; i < 500; ++i) a.send(note{"never handled"});
    ASSERT_TRUE(h.hangs.wait());
  });
  const std::string before = errors.until("messages waiting");
  EXPECT_THAT(before, HasSubstr("shutdown_deadline has passed"));
  EXPECT_THAT(before, HasSubstr("alice"));
  EXPECT_THAT(before, HasSubstr("at most 50"));
  h.go_on.set();
  other.join();
  // It may continue with some before it is told to stop at once.
  const std::vector<std::string> lines = log.lines();
  EXPECT_EQ(lines.back(), "destroyed");
  EXPECT_THAT(errors.until("were discarded"),
              HasSubstr(std::to_string(501 - lines.size()) + " messages"));
}

// Destroys a system in which an actor hangs.
void end_with_somebody_hanging() {
  journal log;
  hanging h;
  system s{{.workers = 1, .shutdown_deadline = 1ms, .hang_deadline = 1ms}};
  s.spawn<probe>(spawn_options{.name = "alice"}, log).send(call{std::ref(h)});
  h.hangs.wait();
}

TEST(system_destructor_death_test, reports_the_blocked_actor_and_terminates_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(end_with_somebody_hanging(), "alice.*in on\\(.*call");
}

#ifdef __linux__

// Takes all the memory that is available for messages.
void exhaust_memory() {
  std::ifstream sizes("/proc/self/statm");
  rlim_t pages = 0;
  sizes >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  for (const std::size_t bytes_each : {1024u, 128u, 64u, 32u}) {
    try {
      for (;;) (void)pool_allocate(bytes_each);
    } catch (const std::bad_alloc&) {
    }
  }
}

void end_without_memory() {
  atomic<int> stopped{0};
  {
    class counts : public actor {
     public:
      explicit counts(atomic<int>& stopped) : stopped_(stopped) {}
      void on_stop() { ++stopped_; }
      void on(int) {}

     private:
      atomic<int>& stopped_;
    };
    troupe::system all({.workers = 1});
    std::vector<ref<counts>> those;
    for (int i = 0; i < 300; ++i) those.push_back(all.spawn<counts>(stopped));
    // By then the worker's thread has allocated what it needs once for itself.
    const auto first = all.spawn<counts>(stopped);
    first.send(1);
    first.stop();
    (void)first.join();
    exhaust_memory();
  }
  std::_Exit(stopped == 301 ? 0 : 1);
}

TEST(contract, a_system_shuts_down_in_order_when_memory_is_exhausted) {
  if (sanitized) GTEST_SKIP() << "it takes the memory of the sanitizer, too";
  EXPECT_EXIT(end_without_memory(), ::testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace troupe::test
