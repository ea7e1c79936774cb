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

// Who includes this file has failed expectations told to GoogleTest: at the line of the test, and the test's body is
// left. It is the only one that needs GoogleTest.

namespace troupe::testkit {

namespace detail {

// In a process of explore() what a run throws is told by the one that began it.
inline bool is_told_elsewhere = false;

[[noreturn]] inline void fail_in_gtest(const std::source_location& where, const std::string& text) {
  const int line = static_cast<int>(where.line());
  [&] { GTEST_FAIL_AT(where.file_name(), line) << text; }();
  // What GoogleTest takes as reported already.
  throw testing::AssertionException(testing::TestPartResult(testing::TestPartResult::kFatalFailure,
                                                            where.file_name(), line, text.c_str()));
}

inline void tell_gtest(const mismatch& what) {
  if (!is_told_elsewhere) fail_in_gtest(what.where, what.text());
}

inline const bool tells_gtest = (static_cast<void>(on_mismatch(tell_gtest)), true);

// As `run`, in another process: what EXPECT_ or ASSERT_ finds there would fail nothing, so it is thrown.
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

/// sim::explore() as a part of a test: if a run fails, so does the test, at this line, with explored::text(). A run
/// also fails by EXPECT_… and ASSERT_… within it; one with a probe's expectation.
///
///   TEST(bank, loses_no_money) {
///     troupe::testkit::explore({.seeds = 500}, [](troupe::sim::simulation& sim) { … });
///   }
///
/// Threads: as sim::explore(): the process has no other threads at that time.
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
