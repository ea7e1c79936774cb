// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <troupe/http/fetch.hpp>

#include "url.hpp"

namespace troupe::http::detail {

/// Returns the error in headers that a program has set. With `of_websocket`, the headers of a
/// handshake are refused as well.
[[nodiscard]] std::optional<std::string> wrong_headers(const header_list& headers,
                                                       bool of_websocket);

/// The value of the first header of that name, in any case; null if it is missing.
[[nodiscard]] const std::string* find_header(const header_list& in, std::string_view name) noexcept;

/// Everything before the body.
[[nodiscard]] std::string head_of_request(const fetch& what, const url& to,
                                          std::string_view user_agent);

/// Returns true for idempotent methods (RFC 9110, 9.2.2).
[[nodiscard]] bool may_be_repeated(std::string_view method) noexcept;

/// Changes the request as a redirect with this status requires. It becomes GET for 303, and for 301
/// and 302 of a POST, as in all clients. Headers meant for the first host alone are removed if the
/// redirect leads to another origin. Returns false if such a status is not followed.
[[nodiscard]] bool redirect(fetch& what, unsigned status, bool to_another_origin);

/// The memory that a response takes.
[[nodiscard]] std::size_t bytes_of(const fetched& answer) noexcept;

}  // namespace troupe::http::detail
