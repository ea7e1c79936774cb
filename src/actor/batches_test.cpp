// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/actor/observer.hpp>
#include <troupe/actor/trace.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "overload_test_support.hpp"
#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

struct reading {
  int value;
};
struct other {
  int value;
};
struct urgent_one {
  static constexpr auto priority = troupe::priority::high;
  int value;
};

std::string joined(char kind, std::span<const reading> batch) {
  std::string text(1, kind);
  for (const reading& each : batch) text += ' ' + std::to_string(each.value);
  return text;
}

/// Writes a line for each call.
class gauge : public actor {
 public:
  explicit gauge(journal& log) : log_(log) {}
  void on(std::span<reading> batch) { log_.write(joined('b', batch)); }
  void on(other m) { log_.write("other " + std::to_string(m.value)); }
  void on(urgent_one m) { log_.write("high " + std::to_string(m.value)); }

 private:
  journal& log_;
};

TEST(batch, consecutive_messages_of_one_type_are_passed_together_in_order) {
  journal log;
  stage s;
  const auto to = s.spawn<gauge>(log);
  s.play();
  for (int i = 1; i <= 3; ++i) to.send(reading{i});
  to.send(other{4});
  to.send(reading{5});
  to.send(other{6});
  for (int i = 7; i <= 8; ++i) to.send(reading{i});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("b 1 2 3", "other 4", "b 5", "other 6", "b 7 8"));
}

class three : public gauge {
 public:
  static constexpr std::size_t batch_max = 3;
  using gauge::gauge;
  using gauge::on;
};

TEST(batch, has_no_more_messages_than_its_actor_allows) {
  journal log;
  stage s;
  const auto to = s.spawn<three>(log);
  s.play();
  for (int i = 1; i <= 7; ++i) to.send(reading{i});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("b 1 2 3", "b 4 5 6", "b 7"));
}

TEST(batch, leaves_single_messages_to_the_handler_for_one_message) {
  class both : public actor {
   public:
    explicit both(journal& log) : log_(log) {}
    int on(reading m) {
      log_.write(joined('s', {&m, 1}));
      return m.value;
    }
    void on(std::span<const reading> batch) { log_.write(joined('b', batch)); }

   private:
    journal& log_;
  };
  journal log;
  stage s;
  const auto to = s.spawn<both>(log);
  s.play();
  to.send(reading{1});
  s.play();
  to.send(reading{2});
  to.send(reading{3});
  auto question = to.ask<reading>(no_timeout, 4);
  to.send(reading{5});
  s.play();
  EXPECT_EQ(*question.get(), 4);
  EXPECT_THAT(log.lines(), ElementsAre("s 1", "b 2 3", "s 4", "s 5"));
}

TEST(batch, the_handler_may_move_out_of_its_elements) {
  struct parcel {
    std::unique_ptr<int> content;
    std::array<std::byte, 200> filling{};  // more than fits on the stack
  };
  class shelf : public actor {
   public:
    explicit shelf(std::vector<std::unique_ptr<int>>& all) : all_(all) {}
    void on(std::span<parcel> batch) {
      for (parcel& each : batch) all_.push_back(std::move(each.content));
    }

   private:
    std::vector<std::unique_ptr<int>>& all_;
  };
  std::vector<std::unique_ptr<int>> all;
  stage s;
  const auto to = s.spawn<shelf>(all);
  s.play();
  for (int i = 0; i < 100; ++i) to.send(parcel{std::make_unique<int>(i)});
  s.play();
  ASSERT_EQ(all.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*all[static_cast<std::size_t>(i)], i);
}

TEST(batch, each_message_counts_as_one) {
  journal log;
  pumped_crowd c;
  const auto to = c.system.spawn<gauge>(c.here(10, overflow::refuse), log);
  c.play();
  const auto handled = c.system.statistics().messages_handled;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(to.send(reading{i}), delivery::accepted);
    EXPECT_EQ(to.send(reading{11}), delivery::refused);
    c.play();
    EXPECT_EQ(log.lines().size(), static_cast<std::size_t>(round));
    EXPECT_EQ(c.system.statistics().messages_waiting, 0u);
    EXPECT_EQ(c.system.statistics().message_bytes_waiting, 0u);
  }
  EXPECT_EQ(c.system.statistics().messages_handled - handled, 30u);
}

class limited : public gauge {
 public:
  using message_limits = troupe::message_limits<at_most<reading, 5>>;
  using gauge::gauge;
  using gauge::on;
};

TEST(batch, makes_room_for_as_many_as_it_had) {
  journal log;
  pumped_crowd c;
  const auto to = c.system.spawn<gauge>(c.here(10, overflow::refuse), log);
  c.play();
  for (int i = 0; i < 6; ++i) to.send(reading{i});
  to.send(other{6});
  EXPECT_EQ(c.pump.drain_at_most(1), 6u);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(to.send(other{i}), delivery::accepted);
  EXPECT_EQ(to.send(other{9}), delivery::refused);
  c.play();
}

TEST(batch, counts_in_the_limit_of_its_type_and_in_a_budget) {
  journal log;
  pumped_crowd c;
  spawn_options options = c.here(100, overflow::refuse);
  const budget bytes{10'000};
  options.memory_budget = bytes;
  const auto to = c.system.spawn<limited>(options, log);
  c.play();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(to.send(reading{i}), delivery::accepted);
    EXPECT_EQ(to.send(reading{6}), delivery::refused);
    EXPECT_GT(bytes.used(), 0u);
    c.play();
    EXPECT_EQ(bytes.used(), 0u);
  }
  EXPECT_THAT(log.lines(), ElementsAre("b 0 1 2 3 4", "b 0 1 2 3 4", "b 0 1 2 3 4"));
}

