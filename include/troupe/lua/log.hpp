// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace troupe::lua {

enum class severity : std::uint8_t { debug, info, warning, error };

/// One log line of an application.
struct log_line {
  severity how = severity::info;
  std::string_view application;
  unsigned instance = 0;  // from 1; 0: not from an instance
  std::string_view text;  // may have several lines, for example a traceback
};

/// The destination of log lines. It is called in turns of instances, concurrently, and must not
/// throw or block.
using log_sink = std::function<void(const log_line&)>;

}  // namespace troupe::lua
