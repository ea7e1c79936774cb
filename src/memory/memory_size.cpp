// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <troupe/detail/memory/memory_size.hpp>
#include <troupe/detail/sync/control_groups.hpp>

#ifdef __linux__
#include <sys/resource.h>
#endif

namespace troupe::detail {

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// Used if the amount of memory cannot be determined.
constexpr std::size_t assumed = std::size_t{4} << 30;

#ifdef __linux__

// Returns `unlimited` for "max", a missing file, or text that is not a number.
std::size_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text) || text.find_first_not_of("0123456789") != std::string::npos)
    return unlimited;
  return static_cast<std::size_t>(std::strtoull(text.c_str(), nullptr, 10));
}

std::size_t memory_of_host(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  while (file >> key) {
    std::uint64_t kilobytes = 0;
    if (key == "MemTotal:" && file >> kilobytes) return static_cast<std::size_t>(kilobytes) * 1024;
    std::getline(file, key);
  }
  return unlimited;
}

std::size_t limit_of_groups(const std::string& root) {
  std::size_t least = unlimited;
  for (const control_group& each : control_groups("memory", root)) {
    const char* const name = each.is_second ? "/memory.max" : "/memory.limit_in_bytes";
    least = std::min(least, number_in(each.folder + name));
  }
  return least;
}

std::size_t resource_limits() {
  std::size_t least = unlimited;
  for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      least = std::min(least, static_cast<std::size_t>(limit.rlim_cur));
    }
  }
  return least;
}

#endif

}  // namespace

std::size_t memory_of_process([[maybe_unused]] const std::string& root) {
  std::size_t least = unlimited;
#ifdef __linux__
  least = std::min({memory_of_host(root), limit_of_groups(root), resource_limits()});
#endif
  return least != unlimited ? least : assumed;
}

}  // namespace troupe::detail
