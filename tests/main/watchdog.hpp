// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::test {

/// Aborts the program if a test lasts longer than TROUPE_TEST_SECONDS (60 by default). First it
/// prints the name of the test and the stacks of all threads. A program can therefore run many
/// tests without a process for each.
///
/// Call it once, before RUN_ALL_TESTS().
void watch_tests();

}  // namespace troupe::test
