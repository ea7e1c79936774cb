// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/socket_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <troupe/sim/simulation.hpp>

namespace troupe::net {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class socket_file_at : public testing::Test {
 protected:
  socket_file_at() {
    std::string name = (fs::temp_directory_path() / "troupe-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "socket";
  }
  ~socket_file_at() override { fs::remove_all(folder_); }

  static mode_t mode_of(const fs::path& of) {
    struct ::stat there {};
    return ::lstat(of.c_str(), &there) == 0 ? there.st_mode & 07777 : 0;
  }
  /// -1, with errno, if it cannot.
  int connect() const {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, path_.c_str(), sizeof to.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return fd;
    const int why = errno;
    ::close(fd);
    errno = why;
    return -1;
  }
  /// Creates the file that a killed process leaves.
  void leave_stale_file() const {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, path_.c_str(), sizeof to.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    ASSERT_EQ(::listen(fd, 1), 0);
    ::close(fd);
  }
  static std::string refusal_of(const fs::path& at) {
    try {
      const socket_file made(at);
    } catch (const std::system_error& why) {
      return why.what();
    }
    return "none";
  }

  fs::path folder_, path_;
  io_context context_{1};
};

TEST_F(socket_file_at, only_its_user_may_connect_whatever_the_umask) {
  const mode_t before = ::umask(0);
  const socket_file made(path_);
  ::umask(before);
  EXPECT_EQ(mode_of(path_), 0600u);
}

TEST_F(socket_file_at, accepts_connections_and_is_removed_at_the_end) {
  {
    socket_file made(path_);
    acceptor on = made.listen(context_);
    const int client = connect();
    ASSERT_GE(client, 0);
    ASSERT_EQ(::write(client, "hello", 5), 5);
    std::string got(5, ' ');
    on.async_accept(context_, [&](error_code error, socket accepted) {
      ASSERT_FALSE(error) << error.message();
      boost::system::error_code failed;
      boost::asio::read(static_cast<asio_socket&>(accepted), boost::asio::buffer(got), failed);
      EXPECT_FALSE(failed) << failed.message();
    });
    context_.run();
    EXPECT_EQ(got, "hello");
    ::close(client);
  }
  EXPECT_FALSE(fs::exists(fs::symlink_status(path_)));
}

TEST_F(socket_file_at, replaces_the_file_of_a_process_that_is_gone) {
  leave_stale_file();
  ASSERT_EQ(connect(), -1);
  socket_file made(path_);
  const acceptor on = made.listen(context_);
  const int client = connect();
  EXPECT_GE(client, 0);
  ::close(client);
  EXPECT_EQ(mode_of(path_), 0600u);
}

TEST_F(socket_file_at, a_process_that_listens_keeps_its_file) {
  socket_file made(path_);
  const acceptor on = made.listen(context_);
  EXPECT_THAT(refusal_of(path_), HasSubstr("cannot listen on the Unix socket '" + path_.string() +
                                           "': Address already in use"));
  const int client = connect();
  EXPECT_GE(client, 0);
  ::close(client);
}

// Its backlog is full, so it answers a connect() with EAGAIN, or lets it wait.
TEST_F(socket_file_at, a_process_that_does_not_accept_at_the_moment_keeps_its_file) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, path_.c_str(), sizeof to.sun_path - 1);
  const int busy = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(busy, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  ASSERT_EQ(::listen(busy, 0), 0);
  std::vector<int> waiting;
  for (int fd = connect(); fd >= 0; fd = connect()) waiting.push_back(fd);
  ASSERT_EQ(errno, EAGAIN);
  EXPECT_THAT(refusal_of(path_), HasSubstr("Address already in use"));
  EXPECT_TRUE(fs::is_socket(path_));
  for (const int fd : waiting) ::close(fd);
  ::close(busy);
}

TEST_F(socket_file_at, what_is_not_a_socket_stays_and_is_named) {
  std::ofstream(path_) << "mine";
  EXPECT_THAT(refusal_of(path_), HasSubstr("which is not a socket: File exists"));
  EXPECT_EQ(fs::file_size(path_), 4u);
  fs::remove(path_);
  const fs::path target = folder_ / "target";
  std::ofstream(target) << "mine";
  fs::create_symlink(target, path_);
  EXPECT_THAT(refusal_of(path_), HasSubstr("which is not a socket"));
  EXPECT_EQ(fs::file_size(target), 4u);
}

TEST_F(socket_file_at, a_path_that_is_too_long_or_whose_folder_is_missing_is_named) {
  EXPECT_THAT(refusal_of(folder_ / std::string(200, 'x')),
              HasSubstr("bytes; the maximum is 107: File name too long"));
  EXPECT_THAT(refusal_of(folder_ / "no" / "socket"), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal_of(""), HasSubstr("cannot listen on the Unix socket ''"));
}

TEST_F(socket_file_at, a_file_that_another_process_has_put_there_is_not_removed) {
  {
    const socket_file made(path_);
    fs::remove(path_);
    leave_stale_file();
  }
  EXPECT_TRUE(fs::is_socket(path_));
}

TEST_F(socket_file_at, a_simulation_has_none) {
  const sim::simulation sim(1);
  EXPECT_THAT(refusal_of(path_), HasSubstr("a simulation has none"));
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
}  // namespace troupe::net
