// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace troupe::detail {

/// The memory in bytes that this process may use: the minimum of the host's memory, the limits of
/// its control groups (version 1 or 2, including their ancestors) and its resource limits
/// (RLIMIT_AS, RLIMIT_DATA).
///
/// `root`: a prefix for /proc and for the mount points of control groups. For tests.
/// Cost: reads some files.
[[nodiscard]] std::size_t memory_of_process(const std::string& root = {});

}  // namespace troupe::detail
