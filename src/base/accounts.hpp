// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace troupe::detail {

/// Reports an account that does not balance. Tests set it to a function that fails the test. It is
/// called when an actor, a group of mailboxes, a channel, a semaphore or a system ends, once for
/// each unsettled account, with the name of the account and the amount that is left in it.
///
/// Threads: set before the first system opens; called by any thread.
inline void (*unsettled_account)(const char* account, std::int64_t left) = nullptr;

/// Reports the account if `left` is not zero.
inline void expect_settled(const char* account, std::int64_t left) noexcept {
  if (left != 0 && unsettled_account != nullptr) [[unlikely]]
    unsettled_account(account, left);
}

}  // namespace troupe::detail
