// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

// The opening handshake of a WebSocket: RFC 6455, section 4.

namespace troupe::http::detail {

/// Returns true for sixteen bytes in base64.
[[nodiscard]] bool is_websocket_key(std::string_view key) noexcept;

/// The value of Sec-WebSocket-Accept for that key.
///
/// Errors: std::runtime_error if OpenSSL has no SHA-1.
[[nodiscard]] std::string websocket_accept(std::string_view key);

/// The first protocol of a comma-separated list of offers that is among those understood; empty if
/// there is no such protocol.
[[nodiscard]] std::string_view choose_protocol(std::string_view offers,
                                               std::span<const std::string> understood) noexcept;

/// The complete response: 101. `protocol` may be empty.
[[nodiscard]] std::string switching_protocols(std::string_view key, std::string_view protocol);

}  // namespace troupe::http::detail
