// SPDX-License-Identifier: Apache-2.0
// Guarantees of timers beyond the contract's table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <semaphore>
#include <stdexcept>
#include <troupe/troupe.hpp>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(timer, is_never_early) {
  struct due {
    time_point at;
  };
  class watchmaker : public actor {
   public:
    explicit watchmaker(int expected) : left_(expected) {}
    void on(due d) {
      EXPECT_GE(clock::now(), d.at);
      if (--left_ == 0) stop();
    }

   private:
    int left_;
  };
  constexpr int timers = 2'000;
  system s{{.workers = 1}};
  const auto a = s.spawn<watchmaker>(timers);
  for (int i = 0; i < timers; ++i) {
    const auto delay = std::chrono::microseconds{(i * 37) % 20'000};
    a.send_after(delay, due{clock::now() + delay});
  }
  EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
}

TEST(timer, is_not_early_where_its_handler_has_computed_for_long_before_it_was_armed) {
  struct begin {};
  struct due {
    time_point at;
  };
  class busy : public actor {
   public:
    void on(begin) {
      for (const time_point end = clock::now() + 5ms; clock::now() < end;) continue;
      self(this).send_after(1ms, due{clock::now() + 1ms});
    }
    void on(due d) {
      EXPECT_GE(clock::now(), d.at);
      if (++times_ == 10) return stop();
      self(this).send(begin{});
    }

   private:
    int times_ = 0;
  };
  system s{{.workers = 1}};
  const auto a = s.spawn<busy>();
  a.send(begin{});
  EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
}

TEST(timer, fires_while_all_workers_are_in_a_handler) {
  struct block {};
  struct due {};
  class blocked : public actor {
   public:
    explicit blocked(std::binary_semaphore& go_on) : go_on_(go_on) {}
    void on(block) { go_on_.acquire(); }

   private:
    std::binary_semaphore& go_on_;
  };
  class elsewhere : public actor {
   public:
    explicit elsewhere(std::binary_semaphore& go_on) : go_on_(go_on) {}
    void on(due) {
      if (++times_ == 3) return go_on_.release();
      self(this).send_after(3ms, due{});
    }

   private:
    std::binary_semaphore& go_on_;
    int times_ = 0;
  };
  std::binary_semaphore go_on{0};
  system s{{.workers = 1, .blocking_threshold = 0s}};
  const auto b = s.spawn<blocked>(go_on);
  b.send(block{});
  const auto e = s.spawn<elsewhere>({.where = own_thread}, go_on);
  e.send_after(1ms, due{});
  b.stop();
  EXPECT_EQ(b.join_for(patience), exit_reason::stopped);
}

TEST(timer, adds_only_its_messages_to_the_statistics) {
  struct due {};
  class once : public actor {
   public:
    void on(due) { stop(); }
  };
  system s{{.workers = 2}};
  for (int i = 0; i < 20; ++i) {
    const auto a = s.spawn<once>();
    a.send_after(1ms, due{});
    EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
  }
  EXPECT_TRUE(s.shutdown(patience).complete());
  const statistics now = s.statistics();
  EXPECT_EQ(now.actors_spawned, 20u);
  EXPECT_EQ(now.actors_alive, 0u);
  EXPECT_EQ(now.messages_accepted, 40u) << "ticks and stops";
  EXPECT_EQ(now.messages_handled, 40u);
}

TEST(timer, of_send_every_is_never_early_and_does_not_drift) {
  struct tick {};
  class metronome : public actor {
   public:
    void on_start() {
      began_ = clock::now();
      self(this).send_every(2ms, tick{});
    }
    void on(tick) {
      ++ticks_;
      // Skipped ticks make it later, never earlier.
      EXPECT_GE(clock::now(), began_ + ticks_ * 2ms);
      if (ticks_ == 20) stop();
    }

   private:
    time_point began_;
    int ticks_ = 0;
  };
  system s{{.workers = 1}};
  const auto a = s.spawn<metronome>();
  EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
}

TEST(timer, messages_with_one_delay_arrive_in_the_order_in_which_they_were_armed) {
  class in_order : public actor {
   public:
    explicit in_order(int last) : last_(last) {}
    void on(int i) {
      EXPECT_EQ(i, next_++);
      if (i == last_) stop();
    }

   private:
    const int last_;
    int next_ = 0;
  };
  constexpr int timers = 1'000;
  system s{{.workers = 1}};
  const auto a = s.spawn<in_order>(timers - 1);
  for (int i = 0; i < timers; ++i) a.send_after(5ms, int{i});
  EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
}

