// SPDX-License-Identifier: Apache-2.0
#include "lab/lightness/streams.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace troupe::lab {
namespace {

template <class Streams>
class a_stream : public testing::Test {};
using kinds = testing::Types<two_pipes, named_pipes, socket_pair>;
TYPED_TEST_SUITE(a_stream, kinds);

TYPED_TEST(a_stream, carries_both_directions_between_processes) {
  const TypeParam both;
  const pid_t other = make_process([&] {
    const auto side = both.second();
    for (std::uint64_t i = 0; i < 100; ++i) {
      std::uint64_t got = 0;
      side.receive(got);
      side.send(got + 1);
    }
  });
  const auto side = both.first();
  for (std::uint64_t i = 0; i < 100; ++i) {
    side.send(i);
    std::uint64_t got = 0;
    side.receive(got);
    ASSERT_EQ(got, i + 1);
  }
  wait_for_process(other);
}

TEST(named_pipes, leave_no_names_behind) {
  std::string folder = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(::setenv("TMPDIR", folder.c_str(), 1), 0);
  {
    const named_pipes both;
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  ASSERT_EQ(::unsetenv("TMPDIR"), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace troupe::lab
