// SPDX-License-Identifier: Apache-2.0
// Handlers that wait for a channel, in a whole system. A value that coincides with the termination
// of their actor, or with their time-out, is not lost and arrives once.
#include <gtest/gtest.h>

#include <utility>

#include <checker/check.hpp>
#include <troupe/channel/channel.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct take {};
struct take_in_time {};
struct give {
  int value;
};

struct seen {
  plain<int> taken{0};
  plain<int> not_sent{0};
  plain<int> frames{0};
};

class waiter : public actor {
 public:
  waiter(channel<int> with, seen& out) : with_(std::move(with)), out_(out) {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() { require(out_.frames == 0, "a frame is destroyed before its actor"); }

  task<> on(take) {
    const frame here(out_);
    if (const auto got = co_await with_.next()) out_.taken = out_.taken + *got;
  }
  task<> on(take_in_time) {
    const frame here(out_);
    if (const auto got = co_await with_.next(duration{1})) out_.taken = out_.taken + *got;
  }
  task<> on(give g) {
    const frame here(out_);
    if (!co_await with_.async_send(g.value)) out_.not_sent = out_.not_sent + g.value;
  }

 private:
  struct frame {
    explicit frame(seen& o) : out(o) { out.frames = out.frames + 1; }
    frame(const frame&) = delete;
    frame& operator=(const frame&) = delete;
    ~frame() { out.frames = out.frames - 1; }
    seen& out;
  };

  const channel<int> with_;
  seen& out_;
};

int left_in(const channel<int>& c) {
  int sum = 0;
  while (const auto got = c.try_receive()) sum += *got;
  return sum;
}

TEST(channel_handler, each_value_reaches_a_suspended_handler_or_stays_in_the_channel) {
  expect_holds({.random = 2'000}, [] {
    seen out;
    const channel<int> c(1);
    {
      troupe::system all{small()};
      const auto who = all.spawn<waiter>(c, out);
      who.send(take{});
      who.send(take{});
      jthread other([&] { (void)c.send(1); });
      varies(c.waiting() != 0, "a handler waits");
      (void)c.send(2);
      other.join();
      c.close();
    }
    require(out.frames == 0, "nothing is left");
    // Both were sent before the end of the system stops the actor.
    require(out.taken == 3 && left_in(c) == 0, "both values are taken");
  });
}

TEST(channel_handler, a_value_meets_the_end_of_the_actor) {
  expect_holds({.random = 5'000}, [] {
    seen out;
    const channel<int> c(1);
    {
      troupe::system all{small()};
      const auto who = all.spawn<waiter>(c, out);
      who.send(take{});
      jthread other([&] { require(c.send(1) == channel_delivery::accepted, "there is room"); });
      who.stop_now();
      (void)who.join();
      require(out.frames == 0, "its frame has ended with it");
    }
    require(out.taken + left_in(c) == 1, "the value is somewhere, once");
    varies(out.taken == 1, "the value is taken");
  });
}

TEST(channel_handler, a_value_meets_the_end_of_the_time) {
  expect_holds({.random = 5'000}, [] {
    seen out;
    const channel<int> c(1);
    {
      troupe::system all{small()};
      const auto who = all.spawn<waiter>(c, out);
      who.send(take_in_time{});
      (void)c.send(1);
      who.stop();
      (void)who.join();
    }
    require(out.taken + left_in(c) == 1, "the value is somewhere, once");
    varies(out.taken == 1, "the value comes in time");
  });
}

TEST(channel_handler, room_meets_the_end_of_the_actor_and_of_the_channel) {
  expect_holds({.random = 5'000}, [] {
    seen out;
    plain<int> received{0};
    const channel<int> c(0);
    {
      troupe::system all{small()};
      const auto who = all.spawn<waiter>(c, out);
      who.send(give{1});
      jthread other([&] {
        if (const auto got = c.try_receive()) received = received + *got;
        c.close();
      });
      who.stop_now();
      (void)who.join();
    }
    require(out.not_sent + received <= 1, "it is received, or not sent");
    require(c.waiting() == 0, "nobody waits");
    varies(received == 1, "the value is received");
    varies(out.not_sent == 1, "the value is not sent");
  });
}

}  // namespace
}  // namespace troupe
