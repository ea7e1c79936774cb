// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace troupe::http::detail {

/// By the extension, in any case: "text/html; charset=utf-8" for "/a/index.HTML". For what it does
/// not know "application/octet-stream", which browsers save and do not run.
[[nodiscard]] std::string_view content_type_of(std::string_view path) noexcept;

}  // namespace troupe::http::detail
