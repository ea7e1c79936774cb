// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <troupe/actor/statistics.hpp>

namespace troupe {

class system;

namespace detail {

/// Returns the figures of the system's blocking pools, in the order in which they were made.
/// Errors: std::bad_alloc.
[[nodiscard]] std::vector<blocking_pool_statistics> statistics_of_blocking_pools(system& of);

}  // namespace detail
}  // namespace troupe
