// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

#include "cpu_quota.hpp"

// Files that look like control groups, for the tests of quotas.

namespace troupe::test {

/// A tree of files that looks like /proc and /sys to cpu_quota().
class fake_system {
 public:
  fake_system() {
    std::string name = (std::filesystem::temp_directory_path() / "troupe-quota-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    root_ = name;
  }
  ~fake_system() { std::filesystem::remove_all(root_); }
  fake_system(const fake_system&) = delete;
  fake_system& operator=(const fake_system&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void mounts(const std::string& text) const { write("/proc/self/mountinfo", text); }
  void is_in(const std::string& text) const { write("/proc/self/cgroup", text); }
  void second(const std::string& group, const std::string& quota) const {
    write("/sys/fs/cgroup" + group + "/cpu.max", quota + "\n");
  }
  void first(const std::string& group, const std::string& quota, const std::string& period) const {
    const std::string place = "/sys/fs/cgroup/cpu,cpuacct" + group;
    write(place + "/cpu.cfs_quota_us", quota + "\n");
    write(place + "/cpu.cfs_period_us", period + "\n");
  }
  [[nodiscard]] std::optional<unsigned> quota() const { return cpu_quota(root_); }
  [[nodiscard]] const char* root() const { return root_.c_str(); }

 private:
  std::string root_;
};

/// Lines of /proc/self/mountinfo where control groups of that version are mounted.
inline const std::string version_2 =
    "22 1 0:20 / /proc rw - proc proc rw\n"
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
inline const std::string version_1 =
    "32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup rw,cpu,cpuacct\n";

}  // namespace troupe::test
