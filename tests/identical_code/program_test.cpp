// SPDX-License-Identifier: Apache-2.0
// Linked with --icf=all: functions with the same code have the same address. The classes and
// messages here come in pairs that compile to the same code, and must stay different.
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/trace.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>

namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr auto patience = 30s;

struct left {
  int value;
};
struct right {
  int value;
};

/// Counts both messages in one member, so that their handlers, and all that is made of them, are
/// the same code.
class left_counter : public troupe::actor {
 public:
  using messages = troupe::messages<left, right>;
  void on(left m) { sum_ += m.value; }
  void on(right m) { sum_ += m.value; }

 private:
  int sum_ = 0;
};
class right_counter : public troupe::actor {
 public:
  using messages = troupe::messages<left, right>;
  void on(left m) { sum_ += m.value; }
  void on(right m) { sum_ += m.value; }

 private:
  int sum_ = 0;
};

// The optimiser would decide at compile time that these are different.
std::uintptr_t address_of(void (*function)(void*, troupe::detail::envelope&)) {
  const volatile auto address = reinterpret_cast<std::uintptr_t>(function);
  return address;
}

TEST(identical_code, is_merged_by_the_linker) {
  using troupe::detail::dispatch_of;
  const auto one = address_of(dispatch_of<left_counter, left>.run);
  EXPECT_EQ(one, address_of(dispatch_of<left_counter, right>.run));
  EXPECT_EQ(one, address_of(dispatch_of<right_counter, left>.run));
}

TEST(identical_code, of_two_classes_leaves_names_to_their_own_class) {
  troupe::system system({.workers = 1});
  troupe::registry all(system);
  const auto one = system.spawn<left_counter>();
  const auto other = system.spawn<right_counter>();
  (void)all.add("left", one);
  (void)all.add("right", other);
  EXPECT_TRUE(all.find<left_counter>("left"));
  EXPECT_FALSE(all.find<right_counter>("left"));
  EXPECT_FALSE(all.find<left_counter>("right"));
  EXPECT_TRUE(all.find<right_counter>("right"));
}

/// Records what comes, under two names.
class recorder : public troupe::actor {
 public:
  explicit recorder(std::vector<std::string>& to) : to_(to) {}
  void on(left m) { to_.push_back("left " + std::to_string(m.value)); }
  void on(right m) { to_.push_back("right " + std::to_string(m.value)); }

 private:
  std::vector<std::string>& to_;
};

struct stage {
  troupe::system system{{.workers = 1}};
  troupe::pump pump{system};
  std::vector<std::string> log;
  [[nodiscard]] troupe::spawn_options here() { return {.where = troupe::bound_to(pump)}; }
};

TEST(identical_code, of_two_messages_leaves_topics_to_their_own_message) {
  stage on;
  const auto it = on.system.spawn<recorder>(on.here(), on.log);
  const troupe::topic<left> lefts(on.system, "left");
  const troupe::topic<right> rights(on.system, "right");
  (void)lefts.subscribe(it);
  (void)rights.subscribe(it);
  (void)rights.publish(right{1});
  (void)lefts.publish(left{2});
  on.pump.run_until_idle();
  EXPECT_THAT(on.log, ElementsAre("right 1", "left 2"));
}

TEST(identical_code, of_two_messages_does_not_mislead_a_function_that_waits_for_one) {
  stage on;
  const auto it = on.system.spawn<left, right>(
      on.here(), [&log = on.log](troupe::context& self) -> troupe::task<> {
        const right first = co_await self.receive<right>();
        log.push_back("right " + std::to_string(first.value));
        const left second = co_await self.receive<left>();
        log.push_back("left " + std::to_string(second.value));
        const auto third = co_await self.receive<left, right>();
        log.push_back(std::holds_alternative<left>(third) ? "left" : "right");
      });
  it.send(left{1});
  it.send(right{2});
  it.send(right{3});
  on.pump.run_until_idle();
  EXPECT_THAT(on.log, ElementsAre("right 2", "left 1", "right"));
}

/// Takes batches of both.
class batch_recorder : public troupe::actor {
 public:
  explicit batch_recorder(std::vector<std::string>& to) : to_(to) {}
  void on(std::span<left> those) { to_.push_back("left " + std::to_string(those.size())); }
  void on(std::span<right> those) { to_.push_back("right " + std::to_string(those.size())); }

 private:
  std::vector<std::string>& to_;
};

