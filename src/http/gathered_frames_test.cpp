// SPDX-License-Identifier: Apache-2.0

#include "gathered_frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "raw_client.hpp"

namespace troupe::http::detail {
namespace {

using c = test::raw_client;

std::string_view view(boost::asio::const_buffer of) {
  return {static_cast<const char*>(of.data()), of.size()};
}

/// The bytes that a socket receives if it takes this many at a time.
std::string written(gathered_frames& all, std::size_t at_a_time) {
  std::string bytes;
  for (bool done = false; !done;) {
    std::string now;
    if (all.is_one()) {
      now = view(all.one());
    } else {
      const gathered_frames::list list = all.all();
      for (const auto& each : list) now += view(each);
    }
    now.resize(std::min(now.size(), at_a_time));
    bytes += now;
    done = all.wrote(now.size());
  }
  return bytes;
}

TEST(gathered_frames, are_written_in_order_however_the_socket_takes_them) {
  const std::string small(100, 's');
  const std::string large(gathered_frames::copied_payload_bytes_max + 1, 'l');
  const std::string expected =
      "first" + c::frame(c::text, small, true, 0, false) +
      c::frame(c::binary, large, true, 0, false) + c::frame(c::text, large, true, 0, false) +
      c::frame(c::text, "", true, 0, false) + c::frame(c::ping, "?", true, 0, false);
  for (const std::size_t at_a_time : {1u, 7u, 100u, 4097u, 100'000u}) {
    gathered_frames all;
    EXPECT_TRUE(all.is_empty());
    all.add("first");
    all.add(opcode::text, small);
    EXPECT_TRUE(all.is_one());
    all.add(opcode::binary, large);
    all.add(opcode::text, large);
    all.add(opcode::text, "");
    all.add(opcode::ping, "?");
    EXPECT_FALSE(all.is_one());
    EXPECT_EQ(written(all, at_a_time), expected);
    all.clear();
    EXPECT_TRUE(all.is_empty());
    all.add(opcode::text, "again");
    EXPECT_EQ(written(all, at_a_time), c::frame(c::text, "again", true, 0, false));
  }
}

TEST(gathered_frames, large_payloads_are_not_copied) {
  const std::string large(64 * 1024, 'l');
  gathered_frames all;
  all.add(opcode::text, large);
  const gathered_frames::list list = all.all();
  EXPECT_TRUE(std::any_of(list.begin(), list.end(),
                          [&](const auto& each) { return each.data() == large.data(); }));
}

TEST(gathered_frames, are_full_before_they_exceed_the_available_buffers) {
  const std::string large(gathered_frames::copied_payload_bytes_max + 1, 'l');
  gathered_frames all;
  std::string expected;
  while (!all.is_full()) {
    all.add(opcode::text, "x");
    all.add(opcode::text, large);
    expected += c::frame(c::text, "x", true, 0, false) + c::frame(c::text, large, true, 0, false);
  }
  all.add(opcode::close, "");  // may follow
  expected += c::frame(c::close, "", true, 0, false);
  EXPECT_EQ(written(all, 1 << 20), expected);
}

TEST(gathered_frames, many_small_ones_are_full_as_well) {
  gathered_frames all;
  std::size_t frames = 0;
  for (; !all.is_full(); ++frames) all.add(opcode::text, std::string(100, 'x'));
  EXPECT_TRUE(all.is_one());
  EXPECT_GT(frames, 100u);
  EXPECT_LT(frames, 1000u);
}

}  // namespace
}  // namespace troupe::http::detail
