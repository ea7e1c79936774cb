// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/settings.hpp>

#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

class settings : public ::testing::Test {
 protected:
  settings()
      : file_((std::filesystem::temp_directory_path() /
               ("troupe-settings-" + std::to_string(::getpid())))
                  .string()) {}
  ~settings() override { std::filesystem::remove(file_); }

  troupe::system_options read(const std::string& text, troupe::system_options base = {}) const {
    std::ofstream(file_) << text;
    return troupe::read_settings(file_, base);
  }

  // The error message, without the file's name.
  std::string refused(const std::string& text) const {
    try {
      (void)read(text);
    } catch (const std::runtime_error& why) {
      const std::string all = why.what();
      EXPECT_EQ(all.rfind(file_ + ":", 0), 0U) << all;
      return all.substr(file_.size() + 1);
    }
    return "nothing";
  }

  const std::string file_;
};

TEST_F(settings, each_of_them_is_read) {
  const auto options = read(
      "workers = 3\nmax_threads=7\n\tturn_messages = 256 # more than usual\nspin_rounds = 9\r\n\n"
      "# what follows is room\nmax_messages = 1_024\nmax_bytes = 1000000");
  EXPECT_EQ(options.workers, 3U);
  EXPECT_EQ(options.max_threads, 7U);
  EXPECT_EQ(options.turn_messages, 256U);
  EXPECT_EQ(options.spin_rounds, 9U);
  EXPECT_EQ(options.max_messages, 1'024U);
  EXPECT_EQ(options.max_bytes, 1'000'000U);
}

TEST_F(settings, not_mentioned_in_the_file_keep_their_values) {
  const auto options = read("workers = 1\n", {.niceness = 5, .max_messages = 17});
  EXPECT_EQ(options.workers, 1U);
  EXPECT_EQ(options.niceness, 5);
  EXPECT_EQ(options.max_messages, 17U);
  EXPECT_EQ(options.turn_messages, troupe::system_options{}.turn_messages);
}

TEST_F(settings, are_unchanged_by_an_empty_file) { EXPECT_EQ(read("").workers, 0U); }

TEST_F(settings, the_greatest_number_of_messages_is_one_that_a_system_takes) {
  const troupe::system made(read("max_messages = 131071"));
  EXPECT_EQ(refused("max_messages = 131072"),
            "1: \"131072\" is not a valid value for max_messages; it must be a whole number from 1 "
            "to 131071");
}

TEST_F(settings, an_invalid_line_is_reported_with_the_allowed_values) {
  EXPECT_EQ(refused("workers = 1\nworker = 2\n"),
            "2: \"worker\" is not a setting; valid settings are workers, max_threads, "
            "turn_messages, spin_rounds, max_messages, max_bytes");
  EXPECT_EQ(refused("search_rounds = 7"), "1: \"search_rounds\" has been renamed to spin_rounds");
  EXPECT_EQ(refused("workers\n"), "1: \"workers\" is not of the form NAME = NUMBER");
  EXPECT_EQ(refused("workers = 1\n\nworkers = 1\n"),
            "3: \"workers\" is set twice; remove one of the lines");
  const std::string allowed =
      " is not a valid value for workers; it must be a whole number from 0 to 1024";
  for (const std::string wrong : {"-1", "1.5", "two", "", "1025", "99999999999999999999", "1 2"}) {
    EXPECT_EQ(refused("workers = " + wrong), "1: \"" + wrong + "\"" + allowed);
  }
  EXPECT_EQ(refused("turn_messages = 0"),
            "1: \"0\" is not a valid value for turn_messages; it must be a whole number from 1 to "
            "1000000");
}

TEST_F(settings, a_missing_file_is_named_in_the_error) {
  EXPECT_EQ(refused("").substr(0, 7), "nothing");
  try {
    (void)troupe::read_settings(file_ + ".missing");
    FAIL();
  } catch (const std::runtime_error& why) {
    EXPECT_EQ(std::string(why.what()),
              file_ + ".missing: the settings cannot be read: No such file or directory");
  }
}

TEST_F(settings, a_folder_is_no_file) {
  EXPECT_THROW((void)troupe::read_settings("/tmp"), std::runtime_error);
}

}  // namespace
