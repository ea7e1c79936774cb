// SPDX-License-Identifier: Apache-2.0
// A client that sends more than its session's mailbox, or a budget, accepts.

#include <gtest/gtest.h>

#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

constexpr std::size_t first_number = 10'000'000;  // so that all have the same length
constexpr std::size_t kib = 1024;

std::string numbered(std::size_t i, std::size_t bytes) {
  std::string s = std::to_string(first_number + i);
  s.resize(bytes, 'x');
  return s;
}

std::vector<std::string> numbers(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(std::to_string(first_number + i));
  return all;
}

/// Handles one message each time that it is allowed to, and records its number.
class hesitant : public actor {
 public:
  using gate = std::counting_semaphore<>;

  hesitant(http::websocket, std::shared_ptr<diary> log, std::shared_ptr<gate> open)
      : log_(std::move(log)), open_(std::move(open)) {}
  void on(const http::text& m) {
    open_->acquire();
    if (m.data == "fail") throw std::runtime_error("as told");
    log_->write(m.data.substr(0, 8));
  }
  void on(const http::closed& m) { log_->write("closed " + std::to_string(m.code)); }

 private:
  std::shared_ptr<diary> log_;
  std::shared_ptr<gate> open_;
};

/// Keeps the messages, and with them their places in the window.
class hoarder : public actor {
 public:
  hoarder(http::websocket, std::shared_ptr<diary> log) : log_(std::move(log)) {}
  void on(http::text m) {
    log_->write(m.data.substr(0, 8));
    kept_.push_back(std::move(m));
  }

 private:
  std::shared_ptr<diary> log_;
  std::vector<http::text> kept_;
};

class held_back : public served {
 protected:
  using served::served;

  /// `slow` are the options of the sessions at /slow, each of which runs on a thread of its own.
  void serve(spawn_options slow, http::limits l = {}) {
    http::options o = on_free_port();
    o.limits = l;
    slow.where = own_thread;
    start(std::move(o), [&](http::server& s) {
      s.websocket<hesitant>("/slow", slow, log_, open_);
      s.websocket<hoarder>("/keep", spawn_options{.max_messages = 2}, log_);
      s.websocket<echo>("/echo");
      s.route("GET", "/hello", [](const request&) { return response::text("hello\n"); });
    });
  }
  void TearDown() override { open_->release(1'000'000); }

  raw_client flood(const std::string& path, std::size_t messages, std::size_t bytes) {
    raw_client c = open(path);
    for (std::size_t i = 0; i < messages; ++i) c.say(numbered(i, bytes));
    return c;
  }
  testing::AssertionResult is_held_back() {
    return comes_true([&] { return statistics().held_back == 1; });
  }
  /// Makes the only loop run its pending work many times.
  void ask_often() {
    raw_client c = connect();
    for (int i = 0; i < 100; ++i) ASSERT_EQ(c.get("/hello").body, "hello\n");
  }

  std::shared_ptr<diary> log_ = std::make_shared<diary>();
  std::shared_ptr<hesitant::gate> open_ = std::make_shared<hesitant::gate>(0);
};

constexpr http::limits wide_window{.receive_window = 1000};

TEST_F(held_back, by_a_full_mailbox_until_the_session_has_caught_up) {
  serve({.max_messages = 4}, wide_window);
  raw_client c = flood("/slow", 40, kib);
  ASSERT_TRUE(is_held_back());
  const auto at_first = statistics();
  EXPECT_EQ(at_first.messages_in, 5u) << "what fits, and the one that said that it is full";
  EXPECT_EQ(at_first.mailbox_pauses, 1u);

  raw_client other = open("/echo");
  for (int i = 0; i < 100; ++i) {
    other.say("hello");
    ASSERT_EQ(other.hear(), "hello");
  }
  ask_often();
  EXPECT_EQ(statistics().messages_in, 105u);
  EXPECT_EQ(statistics().held_back, 1u);

  open_->release(1'000'000);
  EXPECT_EQ(log_->lines(40), numbers(40));
  EXPECT_TRUE(comes_true([&] { return statistics().held_back == 0; }));
  EXPECT_TRUE(comes_true([&] { return statistics().messages_in == 140; }));
  EXPECT_EQ(system_.statistics().messages_refused, 0u);
  EXPECT_EQ(system_.statistics().dead_letters, 0u);
}

