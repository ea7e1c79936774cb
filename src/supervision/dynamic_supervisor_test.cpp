// SPDX-License-Identifier: Apache-2.0
// Many children of one class that start and stop; and all kinds of supervisors under load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/supervision/dynamic_supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::HasSubstr;

struct crowd : stage {
  explicit crowd(const supervision& rules = at_once)
      : head(spawn<dynamic_supervisor<pupil>>(rules)) {}
  child_spec pupil_of(script& does) {
    return child<pupil>(does.name, std::ref(does)).options({.where = bound_to(pump)});
  }
  ref<pupil> start(const child_spec& spec) {
    auto answer = head.ask<start_child<pupil>>(patience, spec);
    play();
    return std::move(answer).get().value();
  }
  std::size_t count() {
    auto answer = head.ask<count_children>(patience);
    play();
    return std::move(answer).get().value();
  }
  ref<dynamic_supervisor<pupil>> head;
};

TEST(dynamic_supervisor, starts_children_on_request) {
  script a("a"), b("b");
  crowd on;
  const auto first = on.start(on.pupil_of(a));
  const auto second = on.start(on.pupil_of(b));
  EXPECT_NE(first, second);
  EXPECT_EQ(a.alive + b.alive, 2);
  EXPECT_EQ(on.count(), 2u);
}

TEST(dynamic_supervisor, starts_no_child_of_another_class) {
  class another : public actor {
   public:
    explicit another(int) {}
    void on(which_object) {}
  };
  try {
    const start_child<pupil> wrong{child<another>("odd one", 1)};
    FAIL() << "it is of another class";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("\"odd one\""));
    EXPECT_THAT(e.what(), HasSubstr("another, not "));
    EXPECT_THAT(e.what(), HasSubstr("pupil"));
  }
}

TEST(dynamic_supervisor, starts_them_from_arguments) {
  script a("a");
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<dynamic_supervisor<pupil>>();
  const auto one = head.ask<start_child<pupil>>(patience, std::ref(a)).get().value();
  EXPECT_EQ(one.ask<which_object>(patience).get().value(), 1);
  const auto list = head.ask<list_children>(patience).get().value();
  EXPECT_THAT(list[0].name, HasSubstr("pupil"));
}

TEST(dynamic_supervisor, restarts_each_alone) {
  script a("a"), b("b");
  crowd on;
  const auto first = on.start(on.pupil_of(a));
  (void)on.start(on.pupil_of(b));
  first.send(fail{"why not"});
  on.play();
  EXPECT_EQ(a.objects, 2);
  EXPECT_EQ(b.objects, 1);
}

TEST(dynamic_supervisor, forgets_terminated_children) {
  script a("a");
  crowd on;
  const auto one = on.start(on.pupil_of(a));
  one.stop();
  on.play();
  EXPECT_EQ(one.join(), exit_reason::stopped);
  EXPECT_EQ(on.count(), 0u);
}

TEST(dynamic_supervisor, one_that_is_stopped_while_it_waits_is_forgotten_too) {
  script a("a");
  crowd on({.min_backoff = 10h, .max_backoff = 10h});
  const auto one = on.start(on.pupil_of(a));
  one.send(fail{"why not"});
  on.play();
  EXPECT_EQ(on.count(), 1u);
  one.stop_now();
  on.play();
  EXPECT_EQ(on.count(), 0u);
}

TEST(dynamic_supervisor, waits_before_it_restarts) {
  script a("a");
  crowd on({.min_backoff = 10ms, .max_backoff = 10ms, .jitter = 0});
  const auto one = on.start(on.pupil_of(a));
  const time_point then = clock::now();
  one.send(fail{"why not"});
  ASSERT_TRUE(eventually([&] { return on.play(), a.objects == 2; }));
  EXPECT_GE(clock::now() - then, 10ms);
}

TEST(dynamic_supervisor, too_many_failures_stop_all) {
  script a("a"), b("b");
  crowd on({.max_restarts = 1, .min_backoff = 0ms, .max_backoff = 0ms});
  const auto first = on.start(on.pupil_of(a));
  const auto second = on.start(on.pupil_of(b));
  first.send(fail{"why not"});
  on.play();
  second.send(fail{"me too"});
  on.play();
  EXPECT_EQ(on.head.join(), exit_reason::failed);
  EXPECT_EQ(first.join(), exit_reason::stopped);
  EXPECT_EQ(second.join(), exit_reason::failed);
  EXPECT_THAT(on.told.failures().back().what, HasSubstr("its child \"b\" terminated again"));
}

