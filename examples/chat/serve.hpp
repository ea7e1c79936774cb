// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <troupe/http/server.hpp>
#include <troupe/troupe.hpp>

namespace chat {

/// The longest message that a member sends, with what is around it.
inline constexpr std::size_t message_bytes = 32 * 1024;

/// Serves the chat: its WebSocket at /chat, and its page at that folder, which ends with a slash. To be called before the
/// server is started.
void serve(troupe::http::server& on, troupe::system& in, std::string_view folder);

}  // namespace chat
