// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace troupe::http::detail {

/// Chooses by the extension, in any case: "text/html; charset=utf-8" for "/a/index.HTML". For
/// unknown extensions it returns "application/octet-stream", which browsers save and do not run.
[[nodiscard]] std::string_view content_type_of(std::string_view path) noexcept;

}  // namespace troupe::http::detail
