// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Writes the frames of RFC 6455, section 5.2.

namespace troupe::http::detail {

enum class opcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

/// Which end of a connection this is. A client masks what it sends, a server does not.
enum class role : std::uint8_t { server, client };

using mask_key = std::array<char, 4>;

inline constexpr std::size_t frame_head_bytes_max = 14;
inline constexpr std::size_t control_bytes_max = 125;  // maximum payload of a control frame

namespace close_code {
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t going_away = 1001;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t not_accepted = 1003;
inline constexpr std::uint16_t none = 1005;      // never sent: the close frame had no code
inline constexpr std::uint16_t abnormal = 1006;  // never sent: there was no close frame
inline constexpr std::uint16_t bad_payload = 1007;
inline constexpr std::uint16_t policy = 1008;
inline constexpr std::uint16_t too_large = 1009;
inline constexpr std::uint16_t failed = 1011;
inline constexpr std::uint16_t try_again_later = 1013;
}  // namespace close_code

/// Returns true for codes that a close frame may carry: those that RFC 6455 and IANA's registry
/// define, and those left to libraries and programs.
[[nodiscard]] constexpr bool is_close_code(std::uint16_t code) noexcept {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

/// Applies or removes a mask. `at` is the number of payload bytes before these.
void apply_mask(char* bytes, std::size_t size, mask_key key, std::uint64_t at = 0) noexcept;

/// Appends the head of an unmasked frame that is a whole message, or a control frame.
void append_frame_head(std::string& to, opcode what, std::uint64_t payload_bytes);

/// Appends such a frame. With a key it is masked. Only a client does this, and it must draw the key
/// from an unpredictable source (RFC 6455, 10.3).
void append_frame(std::string& to, opcode what, std::string_view payload);
void append_frame(std::string& to, opcode what, std::string_view payload, mask_key key);

/// The payload of a close frame: as much of the reason as fits, cut between two characters. It is
/// empty for close_code::none.
[[nodiscard]] std::string close_payload(std::uint16_t code, std::string_view reason);

}  // namespace troupe::http::detail
