// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <troupe/http/request.hpp>

#include "date.hpp"

namespace troupe::http::detail {

/// Whether the client has this content already (RFC 9110, 13.2.2): by If-None-Match if it is there,
/// else by If-Modified-Since.
[[nodiscard]] bool is_unchanged(const request& asked, std::string_view etag,
                                std::optional<date> modified);

}  // namespace troupe::http::detail
