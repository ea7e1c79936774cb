// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/socket_file.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <troupe/detail/actor/simulation_driver.hpp>

namespace troupe::net {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& at, int why, const std::string& what = {}) {
  throw std::system_error(why, std::system_category(),
                          "cannot listen on the Unix socket '" + at.string() + "'" + what);
}

sockaddr_un address_of(const fs::path& at) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::string& text = at.native();
  if (text.empty()) fail(at, EINVAL);
  // One byte is for the zero at the end.
  if (text.size() >= sizeof to.sun_path) {
    fail(at, ENAMETOOLONG,
         ", whose path has " + std::to_string(text.size()) + " bytes; the maximum is " +
             std::to_string(sizeof to.sun_path - 1));
  }
  std::memcpy(to.sun_path, text.data(), text.size());
  return to;
}

// A process that listens without accepting at the moment counts: without blocking, connect() then
// fails with EAGAIN.
bool is_in_use(const sockaddr_un& at) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  const bool connects = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  const int why = errno;
  ::close(fd);
  return connects || (why != ECONNREFUSED && why != ENOENT);
}

void remove_stale(const fs::path& at, const sockaddr_un& to) {
  struct ::stat there {};
  if (::lstat(at.c_str(), &there) != 0) return;
  if (!S_ISSOCK(there.st_mode)) fail(at, EEXIST, ", which is not a socket");
  if (is_in_use(to)) fail(at, EADDRINUSE);
  if (::unlink(at.c_str()) != 0 && errno != ENOENT) fail(at, errno);
}

}  // namespace

socket_file::socket_file(fs::path at) : at_(std::move(at)) {
  const sockaddr_un to = address_of(at_);
  if (troupe::detail::simulation_driver::here() != nullptr) {
    fail(at_, ENOTSUP, "; a simulation has none");
  }
  remove_stale(at_, to);
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail(at_, errno);
  struct ::stat made {};
  // Linux creates the file with the mode of the descriptor, so there is no moment at which others
  // may connect, and the umask of the process, which all threads share, is not touched.
  if (::fchmod(fd_, 0600) != 0 ||
      ::bind(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
      ::lstat(at_.c_str(), &made) != 0) {
    const int why = errno;
    ::close(fd_);
    fail(at_, why);
  }
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

socket_file::~socket_file() {
  if (fd_ >= 0) ::close(fd_);
  struct ::stat there {};
  if (::lstat(at_.c_str(), &there) != 0) return;
  if (there.st_dev == device_ && there.st_ino == inode_) ::unlink(at_.c_str());
}

acceptor socket_file::listen(io_context& on) {
  if (::listen(fd_, SOMAXCONN) != 0) fail(at_, errno);
  acceptor result{on};
  // Asio uses the protocol of a descriptor for nothing but opening one and its endpoints.
  result.assign(protocol::v4(), fd_);
  fd_ = -1;
  return result;
}

}  // namespace troupe::net
