// SPDX-License-Identifier: Apache-2.0
// A pump inside a foreign event loop.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

TEST(pump_wakeup, is_called_when_work_arrives_at_an_idle_pump) {
  journal log;
  int calls = 0;
  stage s;
  s.pump.on_wakeup([&] { ++calls; });
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  EXPECT_EQ(calls, 1) << "the first has to start; then there was work already";
  a.send(note{"1"});
  b.send(note{"2"});
  EXPECT_EQ(calls, 1);
  s.play();
  calls = 0;
  a.send(note{"3"});
  EXPECT_EQ(calls, 1);
  s.play();
  b.stop();
  EXPECT_EQ(calls, 2);
}

TEST(pump_wakeup, is_called_at_once_if_work_is_already_waiting) {
  journal log;
  int calls = 0;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.send(note{"1"});
  s.pump.on_wakeup([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  s.play();
  s.pump.on_wakeup([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(pump_wakeup, is_called_when_a_drain_leaves_work) {
  journal log;
  int calls = 0;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  a.send(call{[](probe& me) { me.me().send(note{"left behind"}); }});
  s.pump.on_wakeup([&] { ++calls; });
  calls = 0;
  s.pump.drain();
  EXPECT_EQ(calls, 1);
}

TEST(pump_wakeup, is_not_called_when_a_drain_leaves_no_work) {
  journal log;
  int calls = 0;
  stage s;
  const auto a = s.spawn<probe>(log);
  s.play();
  s.pump.on_wakeup([&] { ++calls; });
  a.send(note{"1"});
  a.send(note{"2"});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(s.pump.drain(), 2u);
  EXPECT_EQ(calls, 1);
}

TEST(pump_wakeup, is_called_once_when_a_bounded_drain_leaves_work) {
  journal log;
  int calls = 0;
  stage s;
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  s.play();
  a.send(note{"1"});
  b.send(note{"2"});
  s.pump.on_wakeup([&] { ++calls; });
  calls = 0;
  s.pump.drain_at_most(1);
  EXPECT_EQ(calls, 1);
  s.pump.drain_at_most(1);
  EXPECT_EQ(calls, 1) << "nothing is left";
}

TEST(pump_wakeup, that_was_replaced_is_not_called_any_more) {
  class plain : public actor {
   public:
    void on(int) {}
  };
  stage s;
  const auto a = s.spawn<plain>();
  atomic<bool> enough{false};
  atomic<bool> is_over{false};
  std::thread sender([&] {
    while (!enough) a.send(1);
    is_over = true;
  });
  const auto has_worked = [&] { return s.pump.drain() > 0; };
  for (int round = 0; round < 500; ++round) {
    atomic<int> calls{0};
    s.pump.on_wakeup([&] { ++calls; });
    EXPECT_TRUE(eventually([&] { return s.pump.drain(), calls > 0; }));
    s.pump.on_wakeup({});
    const int so_far = calls;
    // The second drain finds what was scheduled after the first: the callback would have been
    // called.
    EXPECT_TRUE(eventually(has_worked));
    EXPECT_TRUE(eventually(has_worked));
    EXPECT_EQ(calls, so_far);
    if (HasFailure()) break;
  }
  enough = true;
  // It may wait for room in the mailbox.
  EXPECT_TRUE(eventually([&] { return s.pump.drain(), is_over.load(); }));
  sender.join();
}

TEST(pump_wakeup, that_was_replaced_is_not_running_any_more) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  for (int round = 0; round < 20; ++round) {
    s.play();
    atomic<bool> begun{false};
    atomic<bool> over{false};
    s.pump.on_wakeup([&] {
      begun = true;
      for (int i = 0; i < 100; ++i) std::this_thread::yield();  // on_wakeup({}) comes meanwhile
      over = true;
    });
    std::thread sender([&] { a.send(note{"1"}); });
    EXPECT_TRUE(eventually([&] { return begun.load(); }));
    s.pump.on_wakeup({});
    EXPECT_TRUE(over);
    sender.join();
  }
}

// Works like every event loop: it sleeps on descriptors.
class poll_loop {
 public:
  poll_loop() : wakeup_(::eventfd(0, EFD_NONBLOCK)) {}
  poll_loop(const poll_loop&) = delete;
  poll_loop& operator=(const poll_loop&) = delete;
  ~poll_loop() { ::close(wakeup_); }

  void wake() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(wakeup_, &one, sizeof(one)), 8);
  }
  // False if nothing came.
  [[nodiscard]] bool sleep() const {
    pollfd on{.fd = wakeup_, .events = POLLIN, .revents = 0};
    constexpr int limit = std::chrono::milliseconds{patience}.count();
    if (::poll(&on, 1, limit) != 1) return false;
    std::uint64_t count = 0;
    return ::read(wakeup_, &count, sizeof(count)) == 8;
  }

 private:
  const int wakeup_;
};

TEST(pump_wakeup, lets_a_poll_loop_sleep_and_miss_nothing) {
  class sink : public actor {
   public:
    explicit sink(int& handled) : handled_(handled) {}
    void on(int) { ++handled_; }

   private:
    int& handled_;
  };
  constexpr int messages = sanitized ? 5'000 : 30'000;
  poll_loop loop;
  int handled = 0;
  stage s;
  const auto a = s.spawn<sink>(handled);
  s.pump.on_wakeup([&] { loop.wake(); });
  std::vector<std::thread> senders;
  for (int n = 0; n < 2; ++n) {
    senders.emplace_back([&] {
      for (int i = 0; i < messages; ++i) {
        a.send(1);
        if (i % 64 == 0) std::this_thread::yield();
      }
    });
  }
  while (handled < 2 * messages) {
    ASSERT_TRUE(loop.sleep()) << "the loop slept while there was work: " << handled;
    s.pump.drain();
  }
  for (std::thread& each : senders) each.join();
  s.pump.on_wakeup({});
}

TEST(pump_wakeup, lets_a_poll_loop_bounce_messages_with_the_pool) {
  class echo : public actor {
   public:
    explicit echo(int& turns) : turns_(turns) {}
    void on(const ref<echo>& other) { other_ = other; }
    void on(int left) {
      ++turns_;
      if (left > 0) other_.send(left - 1);
    }
    void on_stop() { other_ = {}; }

   private:
    int& turns_;
    ref<echo> other_;
  };
  constexpr int bounces = 2'000;
  poll_loop loop;
  int here = 0;
  int there = 0;
  stage s;
  s.pump.on_wakeup([&] { loop.wake(); });
  const auto bound = s.spawn<echo>(here);
  const auto pooled = s.system.spawn<echo>(there);
  bound.send(ref{pooled});
  pooled.send(ref{bound});
  pooled.send(bounces);
  while (here < bounces / 2) {
    ASSERT_TRUE(loop.sleep());
    s.pump.drain();
  }
  pooled.stop();
  pooled.join();
  EXPECT_EQ(there, bounces / 2 + 1);
  s.pump.on_wakeup({});
}

}  // namespace
}  // namespace troupe::test
