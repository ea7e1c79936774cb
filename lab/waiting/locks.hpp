// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <cerrno>
#include <system_error>
#include <troupe/detail/sync/atomic.hpp>
#include <utility>

// Locks for comparison.

namespace troupe::lab {

// ── How a thread waits for a lock that is held ────────────────────────────────────────────────

struct not_at_all {
  static void wait() noexcept {}
};

struct by_sched_yield {
  static void wait() noexcept { ::sched_yield(); }
};

/// It requests a few nanoseconds, but gets a timer of the kernel. The published text requests 4 ns.
template <long Nanoseconds = 4>
struct by_nanosleep {
  static void wait() noexcept {
    const timespec pause{0, Nanoseconds};
    ::nanosleep(&pause, nullptr);
  }
};

/// Returns the error of an attempt to unlock the lock of another thread.
inline std::error_code not_the_owner() noexcept { return {EPERM, std::system_category()}; }

[[noreturn]] inline void throw_not_the_owner() {
  throw std::system_error(not_the_owner(), "the lock is held by another thread");
}

// Unlocking another thread's lock is an error of the caller. std::lock_guard can only end the
// process then, because its destructor must not throw. A caller who wants to continue calls
// unlock_checked(), which returns the error and leaves the lock as it is.

/// A compare-and-swap on the owner, which is repeated until it succeeds. As published, unlocking
/// another thread's lock is reported as an error.
template <class Waiting>
class cas_lock {
 public:
  void lock() noexcept {
    // [cas-lock] acquire: the work of the last owner.
    for (pthread_t nobody = 0;
         !owner_.compare_exchange_strong(nobody, ::pthread_self(), acquire, relaxed); nobody = 0) {
      Waiting::wait();
#ifdef __SANITIZE_THREAD__
      // ThreadSanitizer guards each atomic by a lock that admits readers before the writer, and a
      // failing compare-and-swap reads. The unlocking thread would never get that lock. A relaxed
      // load does not take it.
      while (owner_.load(relaxed) != 0) Waiting::wait();  // [cas-lock] relaxed: a check
#endif
    }
  }

  void unlock() {
    if (unlock_checked()) throw_not_the_owner();
  }
  [[nodiscard]] std::error_code unlock_checked() noexcept {
    // [cas-lock] release: the work under the lock.
    pthread_t self = ::pthread_self();
    return owner_.compare_exchange_strong(self, 0, release, relaxed) ? std::error_code()
                                                                     : not_the_owner();
  }

 private:
  atomic<pthread_t> owner_{0};
};

/// Any lock, with an owner that is checked before it is unlocked.
template <class Lock>
class owner_checked {
 public:
  void lock() noexcept(noexcept(std::declval<Lock&>().lock())) {
    lock_.lock();
    owner_.store(::pthread_self(), relaxed);  // [owner] relaxed: see unlock_checked()
  }
  void unlock() {
    if (unlock_checked()) throw_not_the_owner();
  }
  [[nodiscard]] std::error_code unlock_checked() noexcept {
    // [owner] relaxed: a thread finds its own number only if it has locked and not unlocked; what
    // other threads store meanwhile is another number.
    if (owner_.load(relaxed) != ::pthread_self()) return not_the_owner();
    owner_.store(0, relaxed);
    lock_.unlock();
    return {};
  }

 private:
  Lock lock_;
  atomic<pthread_t> owner_{0};
};

/// A mutex of POSIX that checks its owner.
class pthread_checking_mutex {
 public:
  pthread_checking_mutex() {
    pthread_mutexattr_t kind;
    ::pthread_mutexattr_init(&kind);
    ::pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    ::pthread_mutex_init(&mutex_, &kind);
    ::pthread_mutexattr_destroy(&kind);
  }
  pthread_checking_mutex(const pthread_checking_mutex&) = delete;
  pthread_checking_mutex& operator=(const pthread_checking_mutex&) = delete;
  ~pthread_checking_mutex() { ::pthread_mutex_destroy(&mutex_); }

  void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
  void unlock() {
    if (unlock_checked()) throw_not_the_owner();
  }
  [[nodiscard]] std::error_code unlock_checked() noexcept {
    return {::pthread_mutex_unlock(&mutex_), std::system_category()};
  }

 private:
  pthread_mutex_t mutex_;
};

class pthread_spin_lock {
 public:
  pthread_spin_lock() { ::pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE); }
  pthread_spin_lock(const pthread_spin_lock&) = delete;
  pthread_spin_lock& operator=(const pthread_spin_lock&) = delete;
  ~pthread_spin_lock() { ::pthread_spin_destroy(&lock_); }

  void lock() noexcept { ::pthread_spin_lock(&lock_); }
  void unlock() noexcept { ::pthread_spin_unlock(&lock_); }

 private:
  pthread_spinlock_t lock_;
};

/// glibc's own mutex, which spins before it sleeps.
class pthread_adaptive_mutex {
 public:
  pthread_adaptive_mutex() {
    pthread_mutexattr_t kind;
    ::pthread_mutexattr_init(&kind);
    ::pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
    ::pthread_mutex_init(&mutex_, &kind);
    ::pthread_mutexattr_destroy(&kind);
  }
  pthread_adaptive_mutex(const pthread_adaptive_mutex&) = delete;
  pthread_adaptive_mutex& operator=(const pthread_adaptive_mutex&) = delete;
  ~pthread_adaptive_mutex() { ::pthread_mutex_destroy(&mutex_); }

  void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

}  // namespace troupe::lab
