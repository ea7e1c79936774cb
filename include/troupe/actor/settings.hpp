// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <troupe/actor/system.hpp>

namespace troupe {

/// `base` with what a file says instead, so that a program need not be built again for another machine:
///
///     # 2 virtual cores, measured by `troupe lab advise`
///     workers = 1
///     turn_messages = 256
///
/// A line for each, in any order, none of them twice: `workers`, `max_threads`, `turn_messages`, `search_rounds`,
/// `max_messages`, `max_bytes`, as in system_options. Digits may be grouped: 65_536. What stands behind a # is a
/// comment. Such a file is one of TOML.
///
/// Threads: any.
/// Errors:  std::runtime_error with the file, the line, what is wrong with it, and what is allowed.
[[nodiscard]] system_options read_settings(const std::string& file, system_options base = {});

}  // namespace troupe
