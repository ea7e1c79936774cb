// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>

#include <troupe/sim/explore.hpp>
#include <troupe/sim/simulation.hpp>
#include <troupe/testkit/mismatch.hpp>

// Including this file reports failed expectations of the testkit to GoogleTest, at the line of the
// test, and leaves the test's body. Only this file needs GoogleTest.

namespace troupe::testkit {

namespace detail {

// True in a process of explore(): the parent process reports the exceptions of its run.
inline bool is_told_elsewhere = false;

[[noreturn]] inline void fail_in_gtest(const std::source_location& where, const std::string& text) {
  const int line = static_cast<int>(where.line());
  [&] { GTEST_FAIL_AT(where.file_name(), line) << text; }();
  // GoogleTest treats this exception as already reported.
  throw testing::AssertionException(testing::TestPartResult(testing::TestPartResult::kFatalFailure,
                                                            where.file_name(), line, text.c_str()));
}

inline void tell_gtest(const mismatch& what) {
  if (!is_told_elsewhere) fail_in_gtest(what.where, what.text());
}

inline const bool tells_gtest = (static_cast<void>(on_mismatch(tell_gtest)), true);

// Calls `run` in another process. A failure of EXPECT_ or ASSERT_ would have no effect there, so it
// is thrown.
inline void run_elsewhere(const std::function<void(sim::simulation&)>& run, sim::simulation& sim) {
  is_told_elsewhere = true;
  testing::TestPartResultArray found;
  {
    const testing::ScopedFakeTestPartResultReporter instead(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
    run(sim);
  }
  for (int i = 0; i < found.size(); ++i) {
    const testing::TestPartResult& each = found.GetTestPartResult(i);
    if (!each.failed()) continue;
    const char* const file = each.file_name();
    throw std::runtime_error((file != nullptr ? file : "?") +
                             (':' + std::to_string(each.line_number())) + ": " + each.message());
  }
}

}  // namespace detail

/// Runs sim::explore() as a part of a test. If a run fails, the test fails at this line, with
/// explored::text(). Failures of EXPECT_… and ASSERT_… within a run also fail it, and so do failed
/// expectations of a probe.
///
///   TEST(bank, loses_no_money) {
///     troupe::testkit::explore({.seeds = 500}, [](troupe::sim::simulation& sim) { … });
///   }
///
/// Threads: as sim::explore(): the process must have no other threads during the call.
/// Errors:  as sim::explore().
inline void explore(const sim::exploration& how, const std::function<void(sim::simulation&)>& run,
                    std::source_location where = std::source_location::current()) {
  const auto here = ::getpid();
  const sim::explored all = sim::explore(how, [&](sim::simulation& sim) {
    ::getpid() == here ? run(sim) : detail::run_elsewhere(run, sim);
  });
  if (!all) detail::fail_in_gtest(where, all.text());
}

}  // namespace troupe::testkit
