// SPDX-License-Identifier: Apache-2.0
#include "cpu_quota.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <troupe/detail/sync/control_groups.hpp>

namespace troupe {
inline namespace native {
namespace {

// The quota in CPUs. Nothing if no quota is set or it cannot be read.
std::optional<unsigned> rounded_up(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return {};
  const std::int64_t cpus = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<unsigned>(std::min<std::int64_t>(cpus, std::numeric_limits<unsigned>::max()));
}

std::optional<unsigned> quota_of(const std::string& group, bool is_second) {
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (is_second) {
    std::ifstream(group + "/cpu.max") >> quota >> period;  // «max 100000»: no number
  } else {
    std::ifstream(group + "/cpu.cfs_quota_us") >> quota;  // -1: no quota
    std::ifstream(group + "/cpu.cfs_period_us") >> period;
  }
  return rounded_up(quota, period);
}

}  // namespace

std::optional<unsigned> cpu_quota(const std::string& root) {
  std::optional<unsigned> least;
  for (const control_group& each : control_groups("cpu", root)) {
    const auto quota = quota_of(each.folder, each.is_second);
    if (quota) least = std::min(*quota, least.value_or(*quota));
  }
  return least;
}

}  // namespace native
}  // namespace troupe
