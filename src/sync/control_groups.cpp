// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <troupe/detail/sync/control_groups.hpp>
#include <utility>
#include <vector>

namespace troupe {
inline namespace native {
namespace {

/// One hierarchy of control groups as this process sees it.
struct hierarchy {
  bool is_second = false;  // version 2
  std::string mounted_at;  // the directory of its files
  // The group that is mounted there: "/", except in containers that see the whole path.
  std::string mounted_from;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream from(text);
  for (std::string part; std::getline(from, part, at);) parts.push_back(std::move(part));
  return parts;
}

bool has_option(const std::string& list, std::string_view one) {
  const auto all = split(list, ',');
  return std::find(all.begin(), all.end(), one) != all.end();
}

// Decodes octal escapes: the kernel writes a space as \040, for example.
std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return text[i + at] - '0'; };
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(64 * digit(1) + 8 * digit(2) + digit(3));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Parses lines such as «36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root
// rw,errors=continue»: proc_pid_mountinfo(5).
std::vector<hierarchy> hierarchies(std::string_view controller, const std::string& root) {
  std::vector<hierarchy> all;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const auto fields = split(line, ' ');
    const auto separator = std::find(fields.begin(), fields.end(), "-");
    if (separator - fields.begin() < 6 || fields.end() - separator < 4) continue;
    const std::string& type = separator[1];
    const bool is_second = type == "cgroup2";
    if (!is_second && !(type == "cgroup" && has_option(separator[3], controller))) continue;
    all.push_back({is_second, unescape(fields[4]), unescape(fields[3])});
  }
  return all;
}

// Parses «4:cpu,cpuacct:/some/group», or in version 2 «0::/some/group»: cgroups(7). Returns an
// empty string if the process is in no such group.
std::string group_in(std::string_view controller, const std::string& root, bool is_second) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_second ? controllers.empty() : has_option(controllers, controller))
      return line.substr(second + 1);
  }
  return {};
}

}  // namespace

std::vector<control_group> control_groups(std::string_view controller, const std::string& root) {
  std::vector<control_group> all;
  for (const hierarchy& each : hierarchies(controller, root)) {
    std::string group = group_in(controller, root, each.is_second);
    // The mounted group may be a subgroup of the hierarchy.
    const std::string& from = each.mounted_from;
    if (from != "/" && group.compare(0, from.size(), from) == 0) {
      group.erase(0, from.size());
    } else if (from != "/") {
      group.clear();
    }
    for (;;) {
      while (!group.empty() && group.back() == '/') group.pop_back();
      all.push_back({root + each.mounted_at + group, each.is_second});
      if (group.empty()) break;
      const auto parent = group.rfind('/');
      group.erase(parent == std::string::npos ? 0 : parent);
    }
  }
  return all;
}

}  // namespace native
}  // namespace troupe
