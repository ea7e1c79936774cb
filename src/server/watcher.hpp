// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <troupe/sync/mutex.hpp>

namespace troupe::server::detail {

/// Calls a function repeatedly, on a thread of its own.
class watcher {
 public:
  watcher(std::chrono::milliseconds each, std::function<void()> look)
      : look_(std::move(look)), thread_([this, each] { run(each); }) {}
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  /// Waits for a call in progress.
  ~watcher() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void run(std::chrono::milliseconds each) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, each, [this] { return over_; })) {
      lock.unlock();
      look_();
      lock.lock();
    }
  }

  const std::function<void()> look_;
  mutex mutex_;                 // guards the members below
  condition_variable changed_;  // signals changes of `over_`
  bool over_ = false;
  std::thread thread_;
};

}  // namespace troupe::server::detail
