// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared by both examples: a window that may be used only on its own thread, and a worker that
// computes for it on another thread.

#include <cstdio>
#include <functional>
#include <utility>

#include <troupe/troupe.hpp>

struct found {
  int below;
  int primes;
};

/// Bound to the loop: its handlers run on the loop's thread, between the loop's other events.
class window : public troupe::actor {
 public:
  /// `closed` is called when `lines` lines have been shown.
  window(int lines, std::function<void()> closed) : lines_(lines), closed_(std::move(closed)) {}

  void on(found m) {
    std::printf("%d primes below %d\n", m.primes, m.below);
    if (--lines_ == 0) closed_();
  }

 private:
  int lines_;
  std::function<void()> closed_;
};

struct count_primes {
  int below;
};

/// Runs on the pool, where it may compute for any length of time.
class mathematician : public troupe::actor {
 public:
  explicit mathematician(troupe::ref<window> shows) : shows_(std::move(shows)) {}

  void on(count_primes m) {
    int primes = 0;
    for (int n = 2; n < m.below; ++n) primes += is_prime(n) ? 1 : 0;
    shows_.send(found{m.below, primes});
  }

 private:
  static bool is_prime(int n) {
    for (int d = 2; d * d <= n; ++d) {
      if (n % d == 0) return false;
    }
    return true;
  }

  troupe::ref<window> shows_;
};
