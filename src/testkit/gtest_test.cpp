// SPDX-License-Identifier: Apache-2.0
#include <troupe/testkit/gtest.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <chrono>
#include <source_location>
#include <string>
#include <utility>

#include <troupe/actor/system.hpp>
#include <troupe/testkit/probe.hpp>

namespace troupe::testkit {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

struct pay {};

// The results that a body reports to GoogleTest, and whether an exception left the body.
struct told {
  testing::TestPartResultArray parts;
  bool is_left = false;

  template <class F>
  explicit told(F body) {
    const testing::ScopedFakeTestPartResultReporter instead(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
    try {
      body();
    } catch (const testing::AssertionException&) {
      is_left = true;
    }
  }
};

TEST(gtest, a_failed_expectation_is_reported_at_its_line_and_leaves_the_body) {
  std::source_location line;
  const told what([&] {
    sim::simulation sim(12);
    troupe::system system;
    probe<pay> p(system);
    line = std::source_location::current();
    (void)p.expect<pay>(1s);
  });
  EXPECT_TRUE(what.is_left);
  ASSERT_EQ(what.parts.size(), 1);
  const testing::TestPartResult& one = what.parts.GetTestPartResult(0);
  EXPECT_TRUE(one.fatally_failed());
  EXPECT_EQ(one.line_number(), static_cast<int>(line.line()) + 1);
  EXPECT_THAT(one.file_name(), EndsWith("gtest_test.cpp"));
  EXPECT_THAT(one.message(),
              HasSubstr("pay within 1 s; got nothing\nin a simulation with the seed 12"));
}

TEST(gtest, runs_that_go_well_are_no_failure) {
  std::uint64_t sum = 0;
  explore({.seeds = 20}, [&](sim::simulation& sim) {
    sum += sim.seed();  // runs in another process
    EXPECT_TRUE(true);
  });
  EXPECT_EQ(sum, 0u);
}

// Fails for seeds from 13 on, in the given way.
told explored_with(int& line, void (*fails)(troupe::system&)) {
  return told([&] {
    const auto run = [&](sim::simulation& sim) {
      troupe::system system;
      if (sim.seed() >= 13) fails(system);
    };
    line = __LINE__ + 1;
    explore({.seeds = 20, .processes = 1}, run);
  });
}

TEST(gtest, a_run_fails_by_an_expectation_of_a_probe) {
  int line = 0;
  const told what = explored_with(line, [](troupe::system& system) {
    probe<pay> p(system);
    (void)p.expect<pay>(1s);
  });
  EXPECT_TRUE(what.is_left);
  ASSERT_EQ(what.parts.size(), 1);
  const testing::TestPartResult& one = what.parts.GetTestPartResult(0);
  EXPECT_EQ(one.line_number(), line);
  EXPECT_THAT(one.message(), HasSubstr("the run with the seed 13 failed (14 were tried)"));
  EXPECT_THAT(one.message(), HasSubstr("pay within 1 s; got nothing"));
}

TEST(gtest, a_run_fails_if_a_gtest_macro_fails_in_it) {
  int line = 0;
  const told what = explored_with(line, [](troupe::system&) { EXPECT_EQ(1, 2) << "so it is"; });
  EXPECT_TRUE(what.is_left);
  ASSERT_EQ(what.parts.size(), 1);
  EXPECT_THAT(what.parts.GetTestPartResult(0).message(), HasSubstr("so it is"));
  EXPECT_THAT(what.parts.GetTestPartResult(0).message(), HasSubstr("gtest_test.cpp:"));
}

}  // namespace
}  // namespace troupe::testkit
