// SPDX-License-Identifier: Apache-2.0
#include "journal.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/detail/base/thread_host.hpp>

#include "lua/temporary_folder.hpp"

namespace troupe::server::detail {
namespace {

using lua::severity;
using testing::ElementsAre;
using testing::MatchesRegex;

class journal_file : public testing::Test {
 protected:
  log_options to(const std::string& name) const { return {.to = (folder_.path() / name).string()}; }

  std::vector<std::string> lines(const std::string& name) const {
    std::istringstream in(folder_.read(name));
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }

  temporary_folder folder_;
};

TEST_F(journal_file, a_line_begins_with_the_time) {
  journal log(to("log"));
  log.write(severity::info, "hello {} %v");
  EXPECT_THAT(lines("log"),
              ElementsAre(MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9]+[+-][0-9:]+ info    server: "
                                       "hello \\{\\} %v")));
}

TEST_F(journal_file, json_format_writes_one_object_per_line) {
  log_options how = to("log");
  how.format = log_format::json;
  journal log(how);
  log.write(lua::log_line{severity::warning, "echo", 3, "two\nlines"});
  log.write(http::access{.peer = "::1", .method = "GET", .target = "/", .status = 200});
  log.settle();
  const auto all = lines("log");
  ASSERT_EQ(all.size(), 2u);
  const auto one = nlohmann::json::parse(all[0]), two = nlohmann::json::parse(all[1]);
  EXPECT_EQ(one["application"], "echo");
  EXPECT_EQ(one["instance"], 3);
  EXPECT_EQ(one["text"], "two\nlines");
  EXPECT_THAT(one["time"].get<std::string>(), MatchesRegex("20[0-9-]+T[0-9:.+-]+"));
  EXPECT_EQ(two["log"], "access");
}

TEST_F(journal_file, filters_by_severity_and_controls_the_access_log_separately) {
  log_options how = to("log");
  how.level = severity::warning;
  journal log(how);
  const http::access request{.peer = "::1", .status = 200};
  log.write(severity::info, "no");
  log.write(severity::warning, "yes");
  log.write(request);
  log.settle();
  EXPECT_EQ(lines("log").size(), 2u);

  how.level = severity::debug;
  how.access = false;
  log.reopen(how);
  log.write(severity::debug, "yes");
  log.write(request);
  log.settle();
  EXPECT_EQ(lines("log").size(), 3u);
}

TEST_F(journal_file, reopen_creates_a_new_file_after_a_rename) {
  journal log(to("log"));
  log.write(severity::info, "one");
  std::filesystem::rename(folder_.path() / "log", folder_.path() / "log.1");
  log.write(severity::info, "two");
  log.reopen(to("log"));
  log.write(severity::info, "three");
  EXPECT_EQ(lines("log.1").size(), 2u);
  EXPECT_EQ(lines("log").size(), 1u);
}

TEST_F(journal_file, a_file_that_cannot_be_opened_is_refused_and_changes_nothing) {
  // A folder in place of the file: not even root can write to it.
  std::filesystem::create_directory(folder_.path() / "folder");
  EXPECT_THROW(const journal none(to("folder")), std::runtime_error);
  journal log(to("log"));
  EXPECT_THROW(log.reopen(to("folder")), std::runtime_error);
  log.write(severity::info, "still here");
  EXPECT_EQ(lines("log").size(), 1u);
}

TEST_F(journal_file, access_lines_beyond_the_quota_are_dropped_and_counted) {
  log_options how = to("log");
  how.access_per_second = 3;
  journal log(how);
  const http::access request{.peer = "::1", .status = 200};
  for (int i = 0; i < 1'000; ++i) log.write(request);
  log.settle();
  const std::size_t written = lines("log").size();
  EXPECT_GE(written, 3u);
  EXPECT_GE(log.left_out(), 1u);
  EXPECT_LE(log.left_out(), 997u);
  const auto is_told = [&] {
    log.write(request);
    log.settle();
    for (const std::string& line : lines("log")) {
      if (line.find("lines of the access log were dropped") != std::string::npos) return true;
    }
    return false;
  };
  const time_point deadline = clock::now() + std::chrono::seconds(20);
  bool told = false;
  while (!(told = is_told()) && clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(told);
}

/// Replaces the clock of this thread by one that the test sets.
class told_time final : troupe::detail::thread_host {
 public:
  told_time() { here() = this; }
  told_time(const told_time&) = delete;
  told_time& operator=(const told_time&) = delete;
  ~told_time() { here() = nullptr; }
  void pass(duration time) { now_ += time; }

 private:
  [[nodiscard]] time_point now() const noexcept override { return now_; }
  void sleep_until(time_point) noexcept override { std::this_thread::yield(); }
  [[nodiscard]] std::uint64_t number_of(const void*, std::uint32_t) override { return 0; }

  time_point now_ = std::chrono::steady_clock::now();
};

TEST_F(journal_file, dropped_access_lines_are_reported_once) {
  log_options how = to("log");
  how.access_per_second = 1;
  {
    journal log(how);
    told_time time;
    const http::access request{.peer = "::1", .status = 200};
    for (const int requests : {3, 5, 1, 1}) {
      for (int i = 0; i < requests; ++i) log.write(request);
      time.pass(std::chrono::seconds(2));
    }
    EXPECT_EQ(log.left_out(), 6u);
  }
  std::vector<std::string> told;
  for (const std::string& line : lines("log")) {
    const auto at = line.find(" lines of the access log were dropped");
    if (at != std::string::npos) told.push_back(line.substr(line.rfind(' ', at - 1) + 1, 1));
  }
  EXPECT_THAT(told, ElementsAre("2", "4"));
}

TEST_F(journal_file, requests_that_wait_when_it_ends_are_written) {
  {
    journal log(to("log"));
    for (int i = 0; i < 500; ++i) log.write(http::access{.peer = "::1", .status = 200});
  }
  EXPECT_EQ(lines("log").size(), 500u);
}

TEST_F(journal_file, writing_never_blocks_on_a_stalled_output) {
  const std::string pipe = (folder_.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  log_options how = to("pipe");
  how.access_per_second = 1'000'000;
  std::thread reads;
  {
    journal log(how);
    // The pipe is not read. Lines beyond the capacity of the pipe and the journal are dropped, and
    // no write() waits.
    const http::access request{.peer = "::1", .target = "/", .status = 200};
    for (int i = 0; i < 100'000 && log.left_out() == 0; ++i) log.write(request);
    EXPECT_GE(log.left_out(), 1u);
    reads = std::thread([reader] {
      std::array<char, 65'536> some;
      ::fcntl(reader, F_SETFL, 0);
      while (::read(reader, some.data(), some.size()) > 0) {
      }
    });
  }
  reads.join();
  ::close(reader);
}

TEST_F(journal_file, lines_of_many_threads_are_whole_while_it_is_reopened) {
  journal log(to("log"));
  constexpr int writers = 3, each = 200;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < writers; ++i) {
      threads.emplace_back([&log] {
        for (int k = 0; k < each; ++k) log.write(severity::info, "0123456789");
      });
    }
    for (int k = 0; k < 20; ++k) log.reopen(to("log"));
  }
  const auto all = lines("log");
  EXPECT_EQ(all.size(), static_cast<std::size_t>(writers * each));
  for (const std::string& line : all) ASSERT_THAT(line, testing::EndsWith(" server: 0123456789"));
}

}  // namespace
}  // namespace troupe::server::detail
