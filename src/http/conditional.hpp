// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <troupe/http/request.hpp>

#include "date.hpp"

namespace troupe::http::detail {

/// The result of a request's preconditions for content that exists.
enum class condition : std::uint8_t {
  met,        // it is sent
  unchanged,  // the client has it already: 304
  failed,     // the client expects other content: 412
};

/// Evaluates If-Match or If-Unmodified-Since, then If-None-Match or If-Modified-Since (RFC 9110,
/// 13.2.2).
[[nodiscard]] condition condition_of(const request& asked, std::string_view etag,
                                     std::optional<date> modified);

}  // namespace troupe::http::detail
