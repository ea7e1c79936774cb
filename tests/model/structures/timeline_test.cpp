// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <cstdint>
#include <troupe/detail/scheduler/timeline.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::require;
using model::varies;
using kind = timeline_slice::kind;

constexpr duration never_short{};

TEST(timeline_lane, an_entry_is_overwritten_only_after_it_was_read) {
  // Four preemptions: between three slices the recorder looks twice.
  expect_holds({.preemptions = 4}, [] {
    timeline all(never_short, 1);
    activity counts;
    timeline::lane lane = all.open("thread", counts);
    std::uint64_t next = 0;
    std::uint64_t taken = 0;
    std::uint64_t lost = 0;
    const auto take = [&](const timeline_slice& slice) {
      require(slice.messages > next, "slices come in their order");
      next = slice.messages;
      ++taken;
    };
    const auto look = [&](timeline_lane& at, bool) {
      at.take_all(take);
      lost = at.lost();
    };
    lane->begins(kind::running, 1);
    {
      jthread writer([&] {
        for (std::uint64_t i = 1; i <= 3; ++i) {
          counts.handled.add(i);
          lane->ticked({}, 0);
        }
      });
      all.for_each_lane(look);
      all.for_each_lane(look);
    }
    all.for_each_lane(look);
    require(taken + lost == 3, "what is not taken is counted");
    varies(lost != 0, "some are lost");
    varies(taken == 1, "only the first one is taken");
  });
}

}  // namespace
}  // namespace troupe::detail