TEST(timer, message_arrives_after_the_messages_in_the_mailbox_when_it_fires) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  a.send(note{"before"});
  const auto accepted = s.system.statistics().messages_accepted;
  a.send_after(1us, note{"timer"});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().messages_accepted > accepted; }));
  a.send(note{"after"});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("before", "timer", "after"));
}

TEST(timer, of_send_every_has_at_most_one_outstanding_tick) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  timer t = a.send_every(1ms, note{"tick"});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().ticks_skipped >= 3; }));
  s.pump.drain();
  EXPECT_THAT(log.lines(), ElementsAre("tick"));
  t.cancel();
}

TEST(timer, of_send_every_repeats_until_it_is_cancelled) {
  journal log;
  event handled;
  system s{{.workers = 1}};
  const auto a = s.spawn<probe>(log);
  timer t = a.send_every(1us, note{"tick"});
  ASSERT_TRUE(log.wait_for(10));
  EXPECT_TRUE(t.cancel());
  a.send(call{[&](probe&) { handled.set(); }});
  ASSERT_TRUE(handled.wait());
  const std::size_t ticks = log.lines().size();
  EXPECT_EQ(s.statistics().timers_armed, 0u);
  a.stop();
  a.join();
  EXPECT_EQ(log.lines().size(), ticks + 1) << "only its destructor's line";
}

TEST(timer, may_be_cancelled_by_the_handler_of_its_own_message) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  timer after;
  timer every;
  after = a.send_after(1us, call{[&](probe&) { EXPECT_FALSE(after.cancel()) << "it has ended"; }});
  every = a.send_every(1us, call{[&](probe& me) {
                         EXPECT_TRUE(every.cancel());
                         me.stop();
                       }});
  EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
  EXPECT_EQ(s.system.statistics().timers_armed, 0u);
}

TEST(timer, is_not_armed_any_more_while_its_message_is_handled) {
  struct again {};
  class rearming : public actor {
   public:
    void on(again) {
      EXPECT_EQ(system().statistics().timers_armed, 0u);
      if (++times_ == 200) return stop();
      self(this).send_after(0s, again{});
      EXPECT_EQ(system().statistics().timers_armed, 1u);
    }

   private:
    int times_ = 0;
  };
  system s{{.workers = 1}};
  const auto a = s.spawn<rearming>();
  a.send_after(0s, again{});
  EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
}

TEST(timer, may_be_cancelled_by_the_copy_constructor_of_its_message) {
  struct here {};
  struct canceller {
    explicit canceller(timer& which) : of(&which) {}
    canceller(canceller&&) noexcept = default;
    canceller(const canceller& other) : of(other.of) { EXPECT_TRUE(of->cancel()); }
    timer* of;
    counted<here> alive;
  };
  class taker : public actor {
   public:
    void on(const canceller&) {}
  };
  stage s;
  const auto a = s.spawn<taker>();
  s.play();
  timer every;
  const auto before = s.system.statistics().messages_accepted;
  every = a.send_every(1us, canceller{every});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().messages_accepted > before; }));
  s.play();
  EXPECT_EQ(s.system.statistics().timers_armed, 0u);
  EXPECT_EQ(counted<here>::alive(), 0);
  EXPECT_FALSE(every.cancel());
}

TEST(timer, that_was_never_armed_cannot_be_cancelled) {
  timer t;
  EXPECT_FALSE(t.cancel());
}

TEST(timer, of_another_cannot_be_cancelled_with_an_old_one) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  timer old = a.send_after(1h, note{"1"});
  EXPECT_TRUE(old.cancel());
  timer fresh = a.send_after(1h, note{"2"});  // may be kept where the old one was
  EXPECT_FALSE(old.cancel());
  EXPECT_TRUE(fresh.cancel());
}

TEST(timer, a_delay_that_has_passed_fires_at_once_and_the_longest_never) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.send_after(duration::max(), note{"never"});
  a.send_every(duration::max(), note{"never"});
  a.send_after(-1h, note{"passed"});
  a.send_after(duration::min(), note{"passed"});
  a.send_after(0s, call{[](probe& me) { me.stop(); }});
  EXPECT_EQ(a.join_for(patience), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("passed", "passed", "destroyed"));
}