TEST_F(held_back, by_the_budget_of_a_group_until_it_has_room) {
  const budget group{10 * kib};
  serve({.memory_budget = group}, wide_window);
  raw_client c = flood("/slow", 40, 3 * kib);
  ASSERT_TRUE(is_held_back());
  raw_client other = open("/echo");
  other.say("hello");
  EXPECT_EQ(other.hear(), "hello");
  ask_often();
  EXPECT_EQ(statistics().messages_in, 4u) << "three, and the other client's";
  EXPECT_EQ(statistics().refusal_pauses, 1u);
  EXPECT_LE(group.used(), group.limit());

  open_->release(1'000'000);
  EXPECT_EQ(log_->lines(40), numbers(40));
  EXPECT_TRUE(comes_true([&] { return statistics().held_back == 0; }));
  EXPECT_EQ(system_.statistics().dead_letters, 0u);
}

TEST_F(held_back, messages_kept_by_the_session_do_not_suspend_reading) {
  serve({}, wide_window);
  raw_client c = flood("/keep", 100, kib);
  EXPECT_EQ(log_->lines(100), numbers(100));
  EXPECT_TRUE(comes_true([&] { return statistics().held_back == 0; }));
}

TEST_F(held_back, is_offered_again_after_longer_and_longer) {
  serve({.memory_budget = budget{3 * kib}}, wide_window);
  const time_point begin = clock::now();
  raw_client c = flood("/slow", 3, 2 * kib);
  // After waits of 1, 2, 4, … 128 ms.
  ASSERT_TRUE(comes_true([&] { return system_.statistics().messages_refused >= 9; }));
  EXPECT_GE(clock::now() - begin, 255ms);
  EXPECT_EQ(statistics().refusal_pauses, 1u) << "it is one and the same pause";
  open_->release(3);
  EXPECT_EQ(log_->lines(3), numbers(3));
}

TEST_F(held_back, never_for_a_message_that_no_room_suffices_for) {
  serve({.max_bytes = 1000, .on_full = overflow::refuse}, wide_window);
  raw_client c = flood("/slow", 1, 16 * kib);
  EXPECT_EQ(c.read_close().code(), 1009u);
  EXPECT_EQ(statistics().messages_too_large, 1u);
  EXPECT_EQ(statistics().held_back, 0u);
}

TEST_F(held_back, never_for_a_message_that_is_larger_than_the_budget) {
  serve({.memory_budget = budget{10 * kib}}, wide_window);
  raw_client c = flood("/slow", 1, 16 * kib);
  EXPECT_EQ(c.read_close().code(), 1009u);
}

// ── The memory of the whole system ────────────────────────────────────────────────────────────

class held_back_by_memory : public held_back {
 protected:
  static constexpr std::size_t budget_bytes = 256 * kib;
  static constexpr std::size_t message_bytes = 32 * kib;

  held_back_by_memory() : held_back({.workers = 2, .memory_budget = budget_bytes}) {}
};

TEST_F(held_back_by_memory, nothing_is_lost_and_the_rest_stays_with_the_client) {
  serve({}, wide_window);
  raw_client c = open("/slow");
  std::string frame;
  std::size_t begun = 0, of_current = 0, sent = 0;
  const auto push = [&] {
    if (of_current == frame.size()) {
      frame = raw_client::frame(raw_client::text, numbered(begun++, message_bytes));
      of_current = 0;
    }
    const std::size_t n = c.send_some(std::string_view{frame}.substr(of_current));
    of_current += n;
    sent += n;
    return n > 0;
  };
  ASSERT_TRUE(comes_true([&] { return push(), statistics().held_back == 1; }));
  // Then the sockets are full: they take nothing for a while.
  time_point last_taken = clock::now();
  while (clock::now() - last_taken < 300ms) {
    if (push()) last_taken = clock::now();
    ASSERT_LT(sent, 64u * kib * kib);
  }
  ask_often();
  EXPECT_EQ(statistics().held_back, 1u);
  EXPECT_LE(statistics().messages_in, budget_bytes / message_bytes + 1);
  EXPECT_LE(statistics().bytes_in, (statistics().messages_in + 2) * message_bytes);
  EXPECT_LE(system_.statistics().message_bytes_waiting, budget_bytes + 2 * message_bytes);

  open_->release(1'000'000);
  ASSERT_TRUE(comes_true([&] { return of_current == frame.size() || (push(), false); }));
  EXPECT_EQ(log_->lines(begun), numbers(begun));
  EXPECT_EQ(system_.statistics().dead_letters, 0u);
}

