// SPDX-License-Identifier: Apache-2.0
// A channel that ends while a waiter stands in its lines is reported. Each of these tests plants
// one; all other tests fail for a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <troupe/detail/channel/channel_core.hpp>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/accounts_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

using strings = std::vector<std::string>;

class nobody final : public detail::channel_waiter {
 public:
  void tell() noexcept override { ADD_FAILURE() << "nothing is done for it"; }
};

// Reports of a channel that ends while a waiter stands in one of its lines.
strings reported_of_a_channel(bool sends) {
  const recorded_accounts found;
  nobody who;
  int value = 0;
  {
    detail::channel_core core(detail::operations_of<int>, 0, overflow::policy::backpressure);
    detail::channel_case one{.of = &core, .sends = sends, .value = &value};
    std::array<detail::channel_case*, 1> cases{&one};
    std::array<detail::channel_core*, 1> locks{};
    EXPECT_EQ(detail::channel_core::begin(cases, locks, &who).first,
              detail::channel_core::progress::must_wait);
  }
  return found.those();
}

TEST(account, of_a_channels_lines_is_reported) {
  EXPECT_THAT(reported_of_a_channel(true), ElementsAre("waiters in the lines of a channel: 1"));
  EXPECT_THAT(reported_of_a_channel(false), ElementsAre("waiters in the lines of a channel: 1"));
}

}  // namespace
}  // namespace troupe::test
