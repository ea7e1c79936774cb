// SPDX-License-Identifier: Apache-2.0
// Handlers that wait for channels, and whose actor terminates: nothing is lost, and no waiter is
// left.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <troupe/detail/base/thread_host.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/ask_test_support.hpp"
#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using enum channel_delivery;

/// Any number of actors on a stage, each of whose handlers waits once.
struct waiting_room {
  ref<asker_actor> one_who(std::function<task<>(asker_actor&)> what) {
    auto who = on.spawn<asker_actor>(log);
    who.send(work{std::move(what)});
    on.play();
    return who;
  }
  ref<asker_actor> one_who_takes(channel<int> in) {
    return one_who([in](asker_actor& me) -> task<> {
      const auto got = co_await in.next();
      me.log.write(got ? std::to_string(*got) : "closed");
    });
  }
  void end(const ref<asker_actor>& who) {
    who.stop_now();
    on.play();
  }

  journal log;
  stage on;
};

using lines = std::vector<std::string>;

TEST(channel_handler_end, removes_a_waiting_receiver_from_the_queue) {
  waiting_room r;
  const channel<int> in(1);
  const auto who = r.one_who_takes(in);
  r.end(who);
  EXPECT_EQ(in.waiting(), 0u);
  in.send(1);
  EXPECT_EQ(in.size(), 1u);
}

TEST(channel_handler_end, removes_a_waiting_sender_from_the_queue_and_sends_nothing) {
  struct tag {};
  waiting_room r;
  const channel<counted<tag>> out(0);
  const auto who =
      r.one_who([out](asker_actor&) -> task<> { (void)co_await out.async_send(counted<tag>{}); });
  EXPECT_NE(counted<tag>::alive(), 0);
  r.end(who);
  EXPECT_EQ(counted<tag>::alive(), 0);
  EXPECT_FALSE(out.try_receive());
}

TEST(channel_handler_end, removes_a_waiting_select_from_all_queues) {
  waiting_room r;
  const channel<int> a(1);
  const channel<int> b(0);
  const auto who = r.one_who([a, b](asker_actor&) -> task<> {
    co_await select_when_ready(patience, from(a, [](int) {}), into(b, 1));
  });
  EXPECT_EQ(a.waiting() + b.waiting(), 2u);
  r.end(who);
  EXPECT_EQ(a.waiting() + b.waiting(), 0u);
}

TEST(channel_handler_end, values_that_were_given_are_put_back_in_their_order) {
  waiting_room r;
  const channel<int> in(4);
  const auto who = r.one_who_takes(in);
  for (int i = 0; i < 2; ++i) {
    who.send(work{[in](asker_actor&) -> task<> { (void)co_await in.next(); }});
  }
  r.on.play();
  for (int i = 1; i <= 4; ++i) in.send(int{i});
  EXPECT_EQ(in.size(), 1u) << "three were handed over";
  r.end(who);
  EXPECT_EQ(in.size(), 4u);
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(*in.try_receive(), i);
}

TEST(channel_handler_end, returns_a_value_even_to_a_full_channel) {
  waiting_room r;
  const channel<int> hand(0);
  const channel<int> full(1);
  const auto who = r.one_who_takes(hand);
  const auto other = r.one_who_takes(full);
  hand.send(1);
  full.send(2);
  full.send(3);
  other.stop_now();
  r.end(who);
  EXPECT_EQ(hand.size(), 1u);
  EXPECT_EQ(full.size(), 2u) << "one more than it has room for";
  EXPECT_EQ(full.try_send(4), refused);
  EXPECT_EQ(*hand.receive(), 1);
  EXPECT_EQ(*full.receive(), 2);
  EXPECT_EQ(full.try_send(4), refused) << "it is full again";
  EXPECT_EQ(*full.receive(), 3);
  EXPECT_EQ(full.try_send(4), accepted);
}

TEST(channel_handler_end, a_waiting_sender_proceeds_once_returned_values_are_received) {
  waiting_room r;
  const channel<int> in(1);
  const auto who = r.one_who_takes(in);
  in.send(1);
  in.send(2);
  const auto sender = r.on.spawn<asker_actor>(r.log);
  sender.send(work{[in](asker_actor& me) -> task<> {
    if (co_await in.async_send(3)) me.log.write("sent");
  }});
  r.end(who);
  EXPECT_EQ(in.waiting(), 1u);
  for (int i = 1; i <= 2; ++i) EXPECT_EQ(*in.receive(), i);
  r.on.play();
  EXPECT_EQ(r.log.lines(), (lines{"destroyed", "sent"}));
  EXPECT_EQ(*in.receive(), 3);
}

TEST(channel_handler_end, a_returned_value_goes_to_the_next_waiting_receiver) {
  waiting_room r;
  const channel<int> in(1);
  const auto first = r.one_who_takes(in);
  const auto second = r.one_who_takes(in);
  in.send(1);
  r.end(first);
  EXPECT_EQ(r.log.lines(), (lines{"destroyed", "1"}));
  EXPECT_EQ(in.size(), 0u);
}

