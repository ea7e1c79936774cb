// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "memory.hpp"

// Readable output of executions.

namespace troupe::model {

/// file:line, without the folders. For an instruction, a placeholder that with_lines() replaces.
[[nodiscard]] std::string to_string(source_line at);

/// The text with the placeholders replaced by lines, as far as the toolchain's addr2line can find
/// them.
[[nodiscard]] std::string with_lines(std::string text);

/// The name of the variable declared there, if the source is available; file:line otherwise.
[[nodiscard]] std::string name_at(source_line at);

/// The name of an atomic where it is used: the expression before `.load(` and similar calls. Empty
/// if it cannot be determined.
[[nodiscard]] std::string name_in_use(source_line at);

[[nodiscard]] std::string order_name(std::memory_order order);
[[nodiscard]] std::string hexadecimal(std::uint64_t value);

/// One operation: its step, its thread, which has a column of its own, its place, and its
/// description.
[[nodiscard]] std::string trace_line(std::uint32_t step, std::size_t column,
                                     std::string_view thread, source_line where,
                                     std::string_view what);

inline void append(std::string& to, std::string_view part) { to += part; }
inline void append(std::string& to, std::uint64_t part) { to += std::to_string(part); }

template <class... Parts>
[[nodiscard]] std::string concatenate(const Parts&... parts) {
  std::string all;
  (append(all, parts), ...);
  return all;
}

}  // namespace troupe::model