TEST(batch, of_a_drop_oldest_mailbox_has_the_remaining_messages) {
  journal log;
  pumped_crowd c;
  const auto to = c.system.spawn<gauge>(c.here(4, overflow::drop_oldest), log);
  c.play();
  for (int i = 1; i <= 6; ++i) to.send(reading{i});
  c.play();
  to.send(reading{7});
  to.send(other{8});
  to.send(reading{9});
  c.play();
  EXPECT_THAT(log.lines(), ElementsAre("b 3 4 5 6", "b 7", "other 8", "b 9"));
  EXPECT_EQ(c.system.statistics().messages_waiting, 0u);
  EXPECT_EQ(c.system.statistics().message_bytes_waiting, 0u);
}

TEST(batch, messages_that_high_ones_overtake_are_neighbours) {
  journal log;
  stage s;
  const auto to = s.spawn<gauge>(log);
  s.play();
  to.send(reading{1});
  to.send(urgent_one{2});
  to.send(reading{3});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("high 2", "b 1 3"));
}

TEST(batch, an_exception_fails_the_actor_and_destroys_the_batch) {
  using alive = counted<class batch_that_fails>;
  struct fragile {
    alive count;
    int value;
  };
  class falls : public actor {
   public:
    void on(std::span<fragile> batch) {
      if (batch.size() > 1) throw std::runtime_error("dropped " + std::to_string(batch.size()));
    }
    void on(other) {}
  };
  stage s;
  const auto to = s.spawn<falls>();
  s.play();
  for (int i = 0; i < 3; ++i) to.send(fragile{{}, i});
  to.send(other{1});
  s.play();
  EXPECT_EQ(to.join(), exit_reason::failed);
  EXPECT_EQ(alive::alive(), 0);
  ASSERT_EQ(s.told.failures().size(), 1u);
  EXPECT_EQ(s.told.failures()[0].what, "dropped 3");
  EXPECT_EQ(s.told.dead_letters().size(), 1u) << "only what was not being handled";
  EXPECT_EQ(s.system.statistics().messages_waiting, 0u);
}

TEST(batch, a_suspended_sender_resumes_when_the_batch_has_freed_space) {
  constexpr int all = 2'000;
  class adds : public actor {
   public:
    explicit adds(event& done) : done_(done) {}
    void on(std::span<reading> batch) {
      for (const reading& each : batch) ASSERT_EQ(each.value, next_++);
      if (next_ == all) done_.set();
    }

   private:
    event& done_;
    int next_ = 0;
  };
  event done;
  crowd c;
  const auto to = c.system.spawn<adds>(spawn_options{.max_messages = 8}, done);
  std::thread sender([to] {
    for (int i = 0; i < all; ++i) to.send(reading{i});
  });
  EXPECT_TRUE(done.wait());
  sender.join();
}

TEST(batch, the_message_of_a_timer_is_passed_alone) {
  journal log;
  stage s;
  const auto to = s.spawn<gauge>(log);
  s.play();
  to.send_after(1ms, reading{1});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().messages_waiting == 1; }));
  for (int i = 2; i <= 3; ++i) to.send(reading{i});  // after it
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("b 1", "b 2 3"));
}

// Also where messages are observed.
TEST(batch, of_a_mailbox_that_drops_the_oldest_are_neighbours_all_the_same) {
  for (const bool observed : {false, true}) {
    journal log;
    system_options options{.workers = 1};
    if (observed) options.observer = std::make_shared<observer>();
    troupe::system system(std::move(options));
    pump here(system);
    const auto to = system.spawn<gauge>(
        {.where = bound_to(here), .max_messages = 4, .on_full = overflow::drop_oldest}, log);
    here.run_until_idle();
    for (int i = 1; i <= 6; ++i) to.send(reading{i});
    here.run_until_idle();
    EXPECT_THAT(log.lines(), ElementsAre("b 3 4 5 6")) << "observed: " << observed;
  }
}

TEST(batch, a_traced_message_is_passed_alone) {
  journal log;
  troupe::system system({.workers = 1, .traces = true});
  pump here(system);
  const auto to = system.spawn<gauge>({.where = bound_to(here)}, log);
  here.run_until_idle();
  const auto traced = [&](int value) {
    const trace_scope scope(42);
    to.send(reading{value});
  };
  to.send(reading{1});
  to.send(reading{2});
  traced(3);
  to.send(reading{4});
  to.send(reading{5});
  here.run_until_idle();
  EXPECT_THAT(log.lines(), ElementsAre("b 1 2", "b 3", "b 4 5"));
}

// The mailbox does not count the messages of a ring, whose account is looked at when the actor
// ends.
TEST(batch, out_of_a_mailbox_that_drops_the_oldest_takes_no_units_off) {
  class ends_in_batch : public actor {
   public:
    void on(std::span<const reading>) { self(this).stop_now(); }
  };
  pumped_crowd c;
  const auto to = c.system.spawn<ends_in_batch>(c.here(1'000, overflow::drop_oldest));
  c.play();
  for (int i = 0; i < 8; ++i) to.send(reading{i});
  c.play();
  EXPECT_EQ(to.join(), exit_reason::stopped_now);
}

}  // namespace
}  // namespace troupe::test
