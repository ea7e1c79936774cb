// SPDX-License-Identifier: Apache-2.0
#include "server/line_queue.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace troupe::server::detail {
namespace {

struct line {
  std::size_t size;
  [[nodiscard]] std::size_t bytes() const noexcept { return size; }
};

TEST(line_queue, can_be_filled_exactly_and_again) {
  std::size_t written = 0;
  line_queue<line> queue(100, [&](std::vector<line>& some) { written += some.size(); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(queue.push({101}));
    EXPECT_TRUE(queue.push({100}));
    queue.settle();
  }
  EXPECT_EQ(written, 3u);
}

}  // namespace
}  // namespace troupe::server::detail