// ── Termination ───────────────────────────────────────────────────────────────────────────────

/// Runs each test twice: after a full mailbox, and with a refused message in hand.
class held_back_either_way : public held_back, public testing::WithParamInterface<bool> {
 protected:
  static bool in_hand() { return GetParam(); }
  void serve_either(http::limits l = wide_window) {
    spawn_options slow;
    if (in_hand()) {
      slow.memory_budget = budget{10 * kib};
    } else {
      slow.max_messages = 2;
    }
    serve(slow, l);
  }
  raw_client flooding() { return flood("/slow", 20, 3 * kib); }
};

INSTANTIATE_TEST_SUITE_P(, held_back_either_way, testing::Bool(),
                         [](const auto& of) { return of.param ? "by_refusal" : "by_mailbox"; });

TEST_P(held_back_either_way, a_disconnect_is_noticed_after_the_last_message) {
  serve_either();
  raw_client c = flooding();
  ASSERT_TRUE(is_held_back());
  c.hang_up();
  open_->release(1'000'000);
  auto expected = numbers(20);
  expected.emplace_back("closed 1006");
  EXPECT_EQ(log_->lines(21), expected);
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().held_back, 0u);
}

TEST_P(held_back_either_way, a_client_is_not_taken_for_silent) {
  http::limits l = wide_window;
  l.idle_timeout = 300ms;
  serve_either(l);
  raw_client c = flooding();
  ASSERT_TRUE(is_held_back());
  // Longer than an idle connection would be kept if it were read.
  EXPECT_FALSE(comes_true([&] { return statistics().connections == 0; }, 1000ms));
  open_->release(1'000'000);
  EXPECT_EQ(log_->lines(20), numbers(20));
}

TEST_P(held_back_either_way, stop_closes_it_while_the_session_is_blocked) {
  serve_either();
  raw_client c = flooding();
  ASSERT_TRUE(is_held_back());
  const std::size_t taken = statistics().messages_in;
  server_->stop();
  EXPECT_EQ(statistics().connections, 0u);
  EXPECT_EQ(statistics().held_back, 0u);
  EXPECT_EQ(log_->size(), 0u);
  open_->release(1'000'000);
  auto expected = numbers(taken);
  expected.emplace_back("closed 1006");
  EXPECT_EQ(log_->lines(taken + 1), expected);
  EXPECT_TRUE(system_.shutdown(30s).complete());
}

TEST_P(held_back_either_way, the_system_may_shut_down) {
  serve_either();
  raw_client c = flooding();
  ASSERT_TRUE(is_held_back());
  {
    // The session has handlers to run before it notices its stop.
    const std::jthread later{[&] {
      EXPECT_TRUE(comes_true([&] { return statistics().held_back == 0; }));
      open_->release(1'000'000);
    }};
    EXPECT_TRUE(system_.shutdown(30s).complete());
  }
  server_.reset();
}

TEST_P(held_back_either_way, a_drain_delivers_received_messages) {
  serve_either();
  raw_client c = flooding();
  ASSERT_TRUE(is_held_back());
  const std::size_t received = statistics().messages_in + (in_hand() ? 1 : 0);
  bool drained = false;
  {
    const std::jthread draining{[&] { drained = server_->drain(30s); }};
    ASSERT_TRUE(comes_true([&] {
      try {
        connect();
        return false;
      } catch (const std::system_error&) {
        return true;
      }
    }));
    open_->release(1'000'000);
    EXPECT_EQ(c.read_close().code(), 1001u);
    c.hang_up();
  }
  EXPECT_TRUE(drained);
  auto expected = numbers(received);
  expected.emplace_back("closed 1001");
  EXPECT_EQ(log_->lines(received + 1), expected);
  EXPECT_EQ(statistics().held_back, 0u);
}

TEST_P(held_back_either_way, a_session_that_fails_ends_it) {
  serve_either();
  raw_client c = open("/slow");
  c.say("fail");
  for (std::size_t i = 0; i < 20; ++i) c.say(numbered(i, 3 * kib));
  ASSERT_TRUE(is_held_back());
  open_->release();
  EXPECT_EQ(c.read_close().code(), 1011u);
  EXPECT_TRUE(comes_true([&] { return statistics().held_back == 0; }));
  c.hang_up();
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

}  // namespace
}  // namespace troupe::http::test
