// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace troupe {

/// The alignment that keeps two words on different cache lines.
///
/// It is a constant of the project, because std::hardware_destructive_interference_size may differ
/// between two translation units that share a type.
inline constexpr std::size_t cache_line_bytes = 64;

}  // namespace troupe
