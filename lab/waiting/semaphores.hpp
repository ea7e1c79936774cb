// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <semaphore.h>

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <semaphore>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/semaphore.hpp>

#ifdef TROUPE_LAB_MOODYCAMEL
#include <concurrentqueue/concurrentqueue.h>
#include <concurrentqueue/lightweightsemaphore.h>
#endif

#include "lab/waiting/locks.hpp"

// Semaphores for comparison: post(), and wait() for one permit.

namespace troupe::lab {

class troupe_semaphore {
 public:
  void post() { permits_.post(); }
  void wait() { (void)permits_.wait(); }

 private:
  semaphore permits_;
};

class posix_semaphore {
 public:
  posix_semaphore() { ::sem_init(&permits_, 0, 0); }
  posix_semaphore(const posix_semaphore&) = delete;
  posix_semaphore& operator=(const posix_semaphore&) = delete;
  ~posix_semaphore() { ::sem_destroy(&permits_); }

  void post() { ::sem_post(&permits_); }
  void wait() {
    while (::sem_wait(&permits_) != 0 && errno == EINTR) {
    }
  }

 private:
  sem_t permits_;
};

class standard_semaphore {
 public:
  void post() { permits_.release(); }
  void wait() { permits_.acquire(); }

 private:
  std::counting_semaphore<> permits_{0};
};

class semaphore_of_mutex {
 public:
  void post() {
    {
      const std::lock_guard lock(guard_);
      ++permits_;
    }
    posted_.notify_one();
  }
  void wait() {
    std::unique_lock lock(guard_);
    posted_.wait(lock, [this] { return permits_ > 0; });
    --permits_;
  }

 private:
  std::mutex guard_;
  std::condition_variable posted_;
  std::int64_t permits_ = 0;
};

/// As published: a counter that waiters poll. The published text sleeps for 4 ns in between.
template <class Waiting>
class polled_semaphore {
 public:
  void post() noexcept {
    permits_.fetch_add(1, release);  // [polled] release: the work before the post
  }
  void wait() noexcept {
    while (!try_wait()) Waiting::wait();
  }

 private:
  bool try_wait() noexcept {
    // [polled] acquire: the work before the post
    if (permits_.fetch_sub(1, acquire) > 0) return true;
    // [polled] release: continues the release sequence of other posts
    permits_.fetch_add(1, release);
    return false;
  }

  atomic<std::int64_t> permits_{0};
};

#ifdef TROUPE_LAB_MOODYCAMEL
class moodycamel_semaphore {
 public:
  void post() { permits_.signal(); }
  void wait() {
    while (!permits_.wait()) {
    }
  }

 private:
  moodycamel::LightweightSemaphore permits_;
};
#endif

}  // namespace troupe::lab