TEST(dynamic_supervisor, stops_all_before_it_ends) {
  std::vector<std::unique_ptr<script>> scripts;
  crowd on;
  for (int i = 0; i < 10; ++i) {
    scripts.push_back(std::make_unique<script>(std::to_string(i)));
    (void)on.start(on.pupil_of(*scripts.back()));
  }
  on.head.stop();
  on.play();
  EXPECT_EQ(on.head.join(), exit_reason::stopped);
  for (const auto& each : scripts) EXPECT_EQ(each->alive, 0);
}

TEST(dynamic_supervisor, the_end_of_the_system_ends_it_with_its_children) {
  script a("a");
  crowd on;
  (void)on.start(on.pupil_of(a));
  on.head = {};
  EXPECT_TRUE(on.system.shutdown(patience).complete());
  EXPECT_EQ(a.alive, 0);
}

TEST(dynamic_supervisor, does_not_start_a_child_requested_while_it_stops) {
  script a("a"), b("b");
  crowd on;
  (void)on.start(on.pupil_of(a));
  on.head.stop();
  const auto late = on.head.ask<start_child<pupil>>(patience, child_spec(on.pupil_of(b)));
  on.play();
  EXPECT_EQ(on.head.join(), exit_reason::stopped);
  EXPECT_EQ(b.objects, 0);
}

TEST(dynamic_supervisor, abandons_a_child_that_does_not_stop_and_names_it) {
  event let_go, hanging;
  script a("a");
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<dynamic_supervisor<pupil>>(at_once);
  const auto hangs =
      head.ask<start_child<pupil>>(
              patience,
              child_spec(
                  child<pupil>("a", std::ref(a)).stop_timeout(1ms).options({.where = own_thread})))
          .get()
          .value();
  hangs.send(std::function<void(pupil&)>([&](pupil&) {
    hanging.set();
    let_go.wait();
  }));
  ASSERT_TRUE(hanging.wait());
  head.stop();
  EXPECT_EQ(head.join(), exit_reason::failed);
  EXPECT_THAT(told.failures().back().what,
              HasSubstr("its child \"a\" has not stopped within 1 ms after stop_now()"));
  let_go.set();
  EXPECT_EQ(hangs.join(), exit_reason::stopped_now);
}

TEST(dynamic_supervisor, a_child_that_does_not_start_is_its_failure) {
  event let_go;
  script a("a"), b("b");
  b.at_start = [&](int) { let_go.wait(); };
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<dynamic_supervisor<pupil>>(at_once);
  const auto start = [&](const child_spec& spec) {
    return head.ask<start_child<pupil>>(patience, spec).get().value();
  };
  const auto first = start(child<pupil>("a", std::ref(a)).options({.where = own_thread}));
  const auto hangs = start(child<pupil>("b", std::ref(b))
                               .start_timeout(1ms)
                               .stop_timeout(1ms)
                               .options({.where = own_thread}));
  EXPECT_EQ(head.join(), exit_reason::failed);
  EXPECT_THAT(told.failures().back().what,
              HasSubstr("its child \"b\" has not started within 1 ms"));
  EXPECT_EQ(first.join(), exit_reason::stopped) << "the others end with it";
  let_go.set();
  (void)hangs.join();
}

// ── Under load ────────────────────────────────────────────────────────────────────────────────

struct countdown {
  atomic<long>* handled;
};

// Fails at regular numbers of messages.
class fragile : public actor {
 public:
  explicit fragile(int lives) : left_(lives) {}
  void on(countdown m) {
    if (--left_ < 0) throw std::runtime_error("worn out");
    ++*m.handled;
  }
  int on(which_object) { return left_; }

 private:
  int left_;
};

TEST(restart_stress, under_load_each_message_is_handled_or_was_the_one_that_failed) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr int senders = 3;
  constexpr long each = sanitized ? 3'000 : 20'000;
  atomic<long> handled{0};
  recorder told;
  troupe::system system(told.options(2));
  const auto head = system.spawn<dynamic_supervisor<fragile>>(at_once);
  std::vector<ref<fragile>> those;
  std::minstd_rand random(seed);
  for (int i = 0; i < 4; ++i) {
    those.push_back(head.ask<start_child<fragile>>(patience, static_cast<int>(20 + random() % 200))
                        .get()
                        .value());
  }
  std::vector<std::thread> threads;
  for (int s = 0; s < senders; ++s) {
    threads.emplace_back([&, s] {
      std::minstd_rand mine(seed + static_cast<unsigned>(s) + 1);
      for (long i = 0; i < each; ++i) {
        const auto& to = those[mine() % those.size()];
        if (i % 64 == 0) {
          (void)to.ask<which_object>(patience).get();
        } else {
          (void)to.send(countdown{&handled});
        }
      }
    });
  }
  for (std::thread& each_of : threads) each_of.join();
  for (const auto& each_of : those) (void)each_of.ask<which_object>(patience).get();
  const long sent = senders * (each - (each + 63) / 64);
  EXPECT_EQ(handled + static_cast<long>(told.failures().size()), sent);
  EXPECT_EQ(system.statistics().restarts, told.failures().size());
  EXPECT_GT(told.failures().size(), 10u);
  head.stop();
  EXPECT_EQ(head.join(), exit_reason::stopped);
}

