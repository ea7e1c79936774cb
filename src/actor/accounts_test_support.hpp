// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <troupe/detail/sync/mutex.hpp>

#include "base/accounts.hpp"

namespace troupe::test {

/// While it lives, an unsettled account does not fail the test but is recorded here. For tests that
/// plant one. One at a time; it lives longer than the systems of the test.
class recorded_accounts {
 public:
  recorded_accounts() : before_(std::exchange(detail::unsettled_account, record)) {
    const std::lock_guard lock(guard_);
    found_.clear();
  }
  recorded_accounts(const recorded_accounts&) = delete;
  recorded_accounts& operator=(const recorded_accounts&) = delete;
  ~recorded_accounts() { detail::unsettled_account = before_; }

  /// As "timers: 2".
  [[nodiscard]] std::vector<std::string> those() const {
    const std::lock_guard lock(guard_);
    return found_;
  }

 private:
  static void record(const char* account, std::int64_t left) {
    const std::lock_guard lock(guard_);
    found_.push_back(std::string(account) + ": " + std::to_string(left));
  }

  static inline mutex guard_;
  static inline std::vector<std::string> found_;
  void (*const before_)(const char*, std::int64_t);
};

}  // namespace troupe::test
