// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <troupe/detail/memory/memory_size.hpp>
#include <utility>

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

/// A tree of files that replaces the system's.
class fake_root {
 public:
  fake_root() {
    std::string name = (fs::temp_directory_path() / "troupe-memory-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = std::move(name);
    write("proc/self/mountinfo",
          "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
          "26 25 0:23 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    write("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:        8000000 kB\n");
  }
  fake_root(const fake_root&) = delete;
  fake_root& operator=(const fake_root&) = delete;
  ~fake_root() { fs::remove_all(path_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((fs::path(path_) / file).parent_path());
    std::ofstream(fs::path(path_) / file) << text;
  }
  [[nodiscard]] std::size_t memory() const { return memory_of_process(path_); }

 private:
  std::string path_;
};

constexpr std::size_t host = std::size_t{16'000'000} * 1024;

TEST(memory_of_process, is_that_of_the_host_without_any_limit) {
  const fake_root root;
  EXPECT_EQ(root.memory(), host);
  root.write("proc/self/cgroup", "0::/user.slice\n");
  root.write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(root.memory(), host);
}

TEST(memory_of_process, is_the_smallest_limit_of_its_group_and_the_enclosing_groups) {
  const fake_root root;
  root.write("proc/self/cgroup", "0::/outer/inner\n");
  root.write("sys/fs/cgroup/outer/inner/memory.max", "4000000000\n");
  EXPECT_EQ(root.memory(), 4'000'000'000u);
  root.write("sys/fs/cgroup/outer/memory.max", "1000000000\n");
  EXPECT_EQ(root.memory(), 1'000'000'000u);
  root.write("sys/fs/cgroup/memory.max", "500000000\n");
  EXPECT_EQ(root.memory(), 500'000'000u);
}

TEST(memory_of_process, supports_cgroup_version_1_with_other_controllers) {
  const fake_root root;
  root.write("proc/self/cgroup", "5:cpu,memory:/docker/abc\n4:pids:/docker/abc\n0::/\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(root.memory(), host);
  root.write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(root.memory(), 268'435'456u);
}

TEST(memory_of_process, takes_nonsense_for_no_limit_and_no_host_for_some_memory) {
  const fake_root root;
  root.write("proc/self/cgroup", "nonsense\n0::/a\n");
  root.write("sys/fs/cgroup/a/memory.max", "many\n");
  EXPECT_EQ(root.memory(), host);
  root.write("proc/meminfo", "");
  EXPECT_GT(root.memory(), 0u);
}

TEST(memory_of_process, of_this_one_is_more_than_nothing) { EXPECT_GT(memory_of_process(), 0u); }

}  // namespace
}  // namespace troupe::detail