TEST(channel_handler_end, a_full_drop_oldest_channel_drops_the_returned_value) {
  waiting_room r;
  const channel<int> in(1, overflow::drop_oldest);
  const auto who = r.one_who_takes(in);
  in.send(1);
  in.send(2);
  r.end(who);
  EXPECT_EQ(in.counts().dropped, 1u);
  EXPECT_EQ(*in.receive(), 2);
}

TEST(channel_handler_end, a_drop_oldest_channel_drops_a_returned_value_first) {
  waiting_room r;
  const channel<int> in(1, overflow::drop_oldest);
  const auto who = r.one_who_takes(in);
  in.send(1);
  r.end(who);
  in.send(2);
  EXPECT_EQ(in.counts().dropped, 1u);
  EXPECT_EQ(in.size(), 1u);
  EXPECT_EQ(*in.receive(), 2);
}

TEST(channel_handler_end, a_value_returned_to_a_closed_channel_can_be_received) {
  waiting_room r;
  const channel<int> in(1);
  const auto who = r.one_who_takes(in);
  in.send(1);
  in.close();
  r.end(who);
  EXPECT_EQ(*in.try_receive(), 1);
  EXPECT_TRUE(in.try_receive().is_closed());
}

TEST(channel_handler_end, destroys_a_value_that_only_the_terminated_handler_could_receive) {
  struct tag {};
  waiting_room r;
  {
    auto [out, in] = channel<counted<tag>>(1).ends();
    const auto who =
        r.one_who([from = std::move(in)](asker_actor&) -> task<> { (void)co_await from.next(); });
    EXPECT_EQ(out.send(counted<tag>{}), accepted);
    EXPECT_EQ(counted<tag>::alive(), 1);
    r.end(who);
    EXPECT_EQ(out.try_send(counted<tag>{}), closed);
  }
  EXPECT_EQ(counted<tag>::alive(), 0);
}

TEST(channel_handler_end, a_returned_value_is_destroyed_with_the_channel) {
  struct tag {};
  waiting_room r;
  {
    const channel<counted<tag>> in(1);
    const auto who = r.one_who([in](asker_actor&) -> task<> { (void)co_await in.next(); });
    in.send(counted<tag>{});
    r.end(who);
    EXPECT_EQ(in.size(), 1u);
  }
  EXPECT_EQ(counted<tag>::alive(), 0);
}

TEST(channel_handler_end, returns_a_value_delivered_during_an_exclusive_handler) {
  waiting_room r;
  const channel<int> in(1);
  const channel<int> never(1);
  const auto who = r.one_who_takes(in);
  who.send(exclusive_work{[never](asker_actor&) -> task<> { (void)co_await never.next(); }});
  r.on.play();
  in.send(1);
  r.on.play();
  EXPECT_EQ(in.size() + in.waiting(), 0u) << "it has been told";
  r.end(who);
  EXPECT_EQ(*in.try_receive(), 1);
  EXPECT_EQ(never.waiting(), 0u);
}

TEST(channel_handler_end, returns_a_value_delivered_to_a_select) {
  waiting_room r;
  const channel<int> a(1);
  const channel<std::string> b(1);
  const auto who = r.one_who([a, b](asker_actor&) -> task<> {
    co_await select_when_ready(from(a, [](int) {}), from(b, [](const std::string&) {}));
  });
  b.send("text");
  EXPECT_EQ(a.waiting(), 1u);
  r.end(who);
  EXPECT_EQ(*b.try_receive(), "text");
  EXPECT_EQ(a.waiting(), 0u);
}

TEST(channel_handler_end, does_not_revoke_a_completed_send) {
  waiting_room r;
  const channel<int> out(1);
  out.send(1);
  const auto who = r.one_who([out](asker_actor&) -> task<> { (void)co_await out.async_send(2); });
  EXPECT_EQ(*out.receive(), 1);
  r.end(who);
  EXPECT_EQ(*out.try_receive(), 2);
}

TEST(channel_handler_end, the_channel_may_outlive_the_system) {
  const channel<int> in(1);
  {
    waiting_room r;
    r.one_who_takes(in);
    in.send(1);
  }
  EXPECT_EQ(*in.try_receive(), 1);
}

TEST(channel_handler_end, values_that_are_given_back_in_any_order_are_received_in_theirs) {
  for (const bool older_first : {true, false}) {
    waiting_room r;
    const channel<int> in(4);
    const auto one = r.one_who_takes(in);
    const auto two = r.one_who_takes(in);
    in.send(1);
    in.send(2);
    (older_first ? one : two).stop_now();
    r.end(older_first ? two : one);
    r.on.play();
    EXPECT_EQ(in.size(), 2u);
    for (int i = 1; i <= 2; ++i) EXPECT_EQ(*in.try_receive(), i);
    EXPECT_EQ(in.size(), 0u);
    EXPECT_FALSE(in.try_receive());
  }
}

