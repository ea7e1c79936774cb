// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "memory.hpp"

// How executions are told to people.

namespace troupe::model {

/// file:line, without the folders; of an instruction what with_lines() replaces.
[[nodiscard]] std::string to_string(source_line at);

/// The text with the lines of the instructions in it, as far as addr2line of the compiler's tools can tell them.
[[nodiscard]] std::string with_lines(std::string text);

/// The name of what is declared there, if the source is at hand; file:line otherwise.
[[nodiscard]] std::string name_at(source_line at);

/// What an atomic is called where it is used: what stands there before `.load(` and the like. Empty
/// if that cannot be told.
[[nodiscard]] std::string name_in_use(source_line at);

[[nodiscard]] std::string order_name(std::memory_order order);
[[nodiscard]] std::string hexadecimal(std::uint64_t value);

/// One operation: its step, its thread, in a column of its own for each, where, and what.
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
