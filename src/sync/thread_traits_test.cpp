// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/sync/thread_traits.hpp>

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/detail/sync/thread.hpp>

#include "cpu_quota.hpp"

namespace troupe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<unsigned> cpus_here() {
  cpu_set_t those;
  CPU_ZERO(&those);
  ::sched_getaffinity(0, sizeof those, &those);
  std::vector<unsigned> all;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &those)) all.push_back(i);
  }
  return all;
}

std::string error_of(std::vector<unsigned> cpus, int niceness) {
  try {
    const thread_traits refused(std::move(cpus), niceness, "worker 3");
    return "none";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

TEST(thread_traits, by_default_change_nothing) {
  const std::vector<unsigned> before = cpus_here();
  std::vector<unsigned> seen;
  int niceness = 0;
  thread([&] {
    thread_traits{}.apply_here();
    seen = cpus_here();
    niceness = ::getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_EQ(seen, before);
  EXPECT_EQ(niceness, ::getpriority(PRIO_PROCESS, 0));
}

TEST(thread_traits, a_pinned_thread_may_use_fewer_cpus) {
  // A container may have a quota below the number of CPUs that it may run on.
  const auto allowed = static_cast<unsigned>(cpus_here().size());
  EXPECT_EQ(usable_cpus(), std::min(allowed, cpu_quota().value_or(allowed)));
  const thread_traits pinned({cpus_here().back()}, 0, "worker 3");
  unsigned usable = 0;
  thread([&] {
    pinned.apply_here();
    usable = usable_cpus();
  }).join();
  EXPECT_EQ(usable, 1U);
}

TEST(thread_traits, pin_a_thread_and_no_other_one) {
  const std::vector<unsigned> before = cpus_here();
  const std::vector<unsigned> last{before.back()};
  const thread_traits pinned(last, 0, "worker 3");
  std::vector<unsigned> seen;
  thread([&] {
    pinned.apply_here();
    seen = cpus_here();
  }).join();
  EXPECT_EQ(seen, last);
  EXPECT_EQ(cpus_here(), before);
}

TEST(thread_traits, pin_to_one_of_several) {
  const std::vector<unsigned> all = cpus_here();
  const thread_traits pinned(all, 0, "worker 3");
  std::vector<unsigned> seen;
  thread([&] {
    pinned.apply_here();
    pinned.pin_here(all.size() - 1);
    seen = cpus_here();
  }).join();
  EXPECT_EQ(seen, std::vector<unsigned>{all.back()});
}

TEST(thread_traits, niceness_is_added_to_that_of_the_calling_thread) {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  if (before > 16) GTEST_SKIP() << "the tests run with the niceness " << before;
  const thread_traits nice({}, 3, "worker 3");
  int seen = 0;
  thread([&] {
    nice.apply_here();
    nice.apply_here();  // has no further effect
    seen = ::getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_EQ(seen, before + 3);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), before);
}

TEST(thread_traits, an_unavailable_cpu_is_refused_with_a_list_of_available_ones) {
  EXPECT_THAT(error_of({cpus_here().front(), 8000}, 0),
              AllOf(HasSubstr("worker 3 is to run on CPU 8000"), HasSubstr("it can use ")));
  EXPECT_THAT(error_of({4'000'000'000u}, 0), HasSubstr("CPU 4000000000"));
}

TEST(thread_traits, a_cpu_that_is_named_twice_is_refused) {
  EXPECT_THAT(error_of({0, 1, 0}, 0), HasSubstr("names CPU 0 twice"));
}

TEST(thread_traits, a_niceness_out_of_range_is_refused) {
  EXPECT_THAT(error_of({}, 20), HasSubstr("the niceness 20, which is out of range (-20 to 19)"));
  EXPECT_THAT(error_of({}, -21), HasSubstr("the niceness -21"));
}

TEST(thread_traits, a_niceness_below_that_of_the_program_takes_a_right) {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  const std::string error = error_of({}, -1);
  if (error == "none") {
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), before) << "it has tried that on the wrong thread";
  } else {
    EXPECT_THAT(error, HasSubstr("CAP_SYS_NICE"));
  }
}

}  // namespace
}  // namespace troupe
