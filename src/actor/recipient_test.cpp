// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <troupe/troupe.hpp>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

struct hello {};
struct goodbye {};
struct question {};

class polite : public actor {
 public:
  explicit polite(journal& log) : log_(log) {}
  void on(hello) { log_.write("hello"); }
  void on(const goodbye&) { log_.write("goodbye"); }
  void on(question, address sender) { log_.write(sender ? to_string(sender) : "nobody asks"); }
  void on(std::string&& text) { log_.write(text); }

 private:
  journal& log_;
};

class curt : public actor {
 public:
  explicit curt(journal& log) : log_(log) {}
  void on(goodbye) { log_.write("bye"); }

 private:
  journal& log_;
};

TEST(recipient, sends_to_actors_of_any_class_that_understands_its_messages) {
  journal log;
  stage s;
  std::vector<recipient<goodbye>> all{s.spawn<polite>(log), s.spawn<curt>(log)};
  for (const auto& each : all) EXPECT_EQ(each.send(goodbye{}), delivery::accepted);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("goodbye", "bye"));
}

TEST(recipient, of_several_messages_dispatches_each) {
  journal log;
  stage s;
  const recipient<std::string, hello, goodbye> r = s.spawn<polite>(log);
  r.send(goodbye{});
  r.send(std::string{"text"});
  const std::string kept = "copied";
  r.send(kept);
  r.send(hello{});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("goodbye", "text", "copied", "hello"));
  EXPECT_EQ(kept, "copied");
}

TEST(recipient, narrows_to_fewer_messages_in_any_order) {
  journal log;
  stage s;
  const recipient<hello, goodbye, question> wide = s.spawn<polite>(log);
  const recipient<goodbye, hello> narrow = wide;
  const recipient<hello, goodbye> swapped = narrow;
  const recipient<question> one = wide;
  narrow.send(hello{});
  narrow.send(goodbye{});
  swapped.send(hello{});
  swapped.send(goodbye{});
  one.send(question{});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("hello", "goodbye", "hello", "goodbye", "nobody asks"));
}

TEST(recipient, passes_the_sender_to_a_handler_that_takes_an_address) {
  journal log;
  stage s;
  const recipient<question> r = s.spawn<polite>(log);
  const auto asker = s.spawn<probe>(log);
  asker.send(call{[&](probe&) {
    r.send(question{});
    r.send_after(0s, question{});
  }});
  s.play();
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return log.lines().size() == 2;
  }));
  const std::string name = to_string(asker.address());
  EXPECT_THAT(log.lines(), ElementsAre(name, name));
}

TEST(recipient, is_made_from_self_as_well) {
  class introducer : public actor {
   public:
    explicit introducer(journal& log) : log_(log) {}
    void on(const recipient<recipient<hello>>& to) { to.send(recipient<hello>(self(this))); }
    void on(hello) { log_.write("greeted"); }

   private:
    journal& log_;
  };
  class greeter : public actor {
   public:
    void on(const recipient<hello>& who) { who.send(hello{}); }
  };
  journal log;
  stage s;
  const auto a = s.spawn<introducer>(log);
  const auto b = s.spawn<greeter>();
  a.send(recipient<recipient<hello>>(b));
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("greeted"));
}

TEST(recipient, send_after_and_cancel_are_as_of_a_ref) {
  journal log;
  stage s;
  const recipient<hello, goodbye> r = s.spawn<polite>(log);
  timer t = r.send_after(1h, hello{});
  EXPECT_TRUE(t.cancel());
  r.send_after(1us, goodbye{});
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return log.lines().size() == 1;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("goodbye"));
}

TEST(recipient, of_an_ended_actor_refuses) {
  journal log;
  stage s;
  const auto a = s.spawn<polite>(log);
  const recipient<hello> r = a;
  a.stop();
  s.play();
  EXPECT_EQ(r.send(hello{}), delivery::refused);
  EXPECT_EQ(s.told.dead_letters().size(), 1u);
}

TEST(recipient, is_compared_and_hashed_by_its_actor) {
  journal log;
  stage s;
  const auto a = s.spawn<polite>(log);
  const auto b = s.spawn<polite>(log);
  const recipient<hello> to_a = a;
  const recipient<hello> to_b = b;
  EXPECT_EQ(to_a, recipient<hello>(a));
  EXPECT_NE(to_a, to_b);
  EXPECT_EQ(to_a.address(), a.address());
  const std::set<recipient<hello>> sorted{to_a, to_b, to_a};
  EXPECT_EQ(sorted.size(), 2u);
  const std::unordered_set<recipient<hello>> hashed{to_a, to_b, to_a};
  EXPECT_EQ(hashed.size(), 2u);
}

TEST(recipient, may_be_empty) {
  journal log;
  stage s;
  recipient<hello> r;
  EXPECT_FALSE(r);
  EXPECT_EQ(address(r), address{});
  r = ref<polite>{};
  EXPECT_FALSE(r);
  r = s.spawn<polite>(log);
  EXPECT_TRUE(r);
  const auto moved = std::move(r);
  EXPECT_FALSE(r);  // NOLINT: a moved recipient is an empty one
  EXPECT_TRUE(moved);
}

TEST(recipient_death_test, empty_ones_may_not_be_used) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(recipient<hello>{}.send(hello{}), "empty troupe::recipient");
}

static_assert(std::is_convertible_v<ref<polite>, recipient<hello, goodbye>>);
static_assert(std::is_convertible_v<recipient<hello, goodbye>, recipient<hello>>);
static_assert(std::is_nothrow_move_constructible_v<recipient<hello>>);

}  // namespace
}  // namespace troupe::test
