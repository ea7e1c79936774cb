// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: a server on a port that the system chooses, and sessions that record their events.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <troupe/http/server.hpp>
#include <troupe/troupe.hpp>

#include "raw_client.hpp"

namespace troupe::http::test {

using namespace std::chrono_literals;

/// Waits until `holds` returns true, or fails at the deadline; to be used with ASSERT_TRUE. It
/// polls, because no notification exists for changes of the server's figures. The result depends on
/// the figures, not on the length of the pause.
inline testing::AssertionResult comes_true(const std::function<bool()>& holds,
                                           std::chrono::milliseconds within = patience) {
  const time_point deadline = clock::now() + within;
  while (!holds()) {
    if (clock::now() > deadline) return testing::AssertionFailure() << "it did not come true";
    std::this_thread::sleep_for(1ms);
  }
  return testing::AssertionSuccess();
}

/// The events of the sessions of one test, in order.
class diary {
 public:
  void write(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  /// Waits for that many lines.
  std::vector<std::string> lines(std::size_t at_least) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return lines_.size() >= at_least; });
    return lines_;
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return lines_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

/// Sends every message back.
class echo : public actor {
 public:
  explicit echo(http::websocket client) : client_(std::move(client)) {}
  void on(http::text m) { client_.send(std::move(m.data)); }
  void on(http::binary m) { client_.send_binary(std::move(m.data)); }

 private:
  http::websocket client_;
};

/// Follows the commands that it receives, and records its events.
class obedient : public actor {
 public:
  obedient(http::websocket client, std::shared_ptr<diary> log)
      : client_(std::move(client)), log_(std::move(log)) {
    log_->write("opened");
  }
  void on(http::text m) {
    log_->write("text " + m.data);
    if (m.data == "stop") {
      client_.send("bye");
      stop();
    } else if (m.data == "throw") {
      throw std::runtime_error("as told");
    } else if (m.data == "close") {
      client_.send("bye");
      client_.close(4000, "as told");
      client_.send("too late");
    } else {
      client_.send("ok");
    }
  }
  void on(const http::closed& m) {
    log_->write("closed " + std::to_string(m.code) + " " + m.reason);
  }
  void on_stop() { log_->write("ended"); }

 private:
  http::websocket client_;
  std::shared_ptr<diary> log_;
};

class served : public testing::Test {
 protected:
  explicit served(system_options of = {.workers = 2}) : system_(quietly(std::move(of))) {}

  static system_options quietly(system_options of) {
    of.on_failure = [](const failure&) {};
    return of;
  }
  static http::options on_free_port() {
    http::options o;
    o.port = 0;
    return o;
  }

  /// Routes are added in `prepare`.
  void start(http::options o, const std::function<void(http::server&)>& prepare) {
    server_ = std::make_unique<http::server>(system_, std::move(o));
    prepare(*server_);
    server_->start();
  }
  raw_client connect() const { return raw_client{server_->port()}; }
  raw_client open(const std::string& path) const {
    raw_client c = connect();
    EXPECT_EQ(c.upgrade(path).status, 101u);
    return c;
  }
  http::statistics statistics() const { return server_->statistics(); }

  troupe::system system_;
  std::unique_ptr<http::server> server_;
};

}  // namespace troupe::http::test
