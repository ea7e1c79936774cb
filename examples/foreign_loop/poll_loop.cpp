// SPDX-License-Identifier: Apache-2.0

// Actors in a loop that waits for descriptors: here poll() and a timer, in place of Qt, GLib or
// libuv. Each tick of the timer sends a request to the worker; the results arrive at the window, on
// this thread.

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <system_error>

#include <troupe/troupe.hpp>

#include "primes.hpp"

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::system_category(), what);
}

/// A descriptor that becomes readable every ten milliseconds.
class ticks {
 public:
  ticks() {
    const timespec ten_ms{.tv_sec = 0, .tv_nsec = 10'000'000};
    const itimerspec every{.it_interval = ten_ms, .it_value = ten_ms};
    if (fd_ < 0 || ::timerfd_settime(fd_, 0, &every, nullptr) != 0) fail("timerfd");
  }
  ticks(const ticks&) = delete;
  ticks& operator=(const ticks&) = delete;
  ~ticks() { ::close(fd_); }

  [[nodiscard]] int fd() const { return fd_; }
  void clear() const {
    std::uint64_t count = 0;
    if (::read(fd_, &count, sizeof(count)) < 0 && errno != EAGAIN) fail("timerfd: read");
  }

 private:
  const int fd_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
};

void run() {
  constexpr int lines = 5;
  troupe::system system;
  troupe::pump_fd actors(system);
  bool open = true;
  const auto shows = system.spawn<window>({.where = troupe::bound_to(actors.pump())}, lines,
                                          [&] { open = false; });
  const auto computes = system.spawn<mathematician>(shows);

  const ticks clock;
  int asked = 0;
  while (open) {
    std::array<pollfd, 2> those{{{actors.fd(), POLLIN, 0}, {clock.fd(), POLLIN, 0}}};
    if (::poll(those.data(), those.size(), -1) < 0) {
      if (errno == EINTR) continue;
      fail("poll");
    }
    if (those[1].revents != 0) {
      clock.clear();
      if (asked < lines) computes.send(count_primes{1000 * ++asked});
    }
    if (those[0].revents != 0) actors.drain();
  }
}

}  // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "poll_loop: %s\n", e.what());
    return 1;
  }
}
