// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {
inline namespace native {

/// A descriptor by which poll, select, epoll and whatever is built on them learn that something has
/// happened: readable from a set() to the next clear().
///
/// Threads:   set() and clear() from anywhere.
/// Invariant: several set() count once. Orders no memory: what is told goes another way.
/// Cost:      a system call each.
/// Errors:    std::system_error with the reason if there is no descriptor to be had.
class event_fd {
 public:
  event_fd();
  event_fd(const event_fd&) = delete;
  event_fd& operator=(const event_fd&) = delete;
  ~event_fd();

  /// To wait for its being readable; not to be read, written or closed. A child process that
  /// executes a program does not inherit it.
  [[nodiscard]] int fd() const noexcept { return fd_; }

  void set() noexcept;
  /// Returns true if it was set.
  bool clear() noexcept;

 private:
  const int fd_;
};

}  // namespace native
}  // namespace troupe
