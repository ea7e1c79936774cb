// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace troupe::detail {

/// The name of a type without the namespaces and classes around it, also in its arguments: of `a::b<c::d>`, `b<d>`.
/// Throws std::bad_alloc.
[[nodiscard]] std::string short_name(std::string_view full);

}  // namespace troupe::detail
