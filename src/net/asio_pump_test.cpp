// SPDX-License-Identifier: Apache-2.0
// Actors inside an io_context that the test runs.

#include <troupe/net/asio_pump.hpp>

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

namespace troupe::net {
namespace {

using namespace std::chrono_literals;
using boost::asio::io_context;

/// Executes the functions that it receives, in its turns.
class doer : public actor {
 public:
  struct call {
    std::function<void(doer&)> what;
  };
  explicit doer(std::function<void(doer&)> at_end = {}) : at_end_(std::move(at_end)) {}
  ~doer() {
    if (at_end_) at_end_(*this);
  }
  void on(const call& m) { m.what(*this); }

  [[nodiscard]] self_ref<doer> me() { return self(this); }

 private:
  std::function<void(doer&)> at_end_;
};

class counter : public actor {
 public:
  explicit counter(int& handled) : handled_(handled) {}
  void on(int) { ++handled_; }

 private:
  int& handled_;
};

/// Keeps itself busy forever.
class spinner : public actor {
 public:
  struct again {};
  void on_start() { on(again{}); }
  void on(again) { self(this).send(again{}); }
};

/// A system and an io_context that the test runs, with a pump in it.
struct asio_stage {
  template <class A, class... Arguments>
  ref<A> spawn(Arguments&&... arguments) {
    return system.spawn<A>({.where = bound_to(pump->pump())},
                           std::forward<Arguments>(arguments)...);
  }

