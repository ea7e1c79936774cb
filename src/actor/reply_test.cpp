// SPDX-License-Identifier: Apache-2.0
// The requester's result when a reply is destroyed: by an exception, by its owner's termination, or
// deliberately.
#include <troupe/actor/reply.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "ask_test_support.hpp"

namespace troupe::test {
namespace {

struct throws {};
struct drops {};
struct drops_while_another_throws {};
struct waits {};
struct never {};
struct keeps {};
struct fails {};

/// Holds replies in every possible way, and never uses them.
class debtor : public actor {
 public:
  void on(throws, reply<int>) { throw std::runtime_error("broken"); }
  void on(drops, reply<int>) {}
  void on(drops_while_another_throws, reply<int> owed) {
    try {
      const reply<int> within = std::move(owed);
      throw std::runtime_error("caught");
    } catch (const std::runtime_error&) {
    }
  }
  void on(waits, reply<int> owed) {
    self(this).ask<never>(no_timeout).then([mine = std::move(owed)](const auto&) {});
  }
  void on(never, reply<int> owed) { kept_ = std::move(owed); }
  void on(keeps, reply<int> owed) { kept_ = std::move(owed); }
  void on(fails) { throw std::runtime_error("broken"); }

 private:
  std::optional<reply<int>> kept_;
};

class let_go_of : public testing::Test {
 protected:
  troupe::system system_;
  const ref<debtor> it_ = system_.spawn<debtor>();
};

TEST_F(let_go_of, by_an_exception_out_of_the_handler_is_failed) {
  EXPECT_EQ(it_.ask<throws>(patience).get().error(), ask_error::failed);
}

TEST_F(let_go_of, by_an_exception_within_the_handler_is_failed) {
  EXPECT_EQ(it_.ask<drops_while_another_throws>(patience).get().error(), ask_error::failed);
  EXPECT_EQ(it_.ask<drops>(patience).get().error(), ask_error::unanswered) << "it lives on";
}

TEST_F(let_go_of, by_the_handler_is_unanswered) {
  EXPECT_EQ(it_.ask<drops>(patience).get().error(), ask_error::unanswered);
}

TEST_F(let_go_of, by_the_end_of_an_actor_in_whose_callback_it_is_is_how_it_ended) {
  for (const bool by_failure : {false, true}) {
    const auto it = system_.spawn<debtor>();
    auto asked = it.ask<waits>(patience);
    by_failure ? static_cast<void>(it.send(fails{})) : it.stop();
    EXPECT_EQ(asked.get().error(), by_failure ? ask_error::failed : ask_error::stopped);
  }
}

TEST_F(let_go_of, by_the_end_of_an_actor_that_keeps_it_is_how_it_ended) {
  for (const bool by_failure : {false, true}) {
    const auto it = system_.spawn<debtor>();
    auto asked = it.ask<keeps>(patience);
    by_failure ? static_cast<void>(it.send(fails{})) : it.stop();
    EXPECT_EQ(asked.get().error(), by_failure ? ask_error::failed : ask_error::stopped);
  }
}

TEST_F(let_go_of, by_a_second_one_that_is_kept_is_unanswered) {
  auto first = it_.ask<keeps>(patience);
  auto second = it_.ask<keeps>(patience);
  EXPECT_EQ(first.get().error(), ask_error::unanswered);
  it_.stop();
  EXPECT_EQ(second.get().error(), ask_error::stopped);
}

TEST_F(let_go_of, outside_of_all_handlers_is_unanswered) {
  class giver : public actor {
   public:
    explicit giver(std::optional<reply<int>>& to) : to_(to) {}
    void on(keeps, reply<int> owed) { to_ = std::move(owed); }

   private:
    std::optional<reply<int>>& to_;
  };
  std::optional<reply<int>> owed;
  auto it = system_.spawn<giver>(owed);
  auto asked = it.ask<keeps>(patience);
  it.stop();
  EXPECT_EQ(it.join(), exit_reason::stopped);
  EXPECT_FALSE(asked.wait_for(0s)) << "somebody else owes it now";
  owed.reset();
  EXPECT_EQ(asked.get().error(), ask_error::unanswered);
}

/// Sends a message when it terminates.
class leaves_word : public actor {
 public:
  leaves_word(ref<debtor> to, ref<debtor> heir) : to_(std::move(to)), heir_(std::move(heir)) {}
  ~leaves_word() {
    to_.send(drops{});
    if (kept_) heir_.pass_on<keeps>(std::move(*kept_));
  }
  void on(keeps, reply<int> owed) { kept_ = std::move(owed); }

 private:
  const ref<debtor> to_;
  const ref<debtor> heir_;
  std::optional<reply<int>> kept_;
};

// The terminating actor is not the one whose mailbox is full.
TEST(ask, a_request_dropped_during_the_termination_of_another_actor_is_refused) {
  stage on;
  const auto drops_oldest =
      on.spawn<debtor>(spawn_options{.max_messages = 1, .on_full = overflow::drop_oldest});
  const auto full = on.spawn<debtor>(spawn_options{.max_messages = 1, .on_full = overflow::refuse});
  troupe::system other;
  const auto it = other.spawn<leaves_word>(drops_oldest, full);
  auto passed_on = it.ask<keeps>(patience);
  auto dropped = drops_oldest.ask<waits>(patience);
  while (full.send(drops{}) == delivery::accepted) {
  }
  it.stop();
  EXPECT_EQ(it.join(), exit_reason::stopped);
  EXPECT_EQ(dropped.get().error(), ask_error::refused);
  EXPECT_EQ(passed_on.get().error(), ask_error::refused);
}

TEST(reply, dropped_in_a_turn_that_runs_during_unwinding_is_unanswered) {
  stage on;
  const auto it = on.spawn<debtor>();
  auto asked = it.ask<drops>(patience);
  struct pumps {
    stage& on;
    ~pumps() { on.play(); }
  };
  try {
    const pumps while_it_unwinds{on};
    throw std::runtime_error("below");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(asked.get().error(), ask_error::unanswered);
}

TEST(reply, set_value_returns_whether_a_reply_was_owed_not_whether_it_is_awaited) {
  troupe::system system;
  class giver : public actor {
   public:
    explicit giver(bool& fulfilled) : fulfilled_(fulfilled) {}
    void on(keeps, reply<int> owed) {
      fulfilled_ = owed.set_value(1);
      EXPECT_FALSE(owed.set_value(2)) << "it is empty";
      EXPECT_FALSE(owed.fail());
    }

   private:
    bool& fulfilled_;
  };
  stage on;
  bool fulfilled = false;
  const auto it = on.spawn<giver>(fulfilled);
  { const auto nobody_waits = it.ask<keeps>(patience); }
  on.play();
  EXPECT_TRUE(fulfilled);
}

}  // namespace
}  // namespace troupe::test
