// SPDX-License-Identifier: Apache-2.0
// Messages beyond one actor's limits go to another actor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <troupe/troupe.hpp>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto A = delivery::accepted;
constexpr auto R = delivery::refused;

struct word {
  std::string text;
};

// Understands both, neither with its sender.
class clerk : public actor {
 public:
  using messages = troupe::messages<item, word>;
  explicit clerk(journal& log) : log_(log) {}
  void on(item i) { log_.write("clerk: " + std::to_string(i.number)); }
  void on(const word& w) { log_.write("clerk: " + w.text); }

 private:
  journal& log_;
};

// Wants the sender, and has a list as well.
class manager : public actor {
 public:
  using messages = troupe::messages<item, word>;
  explicit manager(journal& log) : log_(log) {}
  void on(item i, address from) { write(std::to_string(i.number), from); }
  void on(word&& w, const address& from) { write(w.text, from); }
  void on(explode) {}  // not in the list

 private:
  void write(const std::string& text, const address& from) {
    log_.write("manager: " + text + (from ? " from an actor" : " from nobody"));
  }
  journal& log_;
};

TEST(overload_redirect, goes_to_another_actor_of_the_same_class) {
  std::vector<int> got;
  std::vector<int> too_much;
  pumped_crowd s;
  const auto second = s.system.spawn<sink>(s.here(100), too_much);
  const auto first = s.system.spawn<sink>(s.here(2, overflow::redirect_to(second)), got);
  EXPECT_THAT(send_items(first, 4), ElementsAre(A, A, A, A));
  EXPECT_EQ(s.full.counts(), (overload_counts{.redirected = 2}));
  EXPECT_EQ(s.system.statistics().messages_redirected, 2u);
  ASSERT_THAT(s.full.lines(), SizeIs(2));
  EXPECT_EQ(s.full.lines()[0].to, first.address());
  s.play();
  EXPECT_THAT(got, ElementsAre(0, 1));
  EXPECT_THAT(too_much, ElementsAre(2, 3));
}

TEST(overload_redirect, moves_the_contents_of_the_message_to_an_actor_of_another_class) {
  journal log;
  pumped_crowd s;
  const auto second = s.system.spawn<manager>(s.here(100), log);
  const auto first = s.system.spawn<clerk>(s.here(1, overflow::redirect_to<clerk>(second)), log);
  first.send(item{1});
  EXPECT_EQ(first.send(word{std::string(100, 'x')}), A);
  s.play();
  EXPECT_THAT(log.lines(), ::testing::UnorderedElementsAre(
                               "clerk: 1", "manager: " + std::string(100, 'x') + " from nobody"));
  EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
}

TEST(overload_redirect, keeps_the_sender_for_a_class_that_wants_it) {
  journal log;
  pumped_crowd s;
  const auto second = s.system.spawn<manager>(s.here(100), log);
  const auto first = s.system.spawn<clerk>(s.here(1, overflow::redirect_to<clerk>(second)), log);
  const auto third = s.system.spawn<manager>(s.here(1, overflow::redirect_to(second)), log);
  const auto sender = s.system.spawn<probe>(spawn_options{.where = bound_to(s.pump)}, log);
  sender.send(call{[&](probe&) {
    for (const int i : {1, 2}) EXPECT_EQ(first.send(item{i}), A);
    for (const int i : {3, 4}) EXPECT_EQ(third.send(word{std::to_string(i)}), A);
  }});
  s.play();
  EXPECT_THAT(log.lines(), ::testing::UnorderedElementsAre("clerk: 1", "manager: 2 from an actor",
                                                           "manager: 3 from an actor",
                                                           "manager: 4 from an actor"));
}

TEST(overload_redirect, goes_to_another_class_whose_handlers_do_not_take_the_sender) {
  journal log;
  pumped_crowd s;
  const auto second = s.system.spawn<clerk>(s.here(100), log);
  const auto first =
      s.system.spawn<manager>(s.here(1, overflow::redirect_to<manager>(second)), log);
  first.send(item{1});
  EXPECT_EQ(first.send(word{"2"}), A);
  EXPECT_EQ(first.send(item{3}), A);
  s.play();
  EXPECT_THAT(log.lines(),
              ::testing::UnorderedElementsAre("manager: 1 from nobody", "clerk: 2", "clerk: 3"));
}

