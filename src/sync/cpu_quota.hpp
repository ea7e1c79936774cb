// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace troupe {
inline namespace native {

/// Returns the CPU quota of this process's control groups, in CPUs, rounded up.
///
/// This is the smallest quota of the process's own group and of all visible enclosing groups, in
/// version 1 (cpu.cfs_quota_us), version 2 (cpu.max), or both. Returns nothing if no quota is set
/// or none can be read.
///
/// `root` is a prefix for /proc and for the mount points of the control groups. Used by tests.
///
/// Errors: std::bad_alloc.
[[nodiscard]] std::optional<unsigned> cpu_quota(const std::string& root = {});

/// The root that usable_cpus() passes to cpu_quota(). Tests point it at a tree of files of their
/// own, while no other thread asks.
inline const char* cpu_quota_root = "";

}  // namespace native
}  // namespace troupe
