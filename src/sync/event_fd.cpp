// SPDX-License-Identifier: Apache-2.0
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <troupe/base/assert.hpp>
#include <troupe/sync/event_fd.hpp>

namespace troupe {
inline namespace native {
namespace {

int make() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "cannot create an eventfd");
  return fd;
}

// Repeats a call that was interrupted by a signal.
template <class Call>
bool succeeds(Call&& call) noexcept {
  while (call() < 0) {
    if (errno == EINTR) continue;
    TROUPE_ASSERT(errno == EAGAIN, "event_fd: its file descriptor was closed elsewhere");
    return false;
  }
  return true;
}

}  // namespace

event_fd::event_fd() : fd_(make()) {}

event_fd::~event_fd() { ::close(fd_); }

void event_fd::set() noexcept {
  const std::uint64_t one = 1;
  // EAGAIN means that the counter is full, so the descriptor is readable already.
  succeeds([&] { return ::write(fd_, &one, sizeof(one)); });
}

bool event_fd::clear() noexcept {
  std::uint64_t count = 0;
  return succeeds([&] { return ::read(fd_, &count, sizeof(count)); });
}

}  // namespace native
}  // namespace troupe
