// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/thread_timeline.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "lab/report/timeline.hpp"

namespace troupe::lab {
namespace {

class a_thread_timeline : public testing::Test {
 public:
  a_thread_timeline() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    EXPECT_EQ(::setenv("TROUPE_TRACE", file().c_str(), 1), 0);
  }
  ~a_thread_timeline() override {
    ::unsetenv("TROUPE_TRACE");
    std::filesystem::remove_all(folder_);
  }

 protected:
  std::string file() const { return folder_ + "/run.json"; }
  std::string written() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
};

TEST_F(a_thread_timeline, is_a_trace_with_a_lane_for_each_thread) {
  constexpr std::chrono::milliseconds time{2};
  {
    thread_timeline lanes(2);
    lanes.running(0, "computing", [&] { std::this_thread::sleep_for(time); });
    EXPECT_EQ(lanes.running(1, "computing", [&] { return 7; }), 7);
    lanes.waiting(1, "asleep", [&] { std::this_thread::sleep_for(time); });
  }
  const timeline found = read_timeline(written());
  ASSERT_EQ(found.lanes.size(), 2u);
  EXPECT_GE(found.lanes[0].busy_us, 2'000);
  EXPECT_LT(found.lanes[1].busy_us, 2'000) << "waiting does not count as busy";
  EXPECT_FALSE(found.ends_early);
}

TEST_F(a_thread_timeline, joins_slices_that_are_close) {
  {
    thread_timeline lanes(1);
    for (int i = 0; i < 1'000; ++i) lanes.running(0, "computing", [] {});
  }
  EXPECT_LT(read_timeline(written()).slices, 100u);
}

TEST_F(a_thread_timeline, without_the_variable_records_nothing) {
  ::unsetenv("TROUPE_TRACE");
  {
    thread_timeline lanes(1);
    lanes.running(0, "computing", [] {});
  }
  EXPECT_FALSE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace troupe::lab
