// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>

#include "test_support.hpp"

namespace troupe::test {
namespace {

class idler : public actor {
 public:
  void on(int) {}
};

const void* runtime_of(troupe::system& of) { return &detail::system_access::of(of); }

TEST(runtime, is_used_again_for_systems_with_other_limits) {
  std::set<const void*> those;
  for (std::size_t i = 1; i <= 200; ++i) {
    troupe::system s({.workers = 1, .max_messages = 1'000 + i});
    those.insert(runtime_of(s));
    (void)s.spawn<idler>();
  }
  EXPECT_LT(those.size(), 100u) << "as many as other tests have left, and one";
}

TEST(runtime, is_not_used_for_other_limits_while_a_reference_has_outlived_its_system) {
  ref<idler> left;
  const void* its = nullptr;
  {
    troupe::system s({.workers = 1, .max_messages = 777});
    its = runtime_of(s);
    left = s.spawn<idler>();
  }
  for (std::size_t i = 1; i <= 50; ++i) {
    troupe::system s({.workers = 1, .max_messages = 2'000 + i});
    EXPECT_NE(runtime_of(s), its);
    EXPECT_EQ(left.send(1), delivery::refused);
  }
  {
    troupe::system s({.workers = 1, .max_messages = 777});
    EXPECT_EQ(runtime_of(s), its) << "for the same limits it is";
  }
}

}  // namespace
}  // namespace troupe::test
