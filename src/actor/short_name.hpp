// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace troupe::detail {

/// The name of a type without its enclosing namespaces and classes, also in its template arguments:
/// for `a::b<c::d>`, `b<d>`. Throws std::bad_alloc.
[[nodiscard]] std::string short_name(std::string_view full);

}  // namespace troupe::detail
