// SPDX-License-Identifier: Apache-2.0
// The main() of the test programs.
#include <gmock/gmock.h>

#include <cstdint>

#include "base/accounts.hpp"
#include "watchdog.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  troupe::test::watch_tests();
  // Actors, groups of mailboxes and systems check their counts when they terminate, in every test.
  troupe::detail::unsettled_account = [](const char* account, std::int64_t left) {
    ADD_FAILURE() << account << ": " << left << " left, but 0 were expected";
  };
  return RUN_ALL_TESTS();
}
