// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {
inline namespace native {

/// A Linux control group, as this process sees its files.
struct control_group {
  std::string folder;
  bool is_second = false;  // version 2, whose files have other names
};

/// The control groups that may limit this process by `controller` ("cpu", "memory"): its own and
/// all visible ancestors, of version 1, version 2, or both. The limit of an ancestor can be lower
/// than that of the own group.
///
/// `root`: a prefix for /proc and for the mount points of control groups. For tests.
///
/// Errors: std::bad_alloc.
/// Cost:   /proc/self/mountinfo and /proc/self/cgroup are read.
[[nodiscard]] std::vector<control_group> control_groups(std::string_view controller,
                                                        const std::string& root = {});

}  // namespace native
}  // namespace troupe
