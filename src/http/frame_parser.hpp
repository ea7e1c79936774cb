// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "frames.hpp"
#include "utf8.hpp"

namespace troupe::http::detail {

/// Parses the frames of RFC 6455 from bytes that come in any pieces, and reports messages and
/// control frames. It knows nothing of sockets.
///
///   frame_parser parser(role::server, limits.message_bytes);
///   for (std::span<char> in = bytes;;) {
///     switch (parser.next(in)) {
///       case frame_parser::event::text: …parser.payload()…
///
/// Threads:   a plain value.
/// Invariant: it stores at most message_bytes_max of a message, and refuses a longer one as soon as
///            its head has arrived. It leaves at most bytes_left_max of the bytes unread.
/// Errors:    a violation of the protocol is an event.
/// Cost:      a message that is one frame and lies in the bytes as a whole is unmasked in place and
///            not copied. Other messages are assembled in a copy, which is freed with the next
///            event.
class frame_parser {
 public:
  enum class event : std::uint8_t {
    more,    // nothing is complete; pass the rest of the bytes again, with more after them
    text,    // UTF-8
    binary,  //
    ping,
    pong,
    close,     // the last event: code(), and the reason in payload()
    violation  // the last event: code() to close with, and the error in payload()
  };

  static constexpr std::size_t bytes_left_max = frame_head_bytes_max + control_bytes_max;

  frame_parser(role as, std::size_t message_bytes_max) noexcept
      : message_bytes_max_(message_bytes_max), role_(as) {}

  /// Reads up to the end of the next event, advances `bytes` past it, and unmasks the bytes it
  /// reads.
  [[nodiscard]] event next(std::span<char>& bytes);

  /// A message has begun and is incomplete. Control frames may come between its fragments.
  [[nodiscard]] bool is_within_message() const noexcept { return within_message_; }

  /// Bytes allocated for a message that is incomplete, or that was the last event.
  [[nodiscard]] std::size_t kept_bytes() const noexcept { return message_.capacity(); }
  /// Reads nothing more, and frees the incomplete message.
  void give_up() noexcept {
    over_ = true;
    std::string{}.swap(message_);
  }

  /// Payload of the last event. It is valid until the next call, as long as the bytes exist.
  [[nodiscard]] std::string_view payload() const noexcept { return payload_; }
  /// Code of a close frame, 1005 if it has none; or of a violation: 1002, 1007 or 1009.
  [[nodiscard]] std::uint16_t code() const noexcept { return code_; }

 private:
  struct head;
  enum class found : std::uint8_t { part, whole, wrong };

  [[nodiscard]] found read_head(std::span<const char> bytes, head& h) noexcept;
  [[nodiscard]] found check_kind(const head& h) noexcept;
  [[nodiscard]] event control(const head& h, std::span<char> payload) noexcept;
  [[nodiscard]] event closing() noexcept;
  [[nodiscard]] event message_at_once(const head& h, std::span<char> payload) noexcept;
  void begin_frame(const head& h);
  [[nodiscard]] bool take_payload(std::span<char>& bytes);
  [[nodiscard]] event message_is_whole() noexcept;
  found wrong(std::uint16_t code, std::string_view why) noexcept;

  const std::size_t message_bytes_max_;
  const role role_;
  bool over_ = false;
  bool within_message_ = false;  // the message continues in the next frame, or in this one
  bool within_frame_ = false;
  bool is_last_ = false;   // this frame ends the message
  bool is_given_ = false;  // message_ was the last event
  opcode kind_ = opcode::text;
  utf8_checker utf8_;
  std::uint16_t code_ = 0;
  mask_key key_{};
  std::uint64_t frame_bytes_ = 0;  // size of this frame's payload
  std::uint64_t taken_ = 0;        // how many of these have been read
  std::string message_;            // the received part of an incomplete message
  std::string_view payload_;
};

}  // namespace troupe::http::detail
