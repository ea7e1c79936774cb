// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

/// Sends as fast as it can until it is refused.
class firehose : public actor {
 public:
  firehose(http::websocket client, std::shared_ptr<diary> log)
      : client_(std::move(client)), log_(std::move(log)) {}
  void on(const http::text&) {
    const auto drop = std::make_shared<const std::string>(16 * 1024, 'x');
    std::size_t accepted = 0;
    while (client_.send(*drop) == delivery::accepted) ++accepted;
    log_->write("refused after " + std::to_string(accepted));
  }
  void on(const http::closed& m) {
    log_->write("closed " + std::to_string(m.code) + " " + m.reason);
  }

 private:
  http::websocket client_;
  std::shared_ptr<diary> log_;
};

/// Sends a message each millisecond until it is refused, like a feed with a subscriber.
class feed : public actor {
 public:
  static constexpr std::size_t message_bytes = 64 * 1024;

  feed(http::websocket client, std::shared_ptr<diary> log)
      : client_(std::move(client)), log_(std::move(log)) {}

  struct next {};
  void on(const http::text&) { pace_ = self(this).send_every(1ms, next{}); }
  void on(next) {
    if (client_.send(std::string(message_bytes, 'x')) == delivery::accepted) {
      ++accepted_;
    } else if (pace_.cancel()) {
      log_->write("refused after " + std::to_string(accepted_));
    }
  }
  void on(const http::closed& m) {
    log_->write("closed " + std::to_string(m.code) + " " + m.reason);
  }

 private:
  http::websocket client_;
  std::shared_ptr<diary> log_;
  timer pace_;
  std::size_t accepted_ = 0;
};

/// Handles one message each time that it is allowed to.
struct turnstile {
  std::counting_semaphore<> open{0};
  atomic<std::size_t> passed{0};
};

class hesitant : public actor {
 public:
  hesitant(http::websocket client, std::shared_ptr<turnstile> gate)
      : client_(std::move(client)), gate_(std::move(gate)) {}
  void on(http::text m) {
    gate_->open.acquire();
    gate_->passed.fetch_add(1, seq_cst);
    client_.send(m.data.substr(0, 8));
  }

 private:
  http::websocket client_;
  std::shared_ptr<turnstile> gate_;
};

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream{"/proc/self/statm"} >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

class flow_control : public served {
 protected:
  void serve(const http::limits& l) {
    http::options o = on_free_port();
    o.limits = l;
    start(std::move(o), [this](http::server& s) {
      s.websocket<firehose>("/firehose", log_);
      s.websocket<feed>("/feed", log_);
      s.websocket<hesitant>("/hesitant", gate_);
      s.websocket<echo>("/echo");
    });
  }
  void TearDown() override { gate_->open.release(1'000'000); }

  std::shared_ptr<diary> log_ = std::make_shared<diary>();
  std::shared_ptr<turnstile> gate_ = std::make_shared<turnstile>();
};

TEST_F(flow_control, a_reader_that_never_reads_is_closed_and_memory_stays_bounded) {
  serve({.close_timeout = 300ms, .send_queue_bytes = 1024 * 1024});
  const std::size_t before = resident_bytes();
  raw_client c{server_->port(), 4096};
  ASSERT_EQ(c.upgrade("/feed").status, 101u);
  c.say("go");
  const auto lines = log_->lines(2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].starts_with("refused after ")) << lines[0];
  EXPECT_EQ(lines[1], "closed 1008 reading too slowly");
  const std::size_t grown = resident_bytes() - std::min(before, resident_bytes());

  EXPECT_EQ(statistics().slow_readers_closed, 1u);
  const std::size_t accepted = std::stoul(lines[0].substr(14)) * feed::message_bytes;
  EXPECT_LE(accepted, statistics().bytes_out + 1024 * 1024);
  RecordProperty("resident_bytes_grown", std::to_string(grown));
  std::cout << "a slow reader: " << accepted / 1024 << " KiB accepted, "
            << statistics().bytes_out / 1024 << " KiB taken by the socket, process grew by "
            << grown / 1024 << " KiB\n";
  EXPECT_LT(grown, 32u * 1024 * 1024);
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_F(flow_control, a_slow_reader_that_wakes_up_reads_1008) {
  serve({.close_timeout = 30s, .send_queue_bytes = 256 * 1024});
  raw_client c{server_->port(), 4096};
  ASSERT_EQ(c.upgrade("/firehose").status, 101u);
  c.say("go");
  ASSERT_EQ(log_->lines(1).size(), 1u);
  EXPECT_EQ(c.read_close().code(), 1008u);
  EXPECT_EQ(c.read_to_end(), "");
}

