// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/sync/atomic.hpp>

// The interface of include/troupe/scheduler/worker_limit.hpp without a clock: each look changes the
// limit between one worker and all.

namespace troupe::detail {

class worker_limit {
 public:
  explicit worker_limit(unsigned workers) noexcept : workers_(workers), limit_(workers) {}

  [[nodiscard]] unsigned now() const noexcept { return limit_.load(relaxed); }

  template <class Steps>
  void look(Steps&&, unsigned) noexcept {
    if (workers_ == 1) return;
    limit_.store(now() == 1 ? workers_ : 1, relaxed);
  }

  void interrupt() noexcept { limit_.store(workers_, relaxed); }

 private:
  const unsigned workers_;
  atomic<unsigned> limit_;
};

}  // namespace troupe::detail
