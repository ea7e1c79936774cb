// SPDX-License-Identifier: Apache-2.0
// Time limits of a machine's states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct go {};
struct back {};
struct around {};
struct run {
  std::function<void()> what;
};

/// The test's decisions about its machine.
struct plan {
  duration limit = 1h;
  duration inner_limit = 1h;
  event* limit_is_reached = nullptr;
};

// idle, busy { first, second }, over
class limited : public state_machine<limited> {
 public:
  limited(journal& log, plan& does) : log_(log), plan_(does) {}

  struct idle : state {};
  struct busy : state {};
  struct first : in<busy> {};
  struct second : in<busy> {};
  struct over : state {};
  using states = troupe::states<idle, busy, first, second, over>;
  using messages = troupe::messages<go, back, around, run>;

  [[nodiscard]] duration limit(busy) const { return plan_.limit; }
  [[nodiscard]] duration limit(second) const { return plan_.inner_limit; }

  to<busy> on(idle, go) { return {}; }
  to<second> on(first, go) { return {}; }
  to<first> on(second, go) { return {}; }
  to<idle> on(busy, back) { return {}; }
  to<busy> on(busy, around) { return {}; }
  to<over> on(busy, time_limit) {
    log_.write("limit of busy");
    return {};
  }
  void on(second, time_limit) {
    log_.write("limit of second");
    if (plan_.limit_is_reached != nullptr) plan_.limit_is_reached->set();
  }
  void on(const run& m) { m.what(); }

  void on_enter(busy) { entered_ = clock::now(); }
  void on_enter(over) {
    EXPECT_GE(clock::now(), entered_ + plan_.limit);
    stop();
  }

 private:
  journal& log_;
  plan& plan_;
  time_point entered_;
};

TEST(state_limit, leads_on_when_it_is_reached_and_never_earlier) {
  for (const duration limit : {duration(-1s), duration(0s), duration(1ms), duration(20ms)}) {
    journal log;
    plan does{.limit = limit};
    system s{{.workers = 1}};
    const auto m = s.spawn<limited>(log, does);
    m.send(go{});
    EXPECT_EQ(m.join_for(patience), exit_reason::stopped);
    EXPECT_THAT(log.lines(), ElementsAre("limit of busy"));
  }
}

TEST(state_limit, of_an_outer_state_continues_while_its_inner_states_change) {
  journal log;
  plan does{.limit = 30ms};
  system s{{.workers = 1}};
  const auto m = s.spawn<limited>(log, does);
  m.send(go{});
  // If it restarted with each of these messages, it would never be reached.
  timer changes = m.send_every(1ms, go{});
  EXPECT_EQ(m.join_for(patience), exit_reason::stopped);
  changes.cancel();
}

TEST(state_limit, is_disarmed_when_its_state_is_left) {
  journal log;
  plan does;
  stage s;
  const auto m = s.spawn<limited>(log, does);
  m.send(go{});
  s.play();
  EXPECT_EQ(s.system.statistics().timers_armed, 1u);
  m.send(go{});
  s.play();
  EXPECT_EQ(s.system.statistics().timers_armed, 2u) << "busy and second";
  m.send(go{});
  s.play();
  EXPECT_EQ(s.system.statistics().timers_armed, 1u);
  m.send(back{});
  s.play();
  EXPECT_EQ(s.system.statistics().timers_armed, 0u);
}

TEST(state_limit, that_is_in_the_mailbox_when_its_state_is_left_is_ignored) {
  for (const bool comes_back : {false, true}) {
    journal log;
    plan does{.limit = 1us};
    stage s;
    const auto m = s.spawn<limited>(log, does);
    s.play();
    std::uint64_t accepted = 0;
    m.send(go{});
    m.send(run{[&] {
      EXPECT_TRUE(eventually([&] { return s.system.statistics().messages_accepted > accepted; }))
          << "the tick lies behind the message that leaves the state";
      does.limit = 1h;
    }});
    m.send(back{});
    if (comes_back) m.send(go{});
    accepted = s.system.statistics().messages_accepted;  // all of these; the limit is not armed yet
    s.play();
    EXPECT_THAT(log.lines(), IsEmpty());
    EXPECT_EQ(s.system.statistics().timers_armed, comes_back ? 1u : 0u);
  }
}

