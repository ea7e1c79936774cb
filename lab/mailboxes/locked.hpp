// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <troupe/sync/mutex.hpp>
#include <utility>
#include <vector>

#include "lab/mailboxes/candidate.hpp"

namespace troupe::lab {

/// The usual first implementation: a mutex and a deque. The handler runs outside of the lock.
template <class M>
class locked_deque {
 public:
  using value_type = M;

  explicit locked_deque(std::size_t limit = no_limit) : limit_(limit) {}

  pushed push(M&& message) { return push_all({&message, 1}); }

  pushed push_all(std::span<M> messages) {
    const std::lock_guard lock(mutex_);
    if (limit_ - waiting_.size() < messages.size()) return pushed::full;
    for (M& each : messages) waiting_.push_back(std::move(each));
    return std::exchange(idle_, false) ? pushed::to_idle : pushed::to_busy;
  }

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    std::size_t handled = 0;
    for (; handled < most; ++handled) {
      std::unique_lock lock(mutex_);
      if (waiting_.empty()) break;
      M message(std::move(waiting_.front()));
      waiting_.pop_front();
      lock.unlock();
      handle(std::move(message));
    }
    return handled;
  }

  [[nodiscard]] bool rest() {
    const std::lock_guard lock(mutex_);
    return idle_ = waiting_.empty();
  }

 private:
  mutex mutex_;
  std::deque<M> waiting_;
  bool idle_ = false;
  const std::size_t limit_;
};

/// The same with a vector that the reader exchanges with its own: one lock for all available
/// messages. Both vectors keep their memory.
template <class M>
class locked_vector {
 public:
  using value_type = M;

  explicit locked_vector(std::size_t limit = no_limit) : limit_(limit) {}

  pushed push(M&& message) { return push_all({&message, 1}); }

  pushed push_all(std::span<M> messages) {
    const std::lock_guard lock(mutex_);
    if (limit_ - waiting_.size() < messages.size()) return pushed::full;
    for (M& each : messages) waiting_.push_back(std::move(each));
    return std::exchange(idle_, false) ? pushed::to_idle : pushed::to_busy;
  }

  template <class Handle>
  std::size_t drain(Handle&& handle, std::size_t most = no_limit) {
    std::size_t handled = 0;
    while (handled < most) {
      if (read_ == taken_.size()) {
        taken_.clear();
        read_ = 0;
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) break;
        taken_.swap(waiting_);
      }
      M message(std::move(taken_[read_]));
      ++read_;
      ++handled;
      handle(std::move(message));
    }
    return handled;
  }

  [[nodiscard]] bool rest() {
    if (read_ != taken_.size()) return false;
    const std::lock_guard lock(mutex_);
    return idle_ = waiting_.empty();
  }

 private:
  mutex mutex_;
  std::vector<M> waiting_;
  bool idle_ = false;
  const std::size_t limit_;
  alignas(64) std::vector<M> taken_;  // the reader's
  std::size_t read_ = 0;
};

}  // namespace troupe::lab
