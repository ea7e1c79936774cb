// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/control.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace troupe::server {
namespace {

using namespace std::chrono_literals;

class control : public testing::Test {
 protected:
  control() {
    std::string name = (std::filesystem::temp_directory_path() / "troupe-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~control() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path socket() const { return folder_ / "control"; }
  static command_result echo(const std::string& command) { return {true, command}; }

  std::filesystem::path folder_;
};

TEST_F(control, a_socket_has_one_server_at_a_time) {
  for (int i = 0; i < 2; ++i) {
    const control_socket one(socket(), echo);
    EXPECT_THROW(control_socket(socket(), echo), std::runtime_error);
    EXPECT_EQ(send_command(socket(), "here", 5s).text, "here") << "the first one has it still";
  }
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(control, a_socket_is_for_its_user_alone_and_other_files_are_as_before) {
  const mode_t before = ::umask(0022);
  {
    const control_socket one(socket(), echo);
    struct stat its {};
    ASSERT_EQ(::stat(socket().c_str(), &its), 0);
    EXPECT_EQ(its.st_mode & 0077, 0u);
    const std::filesystem::path beside = folder_ / "beside";
    std::ofstream(beside) << "text";
    ASSERT_EQ(::stat(beside.c_str(), &its), 0);
    EXPECT_EQ(its.st_mode & 0777, 0644u);
  }
  ::umask(before);
}

}  // namespace
}  // namespace troupe::server
