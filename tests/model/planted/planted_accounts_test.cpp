// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <troupe/detail/sync/semaphore.hpp>

#include "base/accounts.hpp"

// Bugs planted for the checker to find: accounts that are not settled when their owner ends.

namespace troupe {
namespace {

const bool accounts_are_checked = [] {
  detail::unsettled_account = [](const char* account, std::int64_t left) {
    model::require(false, std::string(account) + ": " + std::to_string(left) + " left");
  };
  return true;
}();

namespace semaphores {

enum class fault { none, ends_too_early };

// The memory of the semaphore stays, so that nothing else is found first.
template <fault planted>
void one_waits_for_another() {
  alignas(semaphore) std::array<std::byte, sizeof(semaphore)> place;
  auto* const permits = ::new (place.data()) semaphore;
  {
    jthread waiter("waiter", [&] { (void)permits->wait(); });
    if constexpr (planted == fault::ends_too_early) {
      // The first execution in which the waiter runs until it sleeps; otherwise the checker would
      // find the waiter's access to the destroyed semaphore first.
      cpu_relax();
      permits->~semaphore();
    }
    permits->post();
  }
  if constexpr (planted == fault::none) permits->~semaphore();
}

TEST(planted_account, of_a_semaphore_is_settled_when_nobody_waits) {
  ASSERT_TRUE(accounts_are_checked);
  model::expect_holds(one_waits_for_another<fault::none>);
}

TEST(planted_account, of_a_semaphore_shows_that_a_thread_waits) {
  model::expect_fails("threads that wait for a semaphore: 1 left", {},
                      one_waits_for_another<fault::ends_too_early>);
}

}  // namespace semaphores

}  // namespace
}  // namespace troupe
