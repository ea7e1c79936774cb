// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace troupe::lua {

enum class severity : std::uint8_t { debug, info, warning, error };

/// One line of an application's.
struct log_line {
  severity how = severity::info;
  std::string_view application;
  unsigned instance = 0;  // from 1 on; 0: none of them
  std::string_view text;  // may have several lines: a traceback has
};

/// Where lines go. It is called in turns of instances, on several threads at once, and must not throw or wait.
using log_sink = std::function<void(const log_line&)>;

}  // namespace troupe::lua
