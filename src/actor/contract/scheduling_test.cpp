// SPDX-License-Identifier: Apache-2.0
// The guarantees of the scheduler, seen from outside.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

class bell : public actor {
 public:
  void on(event* rung) { rung->set(); }
};

// Each round begins when all is idle, or nearly so: the moment when a wake-up gets lost.
void wake_and_wait(system& s, int rounds) {
  const auto a = s.spawn<bell>();
  for (int i = 0; i < rounds; ++i) {
    event rung;
    a.send(&rung);
    ASSERT_TRUE(rung.wait()) << "a wake-up was lost in round " << i;
  }
}

TEST(scheduling, no_wake_up_from_a_foreign_thread_is_lost) {
  for (const unsigned workers : {1u, 2u, 4u}) {
    system s{{.workers = workers}};
    wake_and_wait(s, sanitized ? 2'000 : 10'000);
  }
}

// A worker that is woken finds immediately what it was woken for.
TEST(scheduling, no_wake_up_is_lost_by_workers_that_hardly_look_around) {
  for (const unsigned rounds : {0u, 1u}) {
    system s{{.workers = 2, .spin_rounds = rounds}};
    wake_and_wait(s, sanitized ? 500 : 2'000);
  }
}

TEST(scheduling, no_wake_up_from_several_foreign_threads_is_lost) {
  system s{{.workers = 2}};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) {
    threads.emplace_back([&] { wake_and_wait(s, sanitized ? 1'000 : 5'000); });
  }
  for (std::thread& each : threads) each.join();
}

TEST(scheduling, no_wake_up_by_a_timer_is_lost) {
  system s{{.workers = 2}};
  const auto a = s.spawn<bell>();
  for (int i = 0; i < 200; ++i) {
    event rung;
    a.send_after(std::chrono::microseconds{i % 50 * 20}, &rung);
    ASSERT_TRUE(rung.wait()) << "in round " << i;
  }
}

// Fan-out does not depend on any one worker's private slot: all of it is handled, by whichever
// worker.
TEST(scheduling, no_wake_up_of_many_by_one_is_lost) {
  class leaf : public actor {
   public:
    void on(atomic<int>* left) { --*left; }
  };
  class root : public actor {
   public:
    explicit root(std::vector<ref<leaf>> leaves) : leaves_(std::move(leaves)) {}
    void on(atomic<int>* left) {
      for (const auto& each : leaves_) each.send(left);
    }

   private:
    const std::vector<ref<leaf>> leaves_;
  };
  constexpr int leaves = 600;  // more than a worker's ring holds
  constexpr int rounds = sanitized ? 50 : 300;
  for (const unsigned workers : {1u, 2u, 4u}) {
    system s{{.workers = workers}};
    std::vector<ref<leaf>> all;
    for (int i = 0; i < leaves; ++i) all.push_back(s.spawn<leaf>());
    const auto r = s.spawn<root>(all);
    for (int i = 0; i < rounds; ++i) {
      atomic<int> left{leaves};
      r.send(&left);
      ASSERT_TRUE(eventually([&] { return left == 0; })) << "in round " << i << ": " << left;
    }
  }
}

TEST(scheduling, a_worker_that_is_held_up_does_not_hold_up_the_others) {
  journal log;
  event go_on;
  system s{{.workers = 2}};
  const auto blocks = s.spawn<probe>(log);
  blocks.send(call{[&](probe&) { go_on.wait(); }});
  wake_and_wait(s, 100);
  go_on.set();
}

rusage used_so_far() {
  rusage now{};
  ::getrusage(RUSAGE_SELF, &now);
  return now;
}
std::chrono::microseconds cpu_time(const rusage& of) {
  return std::chrono::seconds{of.ru_utime.tv_sec + of.ru_stime.tv_sec} +
         std::chrono::microseconds{of.ru_utime.tv_usec + of.ru_stime.tv_usec};
}

TEST(scheduling, an_idle_system_uses_no_cpu) {
  journal log;
  event pumping;
  system s{{.workers = 4}};
  // One of everything that can be idle.
  const auto pooled = s.spawn<probe>(log);
  const auto own = s.spawn<probe>(spawn_options{.where = own_thread}, log);
  pooled.send_after(1h, note{"never"});
  own.send_every(1h, note{"never"});
  std::thread pumper([&] {
    pump p{s};
    const auto bound = s.spawn<probe>(spawn_options{.where = bound_to(p)}, log);
    bound.send_after(1h, note{"never"});
    bound.send(call{[&](probe&) { pumping.set(); }});
    p.run_until_stopped();
  });
  ASSERT_TRUE(pumping.wait());
  wake_and_wait(s, 100);
  ASSERT_TRUE(eventually([&] { return s.statistics().workers_parked == 4; }));
  // The second is a measurement, not a wait for something to happen. Another process may have kept
  // this one from going to sleep, so one quiet second of five is enough.
  rusage quietest{};
  bool quiet = false;
  for (int i = 0; i < 5 && !quiet; ++i) {
    const rusage before = used_so_far();
    EXPECT_EQ(pooled.join_for(1s), std::nullopt);
    const rusage after = used_so_far();
    quietest = after;
    // ThreadSanitizer's own thread uses some.
    quiet = cpu_time(after) - cpu_time(before) <= (sanitized ? 30ms : 3ms) &&
            after.ru_nvcsw - before.ru_nvcsw <= (sanitized ? 50 : 10);
  }
  EXPECT_TRUE(quiet) << cpu_time(quietest).count() << " us, " << quietest.ru_nvcsw << " switches";
  EXPECT_TRUE(s.shutdown(patience).complete());
  pumper.join();
}

