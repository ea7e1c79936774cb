// SPDX-License-Identifier: Apache-2.0
// Systems and pumps that are destroyed while other threads still hold references: freed memory is
// never accessed. (AddressSanitizer and ThreadSanitizer check that in these tests.)
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

constexpr int rounds = sanitized ? 30 : 100;

class sink : public actor {
 public:
  void on(int) {}
};

void send_until_refused(const ref<sink>& to) {
  while (to.send(1) == delivery::accepted) std::this_thread::yield();
}

TEST(destruction, of_a_system_while_others_send) {
  for (int i = 0; i < rounds; ++i) {
    std::vector<std::thread> senders;
    {
      system s{{.workers = 2}};
      for (const placement where : {pool, own_thread, pool}) {
        const auto a = s.spawn<sink>(spawn_options{.where = where});
        senders.emplace_back([a] { send_until_refused(a); });
      }
    }
    for (std::thread& each : senders) each.join();
  }
}

TEST(destruction, of_a_system_is_safe_just_after_another_thread_stops_its_last_actor) {
  for (int i = 0; i < rounds; ++i) {
    std::thread other;
    {
      system s{{.workers = 1}};
      auto a = s.spawn<sink>();
      other = std::thread([mine = std::move(a)] { mine.stop(); });
      while (s.statistics().actors_alive != 0) std::this_thread::yield();
    }
    other.join();
  }
}

// Inspections look at the slots of all systems. A reference to an actor of another system, even for
// a moment, could become the last one and outlive that system.
TEST(destruction, of_a_system_is_safe_while_another_one_is_inspected) {
  system inspected{{.workers = 1}};
  const auto stays = inspected.spawn<sink>();
  atomic<bool> is_over{false};
  std::thread inspector([&] {
    while (!is_over.load()) {
      EXPECT_TRUE(inspected.overloaded_actors().empty());
      EXPECT_EQ(inspected.collect_cycles(), 0u);
      EXPECT_LE(inspected.unreachable_suspects().size(), 1u);
    }
  });
  for (int i = 0; i < 5 * rounds; ++i) {
    system other{{.workers = 1}};
    std::vector<ref<sink>> several;
    for (int n = 0; n < 20; ++n) several.push_back(other.spawn<sink>());
    for (auto& each : several) each.send(1);
    several.clear();
  }
  is_over = true;
  inspector.join();
}

TEST(destruction, of_a_pump_while_others_send) {
  system s{{.workers = 1}};
  for (int i = 0; i < rounds; ++i) {
    std::optional<pump> p(s);
    const auto a = s.spawn<sink>(spawn_options{.where = bound_to(*p)});
    std::thread one([a] { send_until_refused(a); });
    std::thread two([a] { send_until_refused(a); });
    p->drain();
    p.reset();
    one.join();
    two.join();
  }
}

TEST(destruction, of_a_pump_is_safe_just_after_another_thread_stops_its_last_actor) {
  class flagged : public actor {
   public:
    explicit flagged(bool& gone) : gone_(gone) {}
    ~flagged() { gone_ = true; }

   private:
    bool& gone_;
  };
  system s{{.workers = 1}};
  for (int i = 0; i < rounds; ++i) {
    std::optional<pump> p(s);
    bool gone = false;
    auto a = s.spawn<flagged>(spawn_options{.where = bound_to(*p)}, gone);
    p->run_until_idle();
    std::thread other([mine = std::move(a)] { mine.stop(); });
    while (!gone) p->drain();
    p.reset();  // the other thread may not have returned from stop() yet
    other.join();
  }
}

TEST(destruction, of_a_pump_whose_actors_have_timers) {
  system s{{.workers = 1}};
  for (int i = 0; i < rounds; ++i) {
    pump p(s);
    const auto a = s.spawn<sink>(spawn_options{.where = bound_to(p)});
    for (int n = 0; n < 10; ++n) a.send_every(std::chrono::microseconds{n * 100}, 1);
    p.run_until_idle();
  }
  EXPECT_EQ(s.statistics().timers_armed, 0u);
}

TEST(destruction, of_a_system_while_others_arm_timers_and_cancel_them) {
  for (int i = 0; i < rounds / 4; ++i) {
    std::vector<std::thread> others;
    {
      system s{{.workers = 1}};
      const auto a = s.spawn<sink>();
      for (int n = 0; n < 2; ++n) {
        others.emplace_back([a] {
          do {
            timer t = a.send_after(1us, 1);
            a.send_every(1h, 1);
            t.cancel();
            std::this_thread::yield();
          } while (a.send(1) == delivery::accepted);
        });
      }
    }
    for (std::thread& each : others) each.join();
  }
}

TEST(destruction, of_a_system_while_others_lock_weak_refs_and_join) {
  for (int i = 0; i < rounds / 4; ++i) {
    std::vector<std::thread> others;
    {
      system s{{.workers = 1}};
      const auto a = s.spawn<sink>();
      others.emplace_back([weak = weak_ref<sink>(a)] {
        while (weak.lock()) std::this_thread::yield();
      });
      others.emplace_back([a] { EXPECT_EQ(a.join_for(patience), exit_reason::stopped); });
    }
    for (std::thread& each : others) each.join();
  }
}

}  // namespace
}  // namespace troupe::test
