// SPDX-License-Identifier: Apache-2.0
// Limits of bytes, of single message types, of groups and of a whole system; and the messages that
// they count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto A = delivery::accepted;
constexpr auto P = delivery::paused;
constexpr auto R = delivery::refused;

struct parcel {
  std::unique_ptr<char[]> content;
  std::size_t size = 0;
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return size; }
};
struct reading {
  int value;
};

// Takes all kinds.
class depot : public actor {
 public:
  using message_limits = troupe::message_limits<at_most<explode, 1>, at_most<reading, 3>>;
  void on(const std::string&) {}
  void on(const std::vector<int>&) {}
  void on(const parcel&) {}
  void on(item) {}
  void on(reading) {}
  void on(explode) { throw std::runtime_error("exploded"); }
};

template <class M>
int how_many_fit(const ref<depot>& into, M (*make)()) {
  int count = 0;
  while (into.send(make()) == A && count < 10'000) ++count;
  return count;
}

std::string text_of_1000() {
  std::string text;
  text.reserve(1'000);
  return text;
}
std::vector<int> vector_of_1000() {
  std::vector<int> all;
  all.reserve(250);
  return all;
}
parcel parcel_of_1000() { return {nullptr, 1'000}; }

TEST(overload_bytes, include_the_memory_that_messages_own) {
  pumped_crowd s;
  spawn_options options = s.here(no_limit, overflow::refuse);
  options.max_bytes = 100'000;
  const auto check = [&](auto make) {
    const auto full = s.system.spawn<depot>(options);
    const int fitted = how_many_fit(full, +make);
    EXPECT_GE(fitted, 45) << "the number may count for up to half of it";
    EXPECT_LE(fitted, 98) << "with their heads, they would exceed it";
    EXPECT_LE(s.system.statistics().message_bytes_waiting, 100'000u);
    s.play();
    EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
    EXPECT_EQ(how_many_fit(full, +make), fitted) << "it is empty again";
    s.play();
  };
  check(text_of_1000);
  check(vector_of_1000);
  check(parcel_of_1000);
}

TEST(overload_bytes, of_small_and_large_messages_are_never_exceeded) {
  pumped_crowd s;
  spawn_options options = s.here(1'000, overflow::refuse);
  options.max_bytes = 1'000'000;
  const auto full = s.system.spawn<depot>(options);
  for (std::size_t i = 0; i < 2'000; ++i) {
    full.send(parcel{nullptr, (i * 7919) % 20'000});
    ASSERT_LE(s.system.statistics().message_bytes_waiting, 1'000'000u);
    ASSERT_LE(s.system.statistics().messages_waiting, 1'001u) << "its start is one";
  }
  EXPECT_GE(s.system.statistics().message_bytes_waiting, 400'000u);
}

TEST(overload_bytes, a_message_that_is_larger_than_the_limit_is_refused) {
  pumped_crowd s;
  spawn_options options = s.here(10, overflow::refuse);
  options.max_bytes = 10'000;
  const auto full = s.system.spawn<depot>(options);
  EXPECT_EQ(full.send(parcel{nullptr, 20'000}), R);
  EXPECT_EQ(full.send(parcel{nullptr, 1'000}), A);
}

TEST(overload_bytes, no_limit_accepts_messages_of_any_number_and_size) {
  pumped_crowd s;
  spawn_options options = s.here(no_limit);
  options.max_bytes = no_limit;
  const auto full = s.system.spawn<depot>(options);
  for (int i = 0; i < 600'000; ++i) ASSERT_EQ(full.send(item{i}), A);
  EXPECT_EQ(full.send(parcel{nullptr, std::size_t{1} << 40}), A);
  EXPECT_EQ(s.full.counts(), overload_counts{});
}

// ── Single types ────────────────────────────────────────────────────────────────────────────────

TEST(overload_types, have_limits_of_their_own) {
  pumped_crowd s;
  const auto full = s.system.spawn<depot>(s.here(100, overflow::refuse));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(full.send(reading{i}), A);
    EXPECT_EQ(full.send(reading{3}), R);
    EXPECT_EQ(full.send(item{1}), A);
    s.play();
  }
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = 3}));
  EXPECT_EQ(s.full.lines()[0].message, type_name<reading>());
}

TEST(overload_types, follow_the_policy_of_the_mailbox) {
  event sent;
  journal log;
  pumped_crowd s;
  const auto drops = s.system.spawn<depot>(s.here(100, overflow::drop_newest));
  const auto spare = s.system.spawn<depot>(s.here(100, overflow::refuse));
  const auto redirects = s.system.spawn<depot>(s.here(100, overflow::redirect_to(spare)));
  const auto fails = s.system.spawn<depot>(s.here(100, overflow::fail_receiver));
  const auto pauses = s.system.spawn<depot>(s.here(100));
  const auto fourth = [](const ref<depot>& to) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(to.send(reading{i}), A);
    return to.send(reading{3});
  };
  EXPECT_EQ(fourth(drops), delivery::dropped);
  EXPECT_EQ(fourth(redirects), A);
  EXPECT_EQ(fourth(fails), R);
  EXPECT_EQ(fails.join(), exit_reason::failed);
  const auto sender = s.system.spawn<probe>(log);
  sender.send(call{[&](probe&) {
    EXPECT_NE(fourth(pauses), A);
    sent.set();
  }});
  sender.send(note{"goes on"});
  EXPECT_TRUE(sent.wait());
  s.play();
  EXPECT_TRUE(log.wait_for(1));
}

TEST(overload_types, are_free_again_after_messages_that_were_never_handled) {
  pumped_crowd s;
  const auto full = s.system.spawn<depot>(s.here(2, overflow::refuse));
  full.send(item{1});
  full.send(item{2});
  // Refused by the mailbox, though the type has room: the place must not stay taken.
  for (int i = 0; i < 10; ++i) EXPECT_EQ(full.send(reading{i}), R);
  s.play();
  EXPECT_EQ(full.send(reading{1}), A);
  EXPECT_EQ(full.send(reading{2}), A);
  s.play();
  EXPECT_EQ(full.send(reading{1}), A);
}

TEST(overload_types, hold_when_many_threads_send) {
  atomic<int> taken{0};
  pumped_crowd s;
  const auto full = s.system.spawn<depot>(s.here(1'000, overflow::refuse));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1'000; ++i) taken += full.send(reading{i}) == A ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(taken, 3);
}

// ── Values ──────────────────────────────────────────────────────────────────────────────────────

TEST(overload_options, that_are_invalid_throw_an_error_that_names_the_allowed_values) {
  pumped_crowd s;
  const auto text_of = [&](const spawn_options& options) -> std::string {
    try {
      s.system.spawn<depot>(options);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "no exception";
  };
  EXPECT_THAT(text_of(s.here(0)), AllOf(HasSubstr("0"), HasSubstr("131")));
  EXPECT_THAT(text_of(s.here(131'072)), AllOf(HasSubstr("131072"), HasSubstr("131071")));
  EXPECT_THAT(text_of(s.here(524'288, overflow::refuse)),
              AllOf(HasSubstr("524288"), HasSubstr("524287")));
  EXPECT_THAT(text_of(s.here(no_limit, overflow::drop_oldest)),
              AllOf(HasSubstr("drop_oldest"), HasSubstr("max_messages")));
  spawn_options none = s.here(10);
  none.max_bytes = 0;
  EXPECT_THAT(text_of(none), HasSubstr("max_bytes"));
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
}

TEST(overload_options, at_the_borders_are_fine) {
  pumped_crowd s;
  EXPECT_NO_THROW(s.system.spawn<depot>(s.here(131'071)));
  EXPECT_NO_THROW(s.system.spawn<depot>(s.here(524'287, overflow::refuse)));
  EXPECT_NO_THROW(s.system.spawn<depot>(s.here(1)));
}

TEST(overload_options, of_the_system_apply_to_actors_without_options_of_their_own) {
  overload_log full;
  recorder told;
  system_options options = told.options(1);
  options.max_messages = 5;
  options.max_bytes = 100'000;
  system s{full.listen(options)};
  pump p{s};
  const auto usual = s.spawn<depot>(spawn_options{.where = bound_to(p)});
  EXPECT_THAT(send_items(usual, 7), ElementsAre(A, A, A, A, A, P, P));
  const auto own = s.spawn<depot>(spawn_options{.where = bound_to(p), .max_messages = 7});
  EXPECT_THAT(send_items(own, 7), Each(A));
  p.run_until_idle();
  EXPECT_EQ(usual.send(parcel{nullptr, 10'000}), A);
  EXPECT_EQ(usual.send(parcel{nullptr, 200'000}), P);
  p.run_until_idle();
  EXPECT_EQ(usual.send(parcel{nullptr, 10'000}), A);
}

TEST(overload_options, of_the_system_that_are_impossible_are_invalid_arguments) {
  {  // what they leave for the next systems is not lost by one that cannot begin
    const system one({.workers = 1, .max_messages = 100});
    const system other({.workers = 1, .max_messages = 200});
  }
  EXPECT_THROW(system({.max_messages = 0}), std::invalid_argument);
  EXPECT_THROW(system({.max_messages = 600'000}), std::invalid_argument);
  EXPECT_NO_THROW(system({.workers = 1, .max_messages = no_limit, .max_bytes = no_limit}));
}

// ── Budgets ─────────────────────────────────────────────────────────────────────────────────────

TEST(overload_budget, is_shared_by_its_group) {
  pumped_crowd s;
  const budget group{10'000};
  spawn_options options = s.here(1'000, overflow::refuse);
  options.memory_budget = group;
  const auto a = s.system.spawn<depot>(options);
  const auto b = s.system.spawn<depot>(options);
  const auto other = s.system.spawn<depot>(s.here(1'000, overflow::refuse));
  EXPECT_EQ(group.limit(), 10'000u);
  EXPECT_EQ(a.send(parcel{nullptr, 6'000}), A);
  EXPECT_GE(group.used(), 6'000u);
  EXPECT_EQ(b.send(parcel{nullptr, 6'000}), R);
  EXPECT_EQ(b.send(parcel{nullptr, 3'000}), A);
  EXPECT_EQ(other.send(parcel{nullptr, 6'000}), A);
  EXPECT_LE(group.used(), 10'000u);
  s.play();
  EXPECT_EQ(group.used(), 0u);
  EXPECT_EQ(b.send(parcel{nullptr, 6'000}), A);
  EXPECT_EQ(s.full.counts(), (overload_counts{.refused = 1}));
}

TEST(overload_budget, is_given_back_however_an_actor_ends) {
  pumped_crowd s;
  const budget group{100'000};
  spawn_options options = s.here(100, overflow::refuse);
  options.memory_budget = group;
  const auto fill = [&](bool explodes) {
    auto one = s.system.spawn<depot>(options);
    if (explodes) {
      EXPECT_EQ(one.send(explode{}), A);
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(one.send(parcel{nullptr, 500}), A);
    return one;
  };
  const auto stopped = fill(false);
  stopped.stop();
  const auto stopped_now = fill(false);
  stopped_now.stop_now();
  const auto failed = fill(true);
  fill(false);  // unreachable
  EXPECT_GE(group.used(), 20'000u);
  s.play();
  EXPECT_EQ(failed.join(), exit_reason::failed);
  EXPECT_EQ(stopped_now.join(), exit_reason::stopped_now);
  EXPECT_EQ(group.used(), 0u);
  EXPECT_THAT(s.told.dead_letters(), SizeIs(20));
  EXPECT_EQ(stopped.send(parcel{nullptr, 500}), R);
  EXPECT_EQ(group.used(), 0u) << "nothing of what an ended actor refuses";
}

class budget_of : public ::testing::TestWithParam<overflow> {};

INSTANTIATE_TEST_SUITE_P(overload, budget_of,
                         ::testing::Values(overflow::backpressure, overflow::refuse,
                                           overflow::drop_newest, overflow::drop_oldest));

TEST_P(budget_of, a_group_is_never_exceeded_and_all_given_back) {
  pumped_crowd s;
  const budget group{20'000};
  {
    spawn_options options{.max_messages = 50, .on_full = GetParam()};
    options.memory_budget = group;
    std::vector<ref<depot>> all;
    for (int i = 0; i < 3; ++i) all.push_back(s.system.spawn<depot>(options));
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < 2'000; ++i) {
          all[i % 3].send(parcel{nullptr, i % 1'000});
          // Each thread may have one message in used() that is about to be refused.
          EXPECT_LE(group.used(), 20'000u + 3 * 1'100u);
        }
      });
    }
    threads.clear();
    all[0].stop_now();
  }
  EXPECT_TRUE(eventually([&] { return s.system.statistics().actors_alive == 0; }));
  EXPECT_TRUE(eventually([&] { return group.used() == 0; }));
  EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
}

TEST(overload_budget, may_outlive_the_system_and_be_outlived_by_the_caller) {
  journal log;
  auto group = std::make_unique<budget>(std::size_t{10'000});
  pumped_crowd s;
  spawn_options options = s.here(100, overflow::refuse);
  options.memory_budget = *group;
  const auto a = s.system.spawn<depot>(options);
  options.memory_budget.reset();
  group.reset();
  EXPECT_EQ(a.send(parcel{nullptr, 6'000}), A);
  EXPECT_EQ(a.send(parcel{nullptr, 6'000}), R);
}

TEST(overload_budget, of_the_system_refuses_and_does_not_pause) {
  overload_log full;
  recorder told;
  system_options options = told.options(1);
  options.memory_budget = 1'000'000;
  system s{full.listen(options)};
  pump p{s};
  std::vector<ref<depot>> all;
  for (int i = 0; i < 10; ++i) all.push_back(s.spawn<depot>(spawn_options{.where = bound_to(p)}));
  std::size_t taken = 0;
  // It is inexact by a 64th for each of two threads that give turns.
  std::thread([&] {
    for (std::size_t i = 0; i < 1'500; ++i) {
      taken += all[i % 10].send(parcel{nullptr, 1'000}) == A ? 1 : 0;
    }
  }).join();
  EXPECT_GE(taken, 900u);
  EXPECT_LE(taken, 1'050u);
  EXPECT_EQ(full.counts(), (overload_counts{.refused = 1'500 - taken}));
  EXPECT_EQ(s.statistics().messages_refused, 1'500 - taken);
  p.run_until_idle();
  EXPECT_EQ(s.statistics().message_bytes_waiting, 0u);
  EXPECT_TRUE(eventually([&] { return all[0].send(item{1}) == A; })) << "there is room again";
}

TEST(overload_budget, of_the_system_is_reported_as_exhausted_at_most_once_per_second) {
  std::vector<overload_event> events;
  recorder told;
  system_options options = told.options(1);
  options.memory_budget = 100'000;
  options.on_overload = [&](const overload_event& e) { events.push_back(e); };
  system s{options};
  pump p{s};
  const auto full = s.spawn<depot>(spawn_options{.name = "full", .where = bound_to(p)});
  std::size_t refused = 0;
  for (int i = 0; i < 300; ++i) refused += full.send(parcel{nullptr, 1'000}) == R ? 1 : 0;
  EXPECT_GT(refused, 100u);
  using kind = overload_event::kind;
  const auto is_exhausted = [](const overload_event& e) {
    return e.what == kind::budget_exhausted || e.what == kind::overdraft_exhausted;
  };
  const auto first = std::find_if(events.begin(), events.end(), is_exhausted);
  ASSERT_NE(first, events.end());
  EXPECT_EQ(first->what, kind::budget_exhausted);
  EXPECT_EQ(first->to, full.address());
  EXPECT_EQ(first->actor, "full");
  EXPECT_EQ(first->message, type_name<parcel>());
  // A second may pass meanwhile on a slow host; then there are two.
  const auto told_of = std::count_if(events.begin(), events.end(), is_exhausted);
  EXPECT_LE(told_of, 2);
  EXPECT_EQ(s.statistics().budget_exhausted, static_cast<std::uint64_t>(told_of));
  p.run_until_idle();
}

TEST(overload_budget, of_the_system_that_is_exhausted_is_written_to_stderr_without_a_hook) {
  recorder told;
  ::testing::internal::CaptureStderr();
  {
    system_options options = told.options(1);
    options.memory_budget = 100'000;
    system s{options};
    pump p{s};
    const auto full = s.spawn<depot>(spawn_options{.name = "full", .where = bound_to(p)});
    for (int i = 0; i < 300; ++i) (void)full.send(parcel{nullptr, 1'000});
    p.run_until_idle();
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("the memory budget of 100000 bytes is exhausted"),
                    HasSubstr("parcel"), HasSubstr("to actor full"), HasSubstr("memory_budget")));
}

// ── Who is overloaded ───────────────────────────────────────────────────────────────────────────

TEST(overloaded_actors, are_listed_with_their_names_and_counts) {
  std::vector<int> got;
  pumped_crowd s;
  EXPECT_THAT(s.system.overloaded_actors(), IsEmpty());
  spawn_options options = s.here(1, overflow::refuse);
  options.name = "small";
  const auto refuses = s.system.spawn<sink>(options, got);
  const auto drops = s.system.spawn<sink>(s.here(1, overflow::drop_oldest), got);
  const auto fine = s.system.spawn<sink>(s.here(100, overflow::refuse), got);
  for (const auto& each : {refuses, drops, fine}) send_items(each, 3);
  auto all = s.system.overloaded_actors();
  ASSERT_THAT(all, SizeIs(2));
  if (all[0].who != refuses.address()) std::swap(all[0], all[1]);
  EXPECT_EQ(all[0].who, refuses.address());
  EXPECT_EQ(all[0].name, "small");
  EXPECT_EQ(all[0].counts, (overload_counts{.refused = 2}));
  EXPECT_EQ(all[1].who, drops.address());
  EXPECT_EQ(all[1].name, type_name<sink>());
  EXPECT_EQ(all[1].counts, (overload_counts{.dropped = 2}));
  refuses.stop();
  s.play();
  EXPECT_THAT(s.system.overloaded_actors(), SizeIs(1)) << "the ended ones are left out";
}

TEST(overloaded_actors, have_clean_counts_in_a_slot_that_is_used_again) {
  std::vector<int> got;
  pumped_crowd s;
  for (int i = 0; i < 10; ++i) {
    auto one = s.system.spawn<sink>(s.here(1, overflow::refuse), got);
    send_items(one, 3);
    EXPECT_THAT(s.system.overloaded_actors(), SizeIs(1));
    EXPECT_EQ(s.system.overloaded_actors()[0].counts, (overload_counts{.refused = 2}));
    one = {};
    s.play();
  }
  EXPECT_THAT(s.system.overloaded_actors(), IsEmpty());
}

}  // namespace
}  // namespace troupe::test
