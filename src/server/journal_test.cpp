// SPDX-License-Identifier: Apache-2.0
#include "journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lua/temporary_folder.hpp"

namespace troupe::server::detail {
namespace {

using lua::severity;
using testing::ElementsAre;
using testing::MatchesRegex;

class journal_in : public testing::Test {
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

TEST_F(journal_in, a_line_begins_with_the_time) {
  journal log(to("log"));
  log.write(severity::info, "hello {} %v");
  EXPECT_THAT(lines("log"),
              ElementsAre(MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9]+[+-][0-9:]+ info    server: "
                                       "hello \\{\\} %v")));
}

TEST_F(journal_in, json_is_an_object_in_each_line) {
  log_options how = to("log");
  how.format = log_format::json;
  journal log(how);
  log.write(lua::log_line{severity::warning, "echo", 3, "two\nlines"});
  log.write(http::access{.peer = "::1", .method = "GET", .target = "/", .status = 200});
  const auto all = lines("log");
  ASSERT_EQ(all.size(), 2u);
  const auto one = nlohmann::json::parse(all[0]), two = nlohmann::json::parse(all[1]);
  EXPECT_EQ(one["application"], "echo");
  EXPECT_EQ(one["instance"], 3);
  EXPECT_EQ(one["text"], "two\nlines");
  EXPECT_THAT(one["time"].get<std::string>(), MatchesRegex("20[0-9-]+T[0-9:.+-]+"));
  EXPECT_EQ(two["log"], "access");
}

TEST_F(journal_in, what_matters_less_is_left_out_and_the_access_log_is_its_own) {
  log_options how = to("log");
  how.level = severity::warning;
  journal log(how);
  const http::access request{.peer = "::1", .status = 200};
  log.write(severity::info, "no");
  log.write(severity::warning, "yes");
  log.write(request);
  EXPECT_EQ(lines("log").size(), 2u);

  how.level = severity::debug;
  how.access = false;
  log.reopen(how);
  log.write(severity::debug, "yes");
  log.write(request);
  EXPECT_EQ(lines("log").size(), 3u);
}

TEST_F(journal_in, a_file_that_was_moved_away_is_opened_anew) {
  journal log(to("log"));
  log.write(severity::info, "one");
  std::filesystem::rename(folder_.path() / "log", folder_.path() / "log.1");
  log.write(severity::info, "two");
  log.reopen(to("log"));
  log.write(severity::info, "three");
  EXPECT_EQ(lines("log.1").size(), 2u);
  EXPECT_EQ(lines("log").size(), 1u);
}

TEST_F(journal_in, a_file_that_cannot_be_opened_is_refused_and_changes_nothing) {
  // A name that is a folder: nobody may write there, root neither.
  std::filesystem::create_directory(folder_.path() / "folder");
  EXPECT_THROW(const journal none(to("folder")), std::runtime_error);
  journal log(to("log"));
  EXPECT_THROW(log.reopen(to("folder")), std::runtime_error);
  log.write(severity::info, "still here");
  EXPECT_EQ(lines("log").size(), 1u);
}

TEST_F(journal_in, lines_of_many_threads_are_whole_while_it_is_reopened) {
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
