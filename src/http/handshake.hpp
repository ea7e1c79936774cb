// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

// The beginning of a WebSocket: RFC 6455, section 4.

namespace troupe::http::detail {

/// Sixteen bytes in base64.
[[nodiscard]] bool is_websocket_key(std::string_view key) noexcept;

/// The value of Sec-WebSocket-Accept for that key.
///
/// Errors: std::runtime_error if OpenSSL has no SHA-1.
[[nodiscard]] std::string websocket_accept(std::string_view key);

/// The first of the offers, a list with commas, that is among the understood; empty if none is.
[[nodiscard]] std::string_view choose_protocol(std::string_view offers,
                                               std::span<const std::string> understood) noexcept;

/// The whole answer: 101. `protocol` may be empty.
[[nodiscard]] std::string switching_protocols(std::string_view key, std::string_view protocol);

}  // namespace troupe::http::detail