TEST(timer, a_period_of_zero_or_less_is_the_shortest_possible_period) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  const time_point began = clock::now();
  for (const duration period : {duration::zero(), duration{-1h}, duration{1}}) {
    timer t = a.send_every(period, note{"tick"});
    const std::size_t lines = log.lines().size();
    ASSERT_TRUE(eventually([&] {
      s.pump.drain();
      return log.lines().size() >= lines + 3;
    }));
    EXPECT_TRUE(t.cancel());
  }
  // One tick of the wheel is half a millisecond, and no more can have been skipped.
  EXPECT_LE(s.system.statistics().ticks_skipped,
            static_cast<std::uint64_t>((clock::now() - began) / 100us));
}

TEST(timer, has_the_actor_that_armed_it_as_its_sender) {
  struct question {};
  class asked : public actor {
   public:
    explicit asked(std::vector<address>& senders) : senders_(senders) {}
    void on(question, address sender) { senders_.push_back(sender); }

   private:
    std::vector<address>& senders_;
  };
  journal log;
  std::vector<address> senders;
  stage s;
  const auto a = s.spawn<asked>(senders);
  const auto b = s.spawn<probe>(log);
  timer every;
  b.send(call{[&](probe&) {
    a.send_after(1us, question{});
    every = a.send_every(1us, question{});
  }});
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return senders.size() >= 3;
  }));
  every.cancel();
  a.send_after(0s, question{});
  const std::size_t so_far = senders.size();
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return senders.size() > so_far;
  }));
  EXPECT_EQ(senders.back(), address{}) << "armed by no actor";
  senders.pop_back();
  EXPECT_THAT(senders, ::testing::Each(b.address()));
}

TEST(timer, whose_message_throws_while_it_is_copied_fails_the_actor_and_is_freed) {
  struct here {};
  struct fickle {
    fickle() = default;
    fickle(fickle&&) noexcept = default;
    fickle(const fickle&) { throw std::runtime_error("no copy"); }
    counted<here> alive;
  };
  class taker : public actor {
   public:
    void on(const fickle&) { ADD_FAILURE() << "there is no copy to handle"; }
  };
  stage s;
  const auto a = s.spawn<taker>();
  a.send_every(1us, fickle{});
  EXPECT_EQ(a.join_for(patience), exit_reason::failed);
  ASSERT_EQ(s.told.failures().size(), 1u);
  EXPECT_EQ(s.told.failures()[0].what, "no copy");
  EXPECT_EQ(counted<here>::alive(), 0);
}

TEST(timer, many_are_armed_and_cancelled_from_many_threads) {
  struct here {};
  struct parcel {
    counted<here> alive;
  };
  class taker : public actor {
   public:
    void on(const parcel&) {}
  };
  {
    system s{{.workers = 2}};
    auto a = s.spawn<taker>();
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n) {
      threads.emplace_back([&, n] {
        for (int i = 0; i < 2'000; ++i) {
          timer t = i % 2 == 0 ? a.send_after(std::chrono::microseconds{i % 700}, parcel{})
                               : a.send_every(std::chrono::microseconds{i % 700}, parcel{});
          timer copy = t;
          if ((i + n) % 3 == 0) std::this_thread::yield();
          (void)t.cancel();
          EXPECT_FALSE(copy.cancel()) << "it has been cancelled, or it had ended before";
        }
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(s.statistics().timers_armed, 0u);
    // The timers no longer hold it.
    a = {};
    EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
  }
  EXPECT_EQ(counted<here>::alive(), 0);
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(timer, memory_of_many_that_were_cancelled_is_given_back_while_the_system_runs) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  constexpr std::size_t timers = 300'000;
  class idle : public actor {
   public:
    void on(int) {}
  };
  system s{{.workers = 1}};
  const auto a = s.spawn<idle>();
  std::vector<timer> all;
  all.reserve(timers);
  const std::size_t before = resident_bytes();
  for (std::size_t i = 0; i < timers; ++i) all.push_back(a.send_after(1h, 1));
  const std::size_t most = resident_bytes();
  ASSERT_GE(most, before + timers * 64) << "the timers take memory";
  for (timer& each : all) each.cancel();
  // The timers' thread gives back a little at a time.
  EXPECT_TRUE(eventually([&] { return resident_bytes() < before + (most - before) / 4; }))
      << before << ", with timers " << most << ", now " << resident_bytes();
}

}  // namespace
}  // namespace troupe::test