TEST(state_limit, restarts_when_the_state_is_entered_again) {
  journal log;
  plan does;
  stage s;
  const auto m = s.spawn<limited>(log, does);
  m.send(go{});
  s.play();
  does.limit = 1ms;
  m.send(around{});
  EXPECT_EQ(m.join_for(patience), exit_reason::stopped);
}

TEST(state_limit, whose_handler_does_not_leave_the_state_fires_once_per_visit) {
  journal log;
  event reached;
  plan does{.inner_limit = 1us, .limit_is_reached = &reached};
  system s{{.workers = 1}};
  const auto m = s.spawn<limited>(log, does);
  m.send(go{});
  m.send(go{});
  ASSERT_TRUE(reached.wait());
  does.limit = 20ms;
  m.send(around{});  // begins anew in first, and waits for busy's limit
  EXPECT_EQ(m.join_for(patience), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("limit of second", "limit of busy"));
}

TEST(state_limit, ends_with_its_actor) {
  journal log;
  plan does;
  stage s;
  const auto m = s.spawn<limited>(log, does);
  m.send(go{});
  m.stop();
  s.play();
  EXPECT_EQ(m.join(), exit_reason::stopped);
  EXPECT_EQ(s.system.statistics().timers_armed, 0u);
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

TEST(state_limit, keeps_its_actor_alive_until_it_is_reached) {
  journal log;
  plan does{.limit = 20ms};
  system s{{.workers = 1}};
  s.spawn<limited>(log, does).send(go{});
  EXPECT_TRUE(log.wait_for(1));
}

// ── Under load ────────────────────────────────────────────────────────────────────────────────

struct poke {};

class racer : public state_machine<racer> {
 public:
  racer(unsigned seed, atomic<int>& early, atomic<unsigned>& reached)
      : random_(seed), early_(early), reached_(reached) {}

  struct waiting : state {};
  struct resting : state {};
  using states = troupe::states<waiting, resting>;
  using messages = troupe::messages<poke>;

  [[nodiscard]] duration limit(waiting) const { return limit_; }
  to<waiting> on(waiting, poke) { return {}; }
  to<waiting> on(resting, poke) { return {}; }
  to<resting> on(waiting, time_limit) {
    if (clock::now() < entered_ + limit_) ++early_;
    ++reached_;
    reached_.notify_all();
    return {};
  }
  void on_enter(waiting) {
    entered_ = clock::now();
    limit_ = std::chrono::microseconds(random_() % 2'000);
  }

 private:
  std::mt19937 random_;
  atomic<int>& early_;
  atomic<unsigned>& reached_;
  time_point entered_;
  duration limit_{};
};

TEST(state_limit, never_fires_early_in_a_later_visit) {
  const char* const given = std::getenv("TROUPE_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 1;
  std::printf("TROUPE_SEED=%u\n", seed);
  constexpr unsigned machines = 16;
  atomic<int> early{0};
  atomic<unsigned> reached{0};
  {
    system s{{.workers = 2}};
    std::vector<ref<racer>> racers;
    for (unsigned i = 0; i < machines; ++i) {
      racers.push_back(s.spawn<racer>(seed + i, early, reached));
    }
    std::mt19937 random{seed};
    const time_point end = clock::now() + 300ms;
    while (clock::now() < end) {
      racers[random() % racers.size()].send(poke{});
      if (random() % 4 == 0) std::this_thread::yield();
    }
    // Left alone, every one of them reaches its limit, however rarely it was left alone before.
    for (unsigned so_far = reached.load(); so_far < machines; so_far = reached.load()) {
      reached.wait(so_far);
    }
    for (const auto& each : racers) each.send(poke{});
    for (const auto& each : racers) each.stop();
    for (const auto& each : racers) each.join();
    EXPECT_EQ(s.statistics().timers_armed, 0u);
  }
  EXPECT_EQ(early.load(), 0);
}

}  // namespace
}  // namespace troupe::test