  troupe::system system{{.workers = 2}};
  std::optional<io_context> context{std::in_place};
  std::optional<asio_pump> pump{std::in_place, system, *context};
};

TEST(asio_pump, gives_turns_on_the_thread_that_runs_the_context) {
  asio_stage s;
  const auto a = s.spawn<doer>();
  std::thread::id where;
  std::jthread other([&] {
    a.send(doer::call{[&](doer&) {
      where = std::this_thread::get_id();
      s.context->stop();
    }});
  });
  s.context->run();
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(asio_pump, empty) {
  asio_stage s;
  EXPECT_EQ(s.context->poll(), 0u) << "nothing is posted while there is nothing to do";
}

TEST(asio_pump, posts_one_handler_for_all_that_waits) {
  int handled = 0;
  asio_stage s;
  const auto a = s.spawn<counter>(handled);
  const auto b = s.spawn<counter>(handled);
  for (int i = 0; i < 50; ++i) a.send(int{i});
  for (int i = 0; i < 50; ++i) b.send(int{i});
  EXPECT_EQ(s.context->poll(), 1u);
  EXPECT_EQ(handled, 100);
}

TEST(asio_pump, posts_no_second_handler_after_a_join_has_pumped) {
  int handled = 0;
  asio_stage s;
  const auto a = s.spawn<counter>(handled);
  const auto b = s.spawn<counter>(handled);
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  b.send(1);
  EXPECT_EQ(s.context->poll(), 1u);
  EXPECT_EQ(handled, 1);
}

TEST(asio_pump, a_round_is_bounded_so_that_other_handlers_run_in_between) {
  int handled = 0;
  asio_stage s;
  constexpr int rounds = 4;
  std::vector<ref<counter>> many;
  for (int i = 0; i < rounds; ++i) many.push_back(s.spawn<counter>(handled));
  for (const auto& each : many) {
    for (int i = 0; i < static_cast<int>(asio_pump::round); ++i) each.send(int{i});
  }
  std::vector<int> seen;
  std::function<void()> look = [&] {
    seen.push_back(handled);
    if (seen.size() < rounds) boost::asio::post(*s.context, look);
  };
  boost::asio::post(*s.context, look);
  s.context->poll();
  std::vector<int> expected;
  for (int i = 1; i <= rounds; ++i) expected.push_back(i * static_cast<int>(asio_pump::round));
  EXPECT_EQ(seen, expected);
}

TEST(asio_pump, a_busy_actor_does_not_keep_timers_waiting) {
  asio_stage s;
  const auto busy = s.spawn<spinner>();
  boost::asio::steady_timer timer{*s.context, 1ms};
  timer.async_wait([&](const auto&) { busy.stop_now(); });
  s.pump->release_work();
  s.context->run();
  EXPECT_EQ(busy.join(), exit_reason::stopped_now);
}

TEST(asio_pump, run_stays_while_actors_only_wait) {
  asio_stage s;
  const auto a = s.spawn<doer>();
  s.context->poll();
  EXPECT_FALSE(s.context->stopped()) << "poll() stops an io_context that is out of work";
}

TEST(asio_pump, run_returns_when_it_may_and_actors_only_wait) {
  int handled = 0;
  asio_stage s;
  const auto a = s.spawn<counter>(handled);
  a.send(1);
  s.pump->release_work();
  s.context->run();
  EXPECT_EQ(handled, 1);
  a.send(2);
  EXPECT_EQ(handled, 1);
  s.context->restart();
  s.context->run();
  EXPECT_EQ(handled, 2) << "what came after is handled when it runs again";
}

TEST(asio_pump, let_run_return_ends_a_run_that_stays) {
  asio_stage s;
  const auto a = s.spawn<doer>();
  a.send(doer::call{[&](doer&) { s.pump->release_work(); }});
  s.context->run();
  EXPECT_TRUE(s.context->stopped());
}

TEST(asio_pump, continues_when_a_stopped_context_is_restarted) {
  int handled = 0;
  asio_stage s;
  const auto a = s.spawn<counter>(handled);
  s.context->stop();
  a.send(1);
  s.context->run();
  EXPECT_EQ(handled, 0);
  s.context->restart();
  s.context->poll();
  EXPECT_EQ(handled, 1);
}

TEST(asio_pump, a_context_run_by_another_thread_is_a_logic_error_and_loses_nothing) {
  int handled = 0;
  asio_stage s;
  const auto a = s.spawn<counter>(handled);
  a.send(1);
  std::jthread([&] {
    for (int i = 0; i < 2; ++i) {
      try {
        s.context->run();
        ADD_FAILURE() << "it ran";
      } catch (const std::logic_error& e) {
        EXPECT_NE(std::string(e.what()).find("a thread other than"), std::string::npos) << e.what();
      }
    }
  }).join();
  EXPECT_EQ(handled, 0);
  s.context->poll();
  EXPECT_EQ(handled, 1);
}

TEST(asio_pump, a_context_run_inside_a_handler_of_an_actor_is_a_logic_error_and_loses_nothing) {
  int handled = 0;
  asio_stage s;
  const auto a = s.spawn<doer>();
  const auto b = s.spawn<counter>(handled);
  s.context->poll();
  a.send(doer::call{[&](doer&) {
    b.send(1);
    EXPECT_THROW(s.context->poll(), std::logic_error);
  }});
  s.context->poll();
  EXPECT_EQ(handled, 1);
}

TEST(asio_pump, that_ends_first_ends_its_actors_and_leaves_the_context_alone) {
  asio_stage s;
  const auto a = s.spawn<doer>();
  a.send(doer::call{[](doer&) { ADD_FAILURE() << "discarded"; }});
  s.pump.reset();
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  int others = 0;
  boost::asio::post(*s.context, [&] { ++others; });
  s.context->run();  // nothing keeps it from returning
  EXPECT_EQ(others, 1);
  s.pump.emplace(s.system, *s.context);
  int handled = 0;
  s.spawn<counter>(handled).send(1);
  s.context->restart();
  s.context->poll();
  EXPECT_EQ(handled, 1) << "another one in its place";
}

TEST(asio_pump, a_handler_that_it_has_posted_outlives_it) {
  asio_stage s;
  s.spawn<doer>();  // posted: it has to start
  s.pump.reset();
  s.context.reset();
}

TEST(asio_pump, whose_context_ends_first_ends_its_actors_later) {
  asio_stage s;
  bool ended = false;
  const auto a = s.spawn<doer>([&](doer& me) {
    ended = true;
    me.me().send(doer::call{[](doer&) {}});
  });
  s.context->poll();
  a.send(doer::call{[](doer&) { ADD_FAILURE() << "there is nobody to run it"; }});  // posted
  s.context.reset();
  EXPECT_FALSE(ended);
  EXPECT_EQ(a.send(doer::call{[](doer&) { ADD_FAILURE() << "likewise"; }}), delivery::accepted);
  s.pump->release_work();
  s.pump.reset();
  EXPECT_TRUE(ended);
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
}

TEST(asio_pump, of_another_system_shares_the_context) {
  int handled = 0;
  asio_stage s;
  troupe::system other{{.workers = 1}};
  asio_pump pump{other, *s.context};
  s.spawn<counter>(handled).send(1);
  other.spawn<counter>({.where = bound_to(pump.pump())}, handled).send(1);
  s.context->poll();
  EXPECT_EQ(handled, 2);
}

TEST(asio_pump, is_the_only_pump_of_its_thread) {
  asio_stage s;
  EXPECT_THROW((asio_pump{s.system, *s.context}), std::logic_error);
  s.pump->release_work();
  s.context->run();
}

TEST(asio_pump, messages_may_be_sent_while_the_context_is_destroyed) {
  // A round may or may not be posted at that moment.
  for (int round = 0; round < 20; ++round) {
    asio_stage s;
    int handled = 0;
    const auto a = s.spawn<counter>(handled);
    atomic<int> taken{0};
    atomic<int> refused{0};
    std::jthread sender([&](const std::stop_token& enough) {
      while (!enough.stop_requested()) {
        ++(a.send(1) == delivery::refused ? refused : taken);
        std::this_thread::yield();
      }
    });
    while (handled == 0) s.context->poll();
    s.context.reset();
    const int at_its_end = handled;
    // The first of these may have begun earlier, the second has not.
    const int enough = taken + 2;
    while (taken < enough && refused == 0) std::this_thread::yield();
    EXPECT_EQ(refused, 0);
    s.pump.reset();
    EXPECT_EQ(a.join(), exit_reason::stopped_now);
    EXPECT_EQ(a.send(1), delivery::refused);
    EXPECT_EQ(handled, at_its_end) << "no thread runs the context";
  }
}

// A lost wake-up would leave the test in run() forever, so a timer stops that.
TEST(asio_pump, stampede) {
  constexpr int senders = 4;
  constexpr int each = 10'000;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  asio_stage s;
  int handled = 0;
  const auto a = s.spawn<counter>(handled);
  const auto b = s.spawn<counter>(handled);
  std::vector<std::jthread> threads;
  for (unsigned n = 0; n < senders; ++n) {
    threads.emplace_back([&, n] {
      std::mt19937 random{seed + n};
      for (int i = 0; i < each; ++i) {
        const ref<counter>& to = random() % 2 == 0 ? a : b;
        while (to.send(int{i}) == delivery::refused) std::this_thread::yield();
        if (random() % 64 == 0) std::this_thread::yield();
      }
    });
  }
  bool patient = true;
  boost::asio::steady_timer timer{*s.context, 60s};
  timer.async_wait([&](const boost::system::error_code&) { patient = false; });
  while (handled < senders * each && patient) s.context->run_one();
  EXPECT_EQ(handled, senders * each);
}

}  // namespace
}  // namespace troupe::net