TEST(overload_redirect, is_followed_once) {
  std::vector<int> got;
  pumped_crowd s;
  const auto third = s.system.spawn<sink>(s.here(100), got);
  const auto second = s.system.spawn<sink>(s.here(1, overflow::redirect_to(third)), got);
  const auto first = s.system.spawn<sink>(s.here(1, overflow::redirect_to(second)), got);
  EXPECT_THAT(send_items(first, 3), ElementsAre(A, A, R));
  EXPECT_EQ(s.full.counts().redirected, 2u) << "the third was redirected, then refused";
  EXPECT_EQ(s.full.counts().refused, 1u);
  s.play();
  EXPECT_THAT(got, SizeIs(2));
}

TEST(overload_redirect, to_a_full_actor_is_refused_by_that_one) {
  std::vector<int> got;
  pumped_crowd s;
  const auto second = s.system.spawn<sink>(s.here(1, overflow::refuse), got);
  const auto first = s.system.spawn<sink>(s.here(1, overflow::redirect_to(second)), got);
  EXPECT_THAT(send_items(first, 3), ElementsAre(A, A, R));
  EXPECT_EQ(s.full.counts().refused, 1u);
  const auto last = s.full.lines().back();
  EXPECT_EQ(last.what, overload_event::kind::refused);
  EXPECT_EQ(last.to, second.address());
}

TEST(overload_redirect, to_an_ended_actor_is_refused_and_a_dead_letter) {
  std::vector<int> got;
  pumped_crowd s;
  const auto second = s.system.spawn<sink>(s.here(10), got);
  const auto first = s.system.spawn<sink>(s.here(1, overflow::redirect_to(second)), got);
  second.stop();
  second.join();
  EXPECT_THAT(send_items(first, 2), ElementsAre(A, R));
  ASSERT_THAT(s.told.dead_letters(), SizeIs(1));
  EXPECT_EQ(s.told.dead_letters()[0].to, second.address());
  s.play();
  EXPECT_THAT(got, ElementsAre(0));
}

TEST(overload_redirect, keeps_the_target_alive) {
  journal log;
  pumped_crowd s;
  auto first = [&] {
    const auto second = s.system.spawn<probe>(s.here(10), log);
    return s.system.spawn<probe>(s.here(1, overflow::redirect_to(second)), log);
  }();
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
  first = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed", "destroyed"));
}

TEST(overload_redirect, pauses_the_sender_if_the_target_does) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto second = s.system.spawn<sink>(s.here(1), got);
  const auto first = s.system.spawn<sink>(s.here(1, overflow::redirect_to(second)), got);
  const auto sender = s.system.spawn<probe>(log);
  sender.send(call{
      [&](probe&) { EXPECT_THAT(send_items(first, 3), ElementsAre(A, A, delivery::paused)); }});
  sender.send(note{"goes on"});
  ASSERT_TRUE(eventually([&] { return s.system.statistics().senders_paused == 1; }));
  s.play();
  EXPECT_TRUE(log.wait_for(1));
  EXPECT_THAT(got, SizeIs(3));
}

TEST(overload_redirect, may_go_from_several_to_one) {
  std::vector<int> got;
  pumped_crowd s;
  const auto target = s.system.spawn<sink>(s.here(2, overflow::drop_newest), got);
  const auto a = s.system.spawn<sink>(s.here(1, overflow::redirect_to(target)), got);
  const auto b = s.system.spawn<sink>(s.here(1, overflow::redirect_to(target)), got);
  EXPECT_THAT(send_items(a, 2), ElementsAre(A, A));
  EXPECT_THAT(send_items(b, 3), ElementsAre(A, A, delivery::dropped));
  EXPECT_EQ(s.full.counts(), (overload_counts{.dropped = 1, .redirected = 3}));
}

TEST(overload_redirect, of_another_class_than_the_spawned_one_is_an_invalid_argument) {
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto target = s.system.spawn<clerk>(s.here(1), log);
  EXPECT_THROW(s.system.spawn<sink>(s.here(1, overflow::redirect_to(target)), got),
               std::invalid_argument);
}

}  // namespace
}  // namespace troupe::test
