// SPDX-License-Identifier: Apache-2.0
// Every message that was made is destroyed exactly once, whatever happens to it and whatever it
// throws.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

struct parcels {};

// Owns memory, so that a leak or a second destruction is detected; throws when it is told to.
struct parcel {
  parcel() = default;
  parcel(const parcel& other) : alive(other.alive), text(other.text) { count(copies_left); }
  parcel(parcel&& other) : alive(std::move(other.alive)), text(std::move(other.text)) {
    count(moves_left);
  }
  static void count(int& left) {
    if (left == 0) throw std::runtime_error("not this one");
    --left;
  }
  static void forgive() { copies_left = moves_left = 1'000'000; }
  [[nodiscard]] static int alive_now() { return counted<parcels>::alive(); }

  static inline int copies_left = 1'000'000;
  static inline int moves_left = 1'000'000;

  counted<parcels> alive;
  std::string text = "long enough to need memory of its own";
};

class by_reference : public actor {
 public:
  explicit by_reference(int& handled) : handled_(handled) {}
  void on(const parcel& p) {
    EXPECT_EQ(p.text, parcel{}.text);
    ++handled_;
  }

 private:
  int& handled_;
};

class by_value : public actor {
 public:
  explicit by_value(int& handled) : handled_(handled) {}
  void on(parcel p) {
    EXPECT_EQ(p.text, parcel{}.text);
    ++handled_;
  }

 private:
  int& handled_;
};

TEST(message_lifetime, ends_after_the_handler) {
  int handled = 0;
  stage s;
  const auto a = s.spawn<by_reference>(handled);
  const auto b = s.spawn<by_value>(handled);
  const parcel mine;
  for (int i = 0; i < 10; ++i) {
    a.send(parcel{});
    b.send(mine);
  }
  EXPECT_EQ(parcel::alive_now(), 21);
  s.play();
  EXPECT_EQ(parcel::alive_now(), 1);
  EXPECT_EQ(handled, 20);
}

TEST(message_lifetime, ends_at_once_if_it_is_refused) {
  int handled = 0;
  stage s;
  const auto a = s.spawn<by_reference>(handled);
  a.stop();
  s.play();
  EXPECT_EQ(a.send(parcel{}), delivery::refused);
  EXPECT_EQ(parcel::alive_now(), 0);
}

TEST(message_lifetime, ends_with_an_actor_that_does_not_handle_it_any_more) {
  int handled = 0;
  stage s;
  const auto a = s.spawn<by_reference>(handled);
  for (int i = 0; i < 10; ++i) a.send(parcel{});
  a.stop_now();
  s.play();
  EXPECT_EQ(parcel::alive_now(), 0);
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(s.told.dead_letters().size(), 10u);
}

TEST(message_lifetime, ends_before_the_system_is_destroyed) {
  int handled = 0;
  {
    system s{{.workers = 2}};
    const auto a = s.spawn<by_reference>(handled);
    for (int i = 0; i < 1'000; ++i) a.send(parcel{});
  }
  EXPECT_EQ(parcel::alive_now(), 0);
  EXPECT_EQ(handled, 1'000);
}

TEST(message_lifetime, does_not_begin_if_its_copy_throws) {
  int handled = 0;
  stage s;
  const auto a = s.spawn<by_reference>(handled);
  s.play();
  {
    const parcel mine;
    parcel::copies_left = 0;
    EXPECT_THROW(a.send(mine), std::runtime_error);
    EXPECT_THROW(a.send_after(1h, mine), std::runtime_error);
    EXPECT_THROW(a.send_every(1h, mine), std::runtime_error);
    EXPECT_THROW(recipient<parcel>(a).send(mine), std::runtime_error);
    parcel::forgive();
    EXPECT_EQ(parcel::alive_now(), 1);
  }
  EXPECT_EQ(s.pump.run_until_idle(), 0u) << "nothing was sent";
  EXPECT_EQ(s.system.statistics().timers_armed, 0u);
  EXPECT_EQ(parcel::alive_now(), 0);
}

TEST(message_lifetime, does_not_begin_if_its_move_throws) {
  int handled = 0;
  stage s;
  const auto a = s.spawn<by_reference>(handled);
  s.play();
  parcel::moves_left = 0;
  EXPECT_THROW(a.send(parcel{}), std::runtime_error);
  EXPECT_THROW(a.send_after(1h, parcel{}), std::runtime_error);
  EXPECT_THROW(a.send_every(1h, parcel{}), std::runtime_error);
  parcel::forgive();
  EXPECT_EQ(s.pump.run_until_idle(), 0u) << "nothing was sent";
  EXPECT_EQ(parcel::alive_now(), 0);
}

TEST(message_lifetime, fails_the_actor_if_the_move_into_the_handler_throws) {
  int handled = 0;
  stage s;
  const auto a = s.spawn<by_value>(handled);
  parcel::moves_left = 1;  // into the mailbox, and no further
  EXPECT_EQ(a.send(parcel{}), delivery::accepted);
  s.play();
  parcel::forgive();
  EXPECT_EQ(a.join(), exit_reason::failed);
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(parcel::alive_now(), 0);
  ASSERT_EQ(s.told.failures().size(), 1u);
  EXPECT_EQ(s.told.failures()[0].message, type_name<parcel>());
}

TEST(message_lifetime, of_one_that_holds_a_reference_to_its_receiver_ends_too) {
  struct holds {
    ref<probe> whom;
  };
  class holder : public actor {
   public:
    void on(const holds&) { ADD_FAILURE(); }
  };
  journal log;
  stage s;
  {
    auto a = s.spawn<probe>(log);
    a.send(call{[a](probe&) {}});
    a.send(call{[a](probe&) { throw 1; }});
    a.send(call{[a](probe&) { ADD_FAILURE(); }});
    a = {};
    s.play();
  }
  EXPECT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(s.system.statistics().actors_alive, 0u);
  {
    auto b = s.spawn<probe>(log);
    const auto h = s.spawn<holder>();
    h.send(holds{std::move(b)});
    h.stop_now();
    s.play();
  }
  EXPECT_EQ(log.lines().size(), 2u) << "the last reference was in a dead letter";
}

TEST(message_lifetime, of_a_message_whose_destructor_sends_always_ends) {
  struct tells {
    explicit tells(ref<probe> heir) : whom(std::move(heir)) {}
    tells(tells&&) noexcept = default;
    ~tells() {
      if (whom) whom.send(note{"a message died"});
    }
    ref<probe> whom;
  };
  class deaf : public actor {
   public:
    void on(const tells&) {}
  };
  journal log;
  stage s;
  const auto heir = s.spawn<probe>(log);
  const auto a = s.spawn<deaf>();
  a.send(tells{heir});
  s.play();
  a.send(tells{heir});
  a.send_after(1h, tells{heir});
  timer t = a.send_after(1h, tells{heir});
  t.cancel();
  a.stop_now();
  s.play();
  a.send(tells{heir});
  s.play();
  EXPECT_EQ(log.lines().size(), 5u);
}

}  // namespace
}  // namespace troupe::test
