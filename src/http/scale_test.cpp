// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

/// Limits the number of descriptors during its lifetime.
class descriptor_limit {
 public:
  explicit descriptor_limit(rlim_t soft) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = before_;
    now.rlim_cur = std::min(soft, now.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &now) != 0) throw std::runtime_error("setrlimit");
  }
  ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

std::chrono::microseconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream{"/proc/self/statm"} >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

class scale : public served {
 protected:
  void serve(std::size_t loops = 1) {
    http::options o = on_free_port();
    o.loops = loops;
    start(std::move(o), [](http::server& s) {
      s.websocket<echo>("/echo");
      s.route("GET", "/hello", [](const request&) { return response::text("hello\n"); });
    });
  }
};

TEST_F(scale, two_thousand_connections_at_once) {
  constexpr std::size_t crowd_size = 2000;
  const descriptor_limit many{crowd_size * 2 + 200};
  serve(2);
  const std::size_t before = resident_bytes();
  std::vector<raw_client> crowd;
  crowd.reserve(crowd_size);
  // All clients send before the first gets its response.
  for (std::size_t i = 0; i < crowd_size; ++i) crowd.emplace_back(server_->port());
  for (raw_client& c : crowd) c.ask_upgrade("/echo");
  for (raw_client& c : crowd) ASSERT_EQ(c.read_answer().status, 101u);
  EXPECT_EQ(statistics().connections, crowd_size);
  EXPECT_TRUE(comes_true([&] { return statistics().websockets == crowd_size; }));
  const std::size_t each = (resident_bytes() - before) / crowd_size;
  RecordProperty("resident_bytes_per_idle_websocket", std::to_string(each));
  std::cout << "an idle WebSocket: " << each << " bytes of the process, session included\n";

  for (std::size_t i = 0; i < crowd_size; ++i) crowd[i].say(std::to_string(i));
  for (std::size_t i = 0; i < crowd_size; ++i) ASSERT_EQ(crowd[i].hear(), std::to_string(i));
  for (raw_client& c : crowd) c.hang_up();
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().websockets, 0u);
}

TEST_F(scale, the_descriptor_limit_is_survived_without_spinning) {
  serve();
  constexpr std::size_t crowd_size = 60;
  std::vector<raw_client> crowd(crowd_size);  // their descriptors exist before the limit is reached
  const int next_free = ::fcntl(0, F_DUPFD, 3);
  ASSERT_GE(next_free, 0);
  ::close(next_free);
  {
    const descriptor_limit tight{static_cast<rlim_t>(next_free) + 10};
    for (raw_client& c : crowd) c.connect(server_->port());

    ASSERT_TRUE(comes_true([&] { return statistics().accept_pauses >= 1; }));
    const time_point begin = clock::now();
    const auto used_before = processor_time();
    const auto pauses_before = statistics().accept_pauses;
    ASSERT_TRUE(comes_true([&] { return statistics().accept_pauses >= pauses_before + 5; }));
    const auto used = processor_time() - used_before;
    const auto elapsed = clock::now() - begin;
    std::cout << "out of descriptors: " << used.count() << " us of processor time in "
              << std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count() << " us\n";
    EXPECT_LT(used, elapsed / 4);
    EXPECT_LE(statistics().accepted, 12u);

    // Each client that disconnects makes space for another. In the end all are served.
    for (raw_client& c : crowd) {
      EXPECT_EQ(c.get("/hello", "Connection: close\r\n").status, 200u);
      c.read_to_end();
      c.hang_up();
    }
  }
  EXPECT_EQ(statistics().accepted, crowd_size);
  EXPECT_EQ(connect().get("/hello").status, 200u);
}

TEST_F(scale, idle_connections_use_no_processor_time) {
  serve();
  std::vector<raw_client> crowd;
  for (int i = 0; i < 100; ++i) crowd.push_back(open("/echo"));
  const auto before = processor_time();
  // Nothing is to happen for a second. The last client would notice.
  EXPECT_FALSE(crowd.back().readable_within(1000ms));
  EXPECT_LT(processor_time() - before, 20ms);
}

TEST_F(scale, many_short_connections_leave_no_actors) {
  serve(2);
  for (int i = 0; i < 500; ++i) {
    raw_client c = i % 2 == 0 ? open("/echo") : connect();
    if (i % 3 == 0) c.reset();
  }
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  // Only the gate and its listener are left.
  EXPECT_TRUE(comes_true([&] { return system_.statistics().actors_alive == 2; }));
}

}  // namespace
}  // namespace troupe::http::test