TEST_F(flow_control, slow_readers_do_not_slow_down_others) {
  serve({.close_timeout = 30s, .send_queue_bytes = 64 * 1024});
  std::vector<raw_client> slow;
  for (int i = 0; i < 20; ++i) {
    slow.emplace_back(server_->port(), 4096);
    ASSERT_EQ(slow.back().upgrade("/firehose").status, 101u);
    slow.back().say("go");
  }
  raw_client c = open("/echo");
  for (int i = 0; i < 100; ++i) {
    c.say("hello");
    ASSERT_EQ(c.hear(), "hello");
  }
  ASSERT_TRUE(comes_true([&] { return statistics().slow_readers_closed == 20; }));
}

TEST_F(flow_control, a_message_larger_than_the_queue_closes) {
  serve({.message_bytes = 100'000, .close_timeout = 300ms, .send_queue_bytes = 1000});
  raw_client c = open("/echo");
  c.say(std::string(900, 'x'));
  EXPECT_EQ(c.hear().size(), 900u);
  c.say(std::string(1001, 'x'));
  EXPECT_EQ(c.read_close().code(), 1008u);
}

TEST_F(flow_control, a_flood_stops_the_reading_until_the_session_has_caught_up) {
  serve({.receive_window = 8});
  raw_client c = open("/hesitant");
  // Numbers padded to 32 KiB. Data that fits neither into the sockets nor into the window stays
  // with the client.
  std::string flood;
  std::size_t begun = 0, sent = 0, of_current = 0;
  const auto push = [&] {
    if (of_current == flood.size()) {
      std::string number = std::to_string(10'000'000 + begun++);
      flood = raw_client::frame(raw_client::text, number + std::string(32 * 1024, 'x'));
      of_current = 0;
    }
    const std::size_t n = c.send_some(std::string_view{flood}.substr(of_current));
    of_current += n;
    sent += n;
    return n > 0;
  };
  // The server has stopped reading, and then the sockets are full: they take nothing for a while.
  ASSERT_TRUE(comes_true([&] { return (void)push(), statistics().receive_pauses == 1; }));
  time_point last_taken = clock::now();
  while (clock::now() - last_taken < 300ms) {
    if (push()) last_taken = clock::now();
    ASSERT_LT(sent, 64u * 1024 * 1024);
  }
  EXPECT_EQ(statistics().receive_pauses, 1u);
  EXPECT_EQ(statistics().messages_in, 8u);
  EXPECT_EQ(gate_->passed.load(seq_cst), 0u);

  gate_->open.release(1'000'000);
  ASSERT_TRUE(comes_true([&] { return of_current == flood.size() || (push(), false); }));
  for (std::size_t i = 0; i < begun; ++i) ASSERT_EQ(c.hear(), std::to_string(10'000'000 + i));
}

TEST_F(flow_control, a_paused_client_is_not_taken_for_silent) {
  serve({.idle_timeout = 300ms, .receive_window = 1});
  raw_client c = open("/hesitant");
  c.say("first");
  ASSERT_TRUE(comes_true([&] { return statistics().receive_pauses == 1; }));
  // Longer than an idle connection would be kept if it were read.
  EXPECT_FALSE(comes_true([&] { return statistics().connections == 0; }, 1000ms));
  gate_->open.release();
  EXPECT_EQ(c.hear(), "first");
}

TEST_F(flow_control, any_number_of_pings_is_answered) {
  serve({});
  raw_client c = open("/echo");
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += raw_client::frame(raw_client::ping, std::to_string(i));
  c.send(pings);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(c.read_frame().payload, std::to_string(i));
}

TEST_F(flow_control, a_reset_while_sending_ends_the_session) {
  serve({});
  raw_client c{server_->port(), 4096};
  ASSERT_EQ(c.upgrade("/echo").status, 101u);
  const std::string message = raw_client::frame(raw_client::text, std::string(60'000, 'x'));
  for (int i = 0; i < 10; ++i) c.send_some(message);
  c.reset();
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

}  // namespace
}  // namespace troupe::http::test