TEST(identical_code, of_two_messages_does_not_mix_their_batches) {
  stage on;
  const auto it = on.system.spawn<batch_recorder>(on.here(), on.log);
  for (int i = 0; i < 3; ++i) it.send(left{i});
  for (int i = 0; i < 2; ++i) it.send(right{i});
  it.send(left{3});
  on.pump.run_until_idle();
  EXPECT_THAT(on.log, ElementsAre("left 3", "right 2", "left 1"));
}

/// Takes both, and at most one of each at a time.
class small_recorder : public recorder {
 public:
  using message_limits =
      troupe::message_limits<troupe::at_most<left, 1>, troupe::at_most<right, 2>>;
  static constexpr auto on_full = troupe::overflow_policy::refuse;
  using recorder::on;
  using recorder::recorder;
};

TEST(identical_code, of_two_messages_has_two_limits) {
  stage on;
  const auto it = on.system.spawn<small_recorder>(on.here(), on.log);
  EXPECT_EQ(it.send(left{1}), troupe::delivery::accepted);
  EXPECT_EQ(it.send(left{2}), troupe::delivery::refused);
  EXPECT_EQ(it.send(right{3}), troupe::delivery::accepted);
  EXPECT_EQ(it.send(right{4}), troupe::delivery::accepted);
  EXPECT_EQ(it.send(right{5}), troupe::delivery::refused);
  on.pump.run_until_idle();
  EXPECT_THAT(on.log, ElementsAre("left 1", "right 3", "right 4"));
}

TEST(identical_code, of_two_classes_redirects_each_message_to_its_own_handler) {
  stage on;
  const auto relief = on.system.spawn<recorder>(on.here(), on.log);
  auto options = on.here();
  options.max_messages = 1;
  options.on_full = troupe::overflow::redirect_to<left_counter>(relief);
  const auto full = on.system.spawn<left_counter>(options);
  for (int i = 1; i < 3; ++i) {
    (void)full.send(left{i});
    (void)full.send(right{i});
  }
  on.pump.run_until_idle();
  EXPECT_THAT(on.log, ElementsAre("right 1", "left 2", "right 2"));
}

TEST(identical_code, of_two_messages_is_reported_under_the_name_of_each) {
  std::vector<std::string> dead;
  troupe::system system({.workers = 1, .on_dead_letter = [&dead](const troupe::dead_letter& m) {
                           dead.emplace_back(m.message);
                         }});
  const auto it = system.spawn<left_counter>();
  it.stop();
  (void)it.join();
  (void)it.send(right{1});
  (void)it.send(left{1});
  ASSERT_EQ(dead.size(), 2u);
  EXPECT_NE(dead[0].find("right"), std::string::npos) << dead[0];
  EXPECT_NE(dead[1].find("left"), std::string::npos) << dead[1];
}

/// With an observer every message is marked, by a record that is found by that of the message.
TEST(identical_code, of_two_messages_is_observed_under_the_name_of_each) {
  struct listener : troupe::observer {
    void sent(const message_event& e) override { names.emplace_back(e.message); }
    std::vector<std::string> names;
  };
  const auto seen = std::make_shared<listener>();
  {
    troupe::system system({.workers = 1, .observer = seen, .traces = true});
    troupe::pump pump(system);
    const auto it =
        system.spawn<left_counter>(troupe::spawn_options{.where = troupe::bound_to(pump)});
    it.send(left{1});
    const troupe::trace_scope scope(troupe::new_trace());
    it.send(right{1});
    pump.run_until_idle();
  }
  ASSERT_EQ(seen->names.size(), 2u);
  EXPECT_NE(seen->names[0].find("left"), std::string::npos) << seen->names[0];
  EXPECT_NE(seen->names[1].find("right"), std::string::npos) << seen->names[1];
}

struct left_question {
  int value;
};
struct right_question {
  int value;
};
/// Its replies are the same code; the result says which handler made it.
class clerk : public troupe::actor {
 public:
  int on(left_question q) { return q.value + 1; }
  int on(right_question q) { return q.value + 2; }
};

TEST(identical_code, of_two_request_types_gives_each_its_own_reply) {
  troupe::system system({.workers = 1});
  const auto it = system.spawn<clerk>();
  EXPECT_EQ(it.ask<left_question>(patience, 1).get().value(), 2);
  EXPECT_EQ(it.ask<right_question>(patience, 1).get().value(), 3);
}

}  // namespace