// Returns what it receives, forever.
class flooder : public actor {
 public:
  void on(const ref<flooder>& other) { other_ = other; }
  void on(int ball) { other_.send(ball); }
  void on_stop() { other_ = {}; }

 private:
  ref<flooder> other_;
};

struct flood {
  flood(system& s, int balls) : a(s.spawn<flooder>()), b(s.spawn<flooder>()) {
    a.send(ref{b});
    b.send(ref{a});
    for (int i = 0; i < balls; ++i) a.send(i);
  }
  ~flood() {
    a.stop_now();
    b.stop_now();
  }
  ref<flooder> a;
  ref<flooder> b;
};

TEST(scheduling, two_that_flood_each_other_do_not_starve_a_third) {
  // With one ball they alternate in the worker's private slot; with many their turns are long.
  for (const int balls : {1, 1'000}) {
    system s{{.workers = 1}};
    const flood f(s, balls);
    wake_and_wait(s, 200);
  }
}

TEST(scheduling, two_that_flood_each_other_do_not_starve_whom_an_actor_sends_to) {
  class countdown : public actor {
   public:
    explicit countdown(event& over) : over_(over) {}
    void on(int n) {
      if (n == 0) return over_.set();
      self(this).send(n - 1);
    }

   private:
    event& over_;
  };
  for (const int balls : {1, 1'000}) {
    event over;
    system s{{.workers = 1}};
    const flood f(s, balls);
    s.spawn<countdown>(over).send(200);
    EXPECT_TRUE(over.wait());
  }
}

TEST(scheduling, an_actor_that_keeps_sending_to_itself_does_not_starve_others) {
  class busy : public actor {
   public:
    void on(int i) { self(this).send(i); }
  };
  system s{{.workers = 1}};
  const auto b = s.spawn<busy>();
  for (int i = 0; i < 1'000; ++i) b.send(i);
  wake_and_wait(s, 200);
  b.stop_now();
}

// Both have all their messages before the only worker schedules either.
TEST(scheduling, a_turn_ends_after_the_configured_number_of_messages) {
  class writer : public actor {
   public:
    writer(char sign, std::string& into) : sign_(sign), into_(into) {}
    void on(int) { into_ += sign_; }

   private:
    const char sign_;
    std::string& into_;
  };
  const auto written = [](unsigned turn_messages) {
    std::string text;
    journal log;
    event go_on;
    system s{
        {.workers = 1, .blocking_threshold = duration::zero(), .turn_messages = turn_messages}};
    const auto gate = s.spawn<probe>(log);
    gate.send(call{[&](probe&) { go_on.wait(); }});
    const auto a = s.spawn<writer>('a', text);
    const auto b = s.spawn<writer>('b', text);
    for (int i = 0; i < 6; ++i) a.send(i);
    for (int i = 0; i < 6; ++i) b.send(i);
    go_on.set();
    a.stop();
    b.stop();
    a.join();
    b.join();
    return text;
  };
  EXPECT_EQ(written(1), "abababababab");
  EXPECT_EQ(written(2), "aabbaabbaabb");
  EXPECT_EQ(written(100), "aaaaaabbbbbb");
}

// The requests that the monitor, a timeline or a group makes while a handler runs; here the handler
// makes them.
TEST(scheduling, a_turn_that_is_asked_to_end_ends_after_its_current_message) {
  struct begin {};
  class other : public actor {
   public:
    explicit other(std::string& into) : into_(into) {}
    void on(char c) { into_ += c; }

   private:
    std::string& into_;
  };
  class asked_to_end : public actor {
   public:
    asked_to_end(std::string& into, ref<other> whom, ref<other> full)
        : into_(into), whom_(std::move(whom)), full_(std::move(full)) {}
    void on(begin) {
      for (const char c : {'1', '2', '3'}) self(this).send(c);
      // The second one is beyond the limit: the actor is suspended after this handler, although it
      // has messages of its own to handle.
      if (full_) full_.send('f'), full_.send('f');
      whom_.send('o');
      detail::this_turn().counts->ask(detail::activity::turn_over);
    }
    void on(char c) {
      into_ += c;
      if (c == '3') stop();
    }

   private:
    std::string& into_;
    const ref<other> whom_;
    const ref<other> full_;
  };
  const auto written = [](bool with_full) {
    std::string text;
    std::string filled;
    system s{{.workers = 1, .blocking_threshold = duration::zero()}};
    const auto full =
        with_full ? s.spawn<other>(spawn_options{.max_messages = 1}, filled) : ref<other>{};
    const auto a =
        s.spawn<asked_to_end>(spawn_options{.max_messages = 4}, text, s.spawn<other>(text), full);
    a.send(begin{});
    EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
    EXPECT_EQ(s.statistics().pauses, with_full ? 1u : 0u);
    return text;
  };
  EXPECT_EQ(written(false), "o123");
  EXPECT_EQ(written(true), "o123");
}

TEST(scheduling, two_systems_do_not_disturb_each_other) {
  event go_on;
  journal log;
  system one{{.workers = 1}};
  system two{{.workers = 1}};
  one.spawn<probe>(log).send(call{[&](probe&) { go_on.wait(); }});
  wake_and_wait(two, 100);
  go_on.set();
}

}  // namespace
}  // namespace troupe::test