TEST(restart_stress, supervisors_end_while_children_fail_and_start) {
  for (int round = 0; round < (sanitized ? 20 : 100); ++round) {
    atomic<long> handled{0};
    recorder told;
    troupe::system system(told.options(2));
    const auto head = system.spawn<dynamic_supervisor<fragile>>(
        supervision{.max_restarts = round % 2 == 0 ? supervision::unlimited : 20,
                    .min_backoff = 0ms,
                    .max_backoff = 0ms});
    std::thread starting([&] {
      for (int i = 0; i < 50; ++i) {
        auto one = head.ask<start_child<fragile>>(patience, 3).get();
        if (!one.has_value()) return;
        for (int k = 0; k < 10; ++k) (void)one.value().send(countdown{&handled});
        if (i % 7 == 0) one.value().stop_now();
        if (i % 5 == 0) one.value().stop();
      }
    });
    if (round % 3 == 0) {
      head.stop();
    } else if (round % 3 == 1) {
      head.stop_now();
    }
    starting.join();
    ASSERT_TRUE(system.shutdown(patience).complete()) << "round " << round;
  }
}

struct turn_again {};

// Always has work.
class restless : public actor {
 public:
  explicit restless(atomic<int>& alive) : alive_(alive) { ++alive_; }
  ~restless() { --alive_; }
  void on_start() { self(this).send(turn_again{}); }
  void on(turn_again) { self(this).send(turn_again{}); }

 private:
  atomic<int>& alive_;
};

TEST(restart_stress, stop_now_terminates_an_incarnation_or_a_pending_restart_not_both) {
  constexpr std::size_t children = sanitized ? 200 : 2'000;
  atomic<int> alive{0};
  recorder told;
  troupe::system system(told.options(1));
  const auto head = system.spawn<dynamic_supervisor<restless>>(
      supervision{.max_restarts = supervision::unlimited, .min_backoff = 10h, .max_backoff = 10h});
  for (std::size_t i = 0; i < children; ++i) {
    const auto one = head.ask<start_child<restless>>(patience, std::ref(alive)).get().value();
    ASSERT_TRUE(eventually([&] { return alive == 1; }));
    one.stop_now();
    ASSERT_TRUE(eventually([&] { return alive == 0; }));
  }
  EXPECT_EQ(head.ask<count_children>(patience).get().value(), children);
  head.stop();
  EXPECT_EQ(head.join(), exit_reason::stopped);
}

TEST(restart_stress, groups_are_restarted_while_they_fail) {
  using strategy = restart_strategy;
  for (const strategy which : {strategy::one_for_all, strategy::rest_for_one}) {
    atomic<long> handled{0};
    recorder told;
    troupe::system system(told.options(2));
    supervision rules = at_once;
    rules.strategy = which;
    const auto head = system.spawn<supervisor>(rules, child<fragile>("a", 50),
                                               child<fragile>("b", 70), child<fragile>("c", 90));
    std::vector<ref<fragile>> those;
    for (const char* name : {"a", "b", "c"}) {
      those.push_back(head.ask<find_child<fragile>>(patience, name).get().value());
    }
    std::vector<std::thread> threads;
    for (const auto& to : those) {
      threads.emplace_back([&handled, &to] {
        for (int i = 0; i < (sanitized ? 1'000 : 5'000); ++i) (void)to.send(countdown{&handled});
      });
    }
    for (std::thread& each : threads) each.join();
    for (const auto& to : those) EXPECT_TRUE(to.ask<which_object>(patience).get().has_value());
    EXPECT_GT(system.statistics().restarts, 10u);
    head.stop();
    EXPECT_EQ(head.join(), exit_reason::stopped);
  }
}

}  // namespace
}  // namespace troupe::test
