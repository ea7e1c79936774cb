// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::test {

/// Aborts the program when one test lasts longer than TROUPE_TEST_SECONDS (60 if that is not set): writes the name
/// of the test and the stacks of all threads first. So a program can run many tests without a process for each.
///
/// Call it once, before RUN_ALL_TESTS().
void watch_tests();

}  // namespace troupe::test
