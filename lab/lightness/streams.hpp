// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "lab/lightness/processes.hpp"

namespace troupe::lab {

/// A stream of bytes in each direction between two sides. A side may be a thread, or a process that
/// was created after this object: each side has both ends.
///
/// Errors: std::system_error, and std::runtime_error if the other side has ended.
class streams {
 public:
  struct side {
    int in;
    int out;

    template <class T>
    void send(const T& one) const {
      static_assert(std::is_trivially_copyable_v<T>);
      auto left = std::as_bytes(std::span(&one, 1));
      while (!left.empty()) {
        const ssize_t n = ::write(out, left.data(), left.size());
        if (n < 0 && errno != EINTR) refuse(errno, "write");
        if (n > 0) left = left.subspan(static_cast<std::size_t>(n));
      }
    }

    template <class T>
    void receive(T& one) const {
      static_assert(std::is_trivially_copyable_v<T>);
      auto left = std::as_writable_bytes(std::span(&one, 1));
      while (!left.empty()) {
        const ssize_t n = ::read(in, left.data(), left.size());
        if (n == 0) throw std::runtime_error("the other side has closed the stream");
        if (n < 0 && errno != EINTR) refuse(errno, "read");
        if (n > 0) left = left.subspan(static_cast<std::size_t>(n));
      }
    }
  };

  streams(const streams&) = delete;
  streams& operator=(const streams&) = delete;

  [[nodiscard]] side first() const { return {ends_[1][0], ends_[0][1]}; }
  [[nodiscard]] side second() const { return {ends_[0][0], ends_[1][1]}; }

 protected:
  streams() = default;
  ~streams() {
    for (const auto& each : ends_) {
      ::close(each[0]);
      ::close(each[1]);
    }
  }

  std::array<std::array<int, 2>, 2> ends_{};  // of each direction: the read end and the write end
};

struct two_pipes : streams {
  two_pipes() {
    for (auto& each : ends_) {
      if (::pipe(each.data()) != 0) refuse(errno, "cannot create a pipe");
    }
  }
};

/// A named pipe for each direction, in the folder for temporary files. The names exist only while
/// the pipes are opened.
struct named_pipes : streams {
  named_pipes() {
    std::string folder = (std::filesystem::temp_directory_path() / "troupe-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) refuse(errno, "cannot create a temporary folder");
    const std::string name = folder + "/pipe";
    for (auto& each : ends_) {
      if (::mkfifo(name.c_str(), 0600) != 0) refuse(errno, "cannot create a named pipe");
      each[0] = ::open(name.c_str(), O_RDONLY | O_NONBLOCK);  // would wait for the other end
      each[1] = ::open(name.c_str(), O_WRONLY);
      const int error = errno;
      ::unlink(name.c_str());
      if (each[0] < 0 || each[1] < 0) refuse(error, "cannot open a named pipe");
      if (::fcntl(each[0], F_SETFL, 0) != 0) refuse(errno, "cannot open a named pipe");
    }
    ::rmdir(folder.c_str());
  }
};

/// One socket for each side, which carries both directions.
struct socket_pair : streams {
  socket_pair() {
    std::array<int, 2> both{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, both.data()) != 0)
      refuse(errno, "cannot create a socket pair");
    ends_ = {{{both[1], both[0]}, {::dup(both[0]), ::dup(both[1])}}};
  }
};

}  // namespace troupe::lab
