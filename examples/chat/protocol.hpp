// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The messages between the page and the server, as JSON text.

namespace chat {

inline constexpr std::size_t name_characters_max = 32;
inline constexpr std::size_t room_characters_max = 32;
inline constexpr std::size_t text_characters_max = 4000;

// ── From the page ────────────────────────────────────────────────────────────────────────────────

struct join_request {
  std::string room;
  std::string name;
};
struct say_request {
  std::string text;
};
struct leave_request {};

using request = std::variant<join_request, say_request, leave_request>;

/// An error in a message from the page; its text is shown to the user.
struct bad_request : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws bad_request.
request parse(std::string_view json);

// ── To the page ──────────────────────────────────────────────────────────────────────────────────

/// A message to the page, encoded once for all its receivers.
using event = std::shared_ptr<const std::string>;

struct message {
  std::uint64_t id;  // in its room, from 1
  std::string from;
  std::string text;
  std::int64_t at;  // milliseconds since 1970
};

event joined(std::string_view room, std::string_view name, const std::vector<std::string>& people,
             const std::vector<message>& history);
event said(const message& m);
event arrived(std::string_view name);
event left(std::string_view name);
event left_room();
event error(std::string_view reason);

}  // namespace chat
