// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <troupe/sync/mutex.hpp>
#include <troupe/sync/thread.hpp>

namespace troupe::server::detail {

/// A queue of lines that a separate thread writes in order, so that no thread that serves clients
/// waits for a disk or a terminal. The thread starts with the first line.
///
/// `Line` has `bytes()`, the size that counts towards the limit.
///
/// Threads:   any.
/// Invariant: at most `bytes_max` bytes wait. A line that push() has accepted is written, even at
///            shutdown.
/// Cost:      push: a short lock, and a system call if the thread sleeps.
template <class Line>
class line_queue {
 public:
  /// `write` is called with all waiting lines, whenever there are some.
  line_queue(std::size_t bytes_max, std::function<void(std::vector<Line>&)> write)
      : bytes_max_(bytes_max), write_(std::move(write)) {}
  line_queue(const line_queue&) = delete;
  line_queue& operator=(const line_queue&) = delete;
  ~line_queue() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// Returns false if the line does not fit. Errors: as start_thread(), and std::bad_alloc; the
  /// line is not accepted then either.
  [[nodiscard]] bool push(Line line) {
    {
      const std::lock_guard lock(mutex_);
      const std::size_t bytes = line.bytes();
      if (bytes > bytes_max_ - bytes_) return false;
      if (!thread_.joinable()) thread_ = start_thread("troupe/log", [this] { run(); });
      waiting_.push_back(std::move(line));
      bytes_ += bytes;
    }
    changed_.notify_all();
    return true;
  }

  /// Waits until all lines so far are written.
  void settle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return bytes_ == 0; });
  }

 private:
  void run() {
    std::vector<Line> some;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      some.swap(waiting_);
      const std::size_t bytes = bytes_;
      lock.unlock();
      write_(some);
      some.clear();
      lock.lock();
      bytes_ -= bytes;  // lines that are being written count as well
      if (bytes_ == 0) changed_.notify_all();
    }
  }

  const std::size_t bytes_max_;
  const std::function<void(std::vector<Line>&)> write_;
  mutex mutex_;                 // guards the members below
  condition_variable changed_;  // signals changes of `waiting_` and `over_`, and that `bytes_` has
                                // become 0
  std::vector<Line> waiting_;
  std::size_t bytes_ = 0;
  bool over_ = false;
  thread thread_;  // set once
};

}  // namespace troupe::server::detail
