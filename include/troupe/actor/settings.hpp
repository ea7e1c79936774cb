// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <troupe/actor/system.hpp>

namespace troupe {

/// Reads options from a file and returns `base` with them applied, so that a program need not be
/// rebuilt for another host:
///
///     # 2 virtual cores, measured by `troupe lab advise`
///     workers = 1
///     turn_messages = 256
///
/// Each option is on a line of its own, in any order and at most once: `workers`, `max_threads`,
/// `turn_messages`, `spin_rounds`, `max_messages`, `max_bytes`, as in system_options. Digits may
/// be grouped: 65_536. A # starts a comment. Such a file is valid TOML.
///
/// Threads: any.
/// Errors:  std::runtime_error with the file, the line, the error, and the allowed values.
[[nodiscard]] system_options read_settings(const std::string& file, system_options base = {});

}  // namespace troupe
