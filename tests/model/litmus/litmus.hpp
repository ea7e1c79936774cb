// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <functional>
#include <set>
#include <string>

namespace troupe::model {

/// The values that the threads of one execution have read, as digits.
using result = std::string;

template <class... Values>
result seen(Values... values) {
  return (std::to_string(values) + ...);
}

/// All results that the body has in any execution, with no bound on preemptions.
inline std::set<result> results(const std::function<result()>& body) {
  std::set<result> all;
  const outcome found = explore({.preemptions = 100, .spurious = 0}, [&] {
    const result one = body();
    const detail::untracked own;
    all.insert(one);
  });
  EXPECT_FALSE(found.failed) << found.what << "\n" << found.trace;
  EXPECT_TRUE(found.complete);
  report(found, std::to_string(all.size()) + " outcomes");
  return all;
}

/// As a test: the body has these results and no others.
inline void expect_results(std::set<result> expected, const std::function<result()>& body) {
  EXPECT_EQ(results(body), expected);
}

}  // namespace troupe::model
