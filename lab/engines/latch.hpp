// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace workloads {

/// std::latch for engines that are built with C++17.
class latch {
 public:
  explicit latch(std::uint64_t count) : left_(count) {}

  void count_down() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
  }

 private:
  std::atomic<std::uint64_t> left_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
};

}  // namespace workloads
