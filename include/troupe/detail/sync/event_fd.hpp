// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {
inline namespace native {

/// A file descriptor that signals an event to poll, select, epoll and libraries built on them: it
/// is readable from a set() to the next clear().
///
/// Threads:   set() and clear() from any thread.
/// Invariant: several calls of set() count once. It does not order memory: data needs its own
///            synchronization.
/// Cost:      a system call each.
/// Errors:    std::system_error with the reason if no descriptor is available.
class event_fd {
 public:
  event_fd();
  event_fd(const event_fd&) = delete;
  event_fd& operator=(const event_fd&) = delete;
  ~event_fd();

  /// The descriptor, only for waiting until it is readable; it must not be read, written or closed.
  /// It is closed on exec.
  [[nodiscard]] int fd() const noexcept { return fd_; }

  void set() noexcept;
  /// Returns true if it was set.
  bool clear() noexcept;

 private:
  const int fd_;
};

}  // namespace native
}  // namespace troupe
