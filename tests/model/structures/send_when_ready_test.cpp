// SPDX-License-Identifier: Apache-2.0
// Handlers that wait for space, in a whole system. They are served, and their frames end with their
// actor, in any order of events.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct go {
  int count;
};

struct outcome_of_sends {
  plain<int> accepted{0};
  plain<int> refused{0};
  plain<int> frames{0};
};

class waiter : public actor {
 public:
  waiter(ref<counter> to, outcome_of_sends& out) : to_(std::move(to)), out_(out) {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() { require(out_.frames == 0, "a frame is destroyed before its actor"); }

  task<> on(go g) {
    struct alive {
      outcome_of_sends& out;
      explicit alive(outcome_of_sends& o) : out(o) { out.frames = out.frames + 1; }
      alive(const alive&) = delete;
      alive& operator=(const alive&) = delete;
      ~alive() { out.frames = out.frames - 1; }
    } const frame(out_);
    for (int i = 0; i < g.count; ++i) {
      const delivery became = co_await to_.async_send(add{1});
      plain<int>& count = became == delivery::accepted ? out_.accepted : out_.refused;
      count = count + 1;
    }
    to_.stop();
  }

 private:
  const ref<counter> to_;
  outcome_of_sends& out_;
};

constexpr std::size_t most = 1;

TEST(async_send, a_handler_that_waits_is_served) {
  expect_holds({.random = 3'000}, [] {
    record done;
    outcome_of_sends out;
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(spawn_options{.max_messages = most}, done);
      const auto from = all.spawn<waiter>(to, out);
      from.send(go{3});
      require(to.join() == exit_reason::stopped, "it goes on until it stops the receiver");
    }
    require(done.sum == 3 && out.accepted == 3, "all are handled");
  });
}

TEST(async_send, handlers_of_two_actors_are_served) {
  expect_holds({.random = 3'000}, [] {
    record done;
    outcome_of_sends out;
    outcome_of_sends other_out;
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(spawn_options{.max_messages = most}, done);
      all.spawn<waiter>(to, out).send(go{2});
      all.spawn<waiter>(to, other_out).send(go{2});
      require(to.join() == exit_reason::stopped, "at least one of them goes on to the end");
    }
    require(done.sum >= 2, "those are handled that came before the stop");
    varies(done.sum == 4, "both go on to the end");
  });
}

TEST(async_send, a_terminating_receiver_refuses_suspended_senders) {
  expect_holds({.random = 3'000}, [] {
    record done;
    outcome_of_sends out;
    atomic<int> dead{0};
    {
      system_options options = small(2);
      options.on_dead_letter = [&](const dead_letter&) { dead.fetch_add(1, relaxed); };
      troupe::system all{std::move(options)};
      const auto to = all.spawn<counter>(spawn_options{.max_messages = most}, done);
      {
        const auto from = all.spawn<waiter>(to, out);
        from.send(go{3});
      }
      to.stop_now();
      require(to.join() == exit_reason::stopped_now || to.join() == exit_reason::stopped,
              "it ends");
    }
    require(done.sum + dead.load(relaxed) >= out.accepted + out.refused, "none is lost");
    varies(out.accepted > 0, "some are accepted");
    varies(out.refused > 0, "some are refused");
    require(out.frames == 0 && done.ends == 1, "nothing is left");
  });
}

TEST(async_send, a_sender_that_ends_leaves_the_line) {
  expect_holds({.random = 3'000}, [] {
    record done;
    outcome_of_sends out;
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(spawn_options{.max_messages = most}, done);
      const auto from = all.spawn<waiter>(to, out);
      from.send(go{3});
      from.stop_now();
      (void)from.join();
      require(out.frames == 0, "its frame has ended with it");
    }
    require(done.sum >= out.accepted && done.sum <= 3, "what was accepted is handled");
    varies(out.accepted == 3, "all are accepted");
  });
}

TEST(async_send, both_end_at_once) {
  expect_holds({.random = 3'000}, [] {
    record done;
    outcome_of_sends out;
    {
      troupe::system all{small(2)};
      const auto to = all.spawn<counter>(spawn_options{.max_messages = most}, done);
      const auto from = all.spawn<waiter>(to, out);
      from.send(go{3});
      jthread other([&] { to.stop_now(); });
      from.stop_now();
    }
    require(out.frames == 0 && done.ends == 1, "nothing is left");
    varies(out.accepted > 0, "some are accepted");
  });
}

}  // namespace
}  // namespace troupe
