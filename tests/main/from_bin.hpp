// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::test {

/// Resolves a path that CMake's troupe_from_bin() made relative to the folder of the programs.
inline std::string from_bin(std::string_view path) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path() / path).lexically_normal().string();
}

}  // namespace troupe::test
