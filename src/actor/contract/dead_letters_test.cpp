// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class taker : public actor {
 public:
  void on(int) {}
  void on(const std::string&, address) {}
};

TEST(dead_letter, names_its_receiver_and_its_message_type) {
  stage s;
  const auto a = s.spawn<taker>();
  a.send(1);
  a.send(std::string("left behind"));
  a.stop_now();
  s.play();
  a.send(1);
  recipient<std::string>(a).send(std::string("refused"));
  std::vector<std::string> types;
  for (const dead_letter& each : s.told.dead_letters()) {
    EXPECT_EQ(each.to, a.address());
    types.emplace_back(each.message);
  }
  const std::string text(type_name<std::string>());
  EXPECT_THAT(types, ElementsAre("int", text, "int", text));
}

TEST(dead_letter, is_reported_on_the_thread_that_sent_it_or_terminated_its_receiver) {
  std::vector<std::thread::id> told;
  journal log;
  system s{{.workers = 1, .on_dead_letter = [&](const dead_letter&) {
              told.push_back(std::this_thread::get_id());
            }}};
  std::thread::id ended_on;
  const auto a =
      s.spawn<probe>(spawn_options{.where = own_thread}, log,
                     steps{.at_end = [&](probe&) { ended_on = std::this_thread::get_id(); }});
  a.send(call{[](probe& me) {
    me.me().send(note{"left behind"});
    me.me().stop_now();
  }});
  a.join();
  a.send(note{"refused"});
  EXPECT_THAT(told, ElementsAre(ended_on, std::this_thread::get_id()));
}

TEST(dead_letter, is_counted_without_a_hook) {
  system s{{.workers = 1}};
  const auto a = s.spawn<taker>();
  a.stop();
  a.join();
  a.send(1);
  EXPECT_EQ(s.statistics().dead_letters, 1u);
}

TEST(dead_letter, whose_hook_throws_ends_nothing) {
  system s{{.workers = 1, .on_dead_letter = [](const dead_letter&) { throw 1; }}};
  const auto a = s.spawn<taker>();
  a.send(1);
  a.stop_now();
  EXPECT_TRUE(a.join_for(patience).has_value());
  EXPECT_EQ(a.send(1), delivery::refused);
}

TEST(dead_letter, may_be_sent_on_by_the_hook) {
  journal log;
  ref<probe> office;
  system s{{.workers = 1, .on_dead_letter = [&](const dead_letter& d) {
              if (office) office.send(note{std::string(d.message)});
            }}};
  office = s.spawn<probe>(log);
  const auto a = s.spawn<taker>();
  a.stop();
  a.join();
  a.send(1);
  EXPECT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("int"));
  auto last = std::move(office);
  last.stop();
  last.join();
}

TEST(dead_letter, that_the_hook_sends_to_a_dead_actor_is_counted_but_not_reported) {
  journal log;
  ref<probe> office;
  int told = 0;
  system s{{.workers = 1, .on_dead_letter = [&](const dead_letter& d) {
              ++told;
              EXPECT_EQ(office.send(note{std::string(d.message)}), delivery::refused);
            }}};
  office = s.spawn<probe>(log);
  office.stop();
  office.join();
  const auto a = s.spawn<taker>();
  a.stop();
  a.join();
  a.send(1);
  a.send(2);
  EXPECT_EQ(told, 2);
  EXPECT_EQ(s.statistics().dead_letters, 4u);
}

TEST(dead_letter, is_never_a_message_of_the_runtime_itself) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  auto b = s.spawn<probe>(log);
  a.send(call{[where = b.address()](probe& me) { me.watch(where); }});
  s.play();
  a.stop();  // it watches, and will not be notified
  a.stop();
  a.stop_now();
  s.play();
  a.stop();
  b.send(call{[a](probe& me) { me.watch(a); }});
  s.play();
  b.stop();
  b = {};
  s.play();
  a = {};
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

TEST(dead_letter, is_not_the_message_of_a_timer_that_ends_with_its_actor) {
  stage s;
  const auto a = s.spawn<taker>();
  a.send_after(1h, 1);
  a.send_every(1h, 1);
  a.stop();
  s.play();
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
  a.send_after(1h, 1);
  EXPECT_THAT(s.told.dead_letters(), SizeIs(1)) << "but one that came too late is";
}

}  // namespace
}  // namespace troupe::test
