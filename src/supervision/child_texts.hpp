// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <troupe/detail/supervision/child_record.hpp>
#include <troupe/supervision/supervisor.hpp>

// The texts in which supervisors report on their children.

namespace troupe::detail {

[[nodiscard]] child_status status_of(const child_state& child);

[[nodiscard]] std::string too_many_failures(const child_state& child, const child_note& last,
                                            const supervision& rules);
[[nodiscard]] std::string has_not_started(const child_state& child);
[[nodiscard]] std::string has_not_stopped(const child_state& child);

}  // namespace troupe::detail
