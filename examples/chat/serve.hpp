// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <troupe/http/server.hpp>
#include <troupe/troupe.hpp>

namespace chat {

/// The maximum size of a member's message, including the JSON around the text.
inline constexpr std::size_t message_bytes = 32 * 1024;

/// Serves the chat: its WebSocket at /chat, and its page at `folder`, which must end with a slash.
/// Must be called before the server is started.
void serve(troupe::http::server& on, troupe::system& in, std::string_view folder);

}  // namespace chat
