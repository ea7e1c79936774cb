// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <troupe/http/fetch.hpp>

#include "url.hpp"

namespace troupe::http::detail {

/// What is wrong with headers that a program has given. With `of_websocket`, those of a handshake are
/// refused as well.
[[nodiscard]] std::optional<std::string> wrong_headers(const header_list& headers,
                                                       bool of_websocket);

/// The value of the first of that name, in any case; nothing if there is none.
[[nodiscard]] const std::string* find_header(const header_list& in, std::string_view name) noexcept;

/// Everything in front of the body.
[[nodiscard]] std::string request_head(const fetch& what, const url& to,
                                       std::string_view user_agent);

/// Asking twice does what asking once does (RFC 9110, 9.2.2).
[[nodiscard]] bool may_be_repeated(std::string_view method) noexcept;

/// Changes the request to what a redirect with this status asks for: GET for 303, and for 301 and 302 of a
/// POST, as all clients do; what is for nobody but the first host goes if there is another one. False: that
/// status is none that is followed.
[[nodiscard]] bool redirect(fetch& what, unsigned status, bool to_another_origin);

/// What an answer takes of the memory.
[[nodiscard]] std::size_t bytes_of(const fetched& answer) noexcept;

}  // namespace troupe::http::detail