TEST(channel_handler_end, a_value_that_is_given_back_twice_keeps_its_place) {
  waiting_room r;
  const channel<int> in(4);
  const auto one = r.one_who_takes(in);
  const auto two = r.one_who_takes(in);
  const auto three = r.one_who_takes(in);
  in.send(1);
  in.send(2);
  // Each is put back in the turn that ends its handler: the second value goes to the third handler.
  two.stop_now();
  one.stop_now();
  three.stop_now();
  r.on.play();
  EXPECT_EQ(in.size(), 2u);
  for (int i = 1; i <= 2; ++i) EXPECT_EQ(*in.try_receive(), i);
}

TEST(channel_handler_end, destroys_a_value_whose_last_receiver_ends_with_the_handler) {
  const auto token = std::make_shared<int>(0);
  waiting_room r;
  using tokens = channel<std::shared_ptr<int>>;
  std::optional<tokens> both(4);
  const tokens::sender sends(*both);
  auto receiver = r.one_who(
      [in = tokens::receiver(*both)](asker_actor&) -> task<> { (void)co_await in.next(); });
  both.reset();
  EXPECT_EQ(sends.send(token), accepted);
  EXPECT_EQ(token.use_count(), 2);
  r.end(receiver);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(sends.size(), 0u);
}

TEST(channel_handler_end, leaves_nothing_that_holds_the_actor) {
  waiting_room r;
  const channel<int> in(1);
  auto who = r.one_who_takes(in);
  const address was = who.address();
  r.end(who);
  who = {};
  const auto next = r.on.spawn<asker_actor>(r.log);
  EXPECT_EQ(detail::address_access::line(was), detail::address_access::line(next.address()))
      << "its slot is free";
}

// Both values have been given when the first handler ends: what is given on has the place of its
// value, not one of its own.
TEST(channel_handler_end, a_value_returned_twice_is_placed_after_an_older_one) {
  waiting_room r;
  const channel<int> in(4);
  const auto one = r.one_who_takes(in);
  const auto two = r.one_who_takes(in);
  const auto three = r.one_who_takes(in);
  two.stop_now();  // it gets its turn before the first one
  in.send(1);
  in.send(2);
  one.stop_now();
  three.stop_now();
  r.on.play();
  EXPECT_EQ(in.size(), 2u);
  for (int i = 1; i <= 2; ++i) EXPECT_EQ(*in.try_receive(), i);
}

TEST(channel_handler_end,
     a_value_is_destroyed_at_once_when_the_last_receiver_has_gone_before_the_handler) {
  const auto token = std::make_shared<int>(0);
  waiting_room r;
  using tokens = channel<std::shared_ptr<int>>;
  std::optional<tokens> both(4);
  const tokens::sender sends(*both);
  std::optional<tokens::receiver> receives(*both);
  const auto who =
      r.one_who([&receives](asker_actor&) -> task<> { (void)co_await receives->next(); });
  both.reset();
  EXPECT_EQ(sends.send(token), accepted);  // given to the handler, which has had no turn yet
  receives.reset();
  r.end(who);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(sends.size(), 0u);
}

// Does something at the first block that this thread asks the pool for.
class at_allocation final : detail::thread_host {
 public:
  explicit at_allocation(std::function<void()> what) : what_(std::move(what)), before_(here()) {
    here() = this;
    detail::pool_asks_its_host(true);
  }
  at_allocation(const at_allocation&) = delete;
  at_allocation& operator=(const at_allocation&) = delete;
  ~at_allocation() {
    detail::pool_asks_its_host(false);
    here() = before_;
  }

 private:
  [[nodiscard]] time_point now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
  void sleep_until(time_point) noexcept override { std::this_thread::yield(); }
  [[nodiscard]] bool allocation_fails() noexcept override {
    if (const auto what = std::exchange(what_, {})) what();
    return false;
  }
  [[nodiscard]] std::uint64_t number_of(const void*, std::uint32_t) override { return 0; }

  std::function<void()> what_;
  thread_host* const before_;
};

// As if another thread had sent between the first look and the wait.
TEST(channel_handler_end,
     a_value_that_comes_while_the_handler_lines_up_leaves_nothing_that_holds_the_actor) {
  waiting_room r;
  const channel<int> in(1);
  auto who = r.one_who([in](asker_actor& me) -> task<> {
    const at_allocation sent([&] { EXPECT_EQ(in.try_send(7), accepted); });
    me.log.write(std::to_string(*co_await in.next()));
  });
  EXPECT_EQ(r.log.lines(), lines{"7"});
  who = {};
  r.on.play();
  EXPECT_EQ(r.on.system.statistics().actors_alive, 0u);
}

}  // namespace
}  // namespace troupe::test
