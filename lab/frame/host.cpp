// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/host.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "lab/built.hpp"

namespace troupe::lab {

namespace {

// Returns the value of the first line that begins with the key: `key : value` or `key="value"`.
std::string field(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t from = line.find_first_not_of(" \t:=\"", key.size());
    if (from == std::string::npos) continue;
    return line.substr(from, line.find_last_not_of(" \"") + 1 - from);
  }
  return "unknown";
}

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

std::string compiler_name() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

host look_at_host() {
  utsname system{};
  ::uname(&system);
  double load = 0;
  ::getloadavg(&load, 1);
  return {.cpu = field("/proc/cpuinfo", "model name"),
          .cores = usable_cores(),
          .is_virtual = (" " + field("/proc/cpuinfo", "flags") + " ").find(" hypervisor ") !=
                        std::string::npos,
          .memory_bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<double>(::sysconf(_SC_PAGESIZE)),
          .os = field("/etc/os-release", "PRETTY_NAME"),
          .kernel = std::string(system.sysname) + " " + system.release,
          .compiler = compiler_name(),
          .flags = built::flags,
          .commit = built::commit(),
          .load = load};
}

}  // namespace troupe::lab
