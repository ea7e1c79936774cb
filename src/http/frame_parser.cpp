// SPDX-License-Identifier: Apache-2.0

#include "frame_parser.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::http::detail {
namespace {

// The data that a head announces may never arrive, so beyond this size memory is allocated as bytes
// arrive.
constexpr std::uint64_t reserved_bytes_max = 16 * 1024;

bool is_control(opcode what) noexcept { return (static_cast<std::uint8_t>(what) & 8) != 0; }

std::uint64_t big_endian(std::span<const char> bytes) noexcept {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::string_view view(std::span<const char> of) noexcept { return {of.data(), of.size()}; }

}  // namespace

struct frame_parser::head {
  opcode what;
  bool fin;
  bool masked;
  std::uint64_t payload_bytes;
  mask_key key{};
  std::size_t bytes;  // size of the head
};

frame_parser::found frame_parser::wrong(std::uint16_t code, std::string_view why) noexcept {
  code_ = code;
  payload_ = why;
  over_ = true;
  return found::wrong;
}

// Checks available bytes in a fixed order, so the same error is found however the bytes are cut.
frame_parser::found frame_parser::read_head(std::span<const char> bytes, head& h) noexcept {
  if (bytes.size() < 2) return found::part;
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  const auto second = static_cast<std::uint8_t>(bytes[1]);
  if ((first & 0x70) != 0) {
    return wrong(close_code::protocol_error,
                 "a reserved bit is set although no extension was negotiated");
  }
  h.fin = (first & 0x80) != 0;
  h.what = static_cast<opcode>(first & 0x0f);
  h.masked = (second & 0x80) != 0;
  h.payload_bytes = second & 0x7f;
  if (const found kind = check_kind(h); kind != found::whole) return kind;

  const std::size_t size_bytes = h.payload_bytes == 126 ? 2 : h.payload_bytes == 127 ? 8 : 0;
  if (bytes.size() < 2 + size_bytes) return found::part;
  if (size_bytes > 0) {
    h.payload_bytes = big_endian(bytes.subspan(2, size_bytes));
    if (h.payload_bytes <= (size_bytes == 2 ? 125u : 0xffffu)) {
      return wrong(close_code::protocol_error,
                   "the payload length is not encoded in the fewest bytes");
    }
  }
  if (!is_control(h.what) && h.payload_bytes > message_bytes_max_ - message_.size()) {
    return wrong(close_code::too_large, "the message is larger than the limit");
  }
  if ((h.payload_bytes >> 63) != 0) {
    return wrong(close_code::protocol_error, "the payload length is 2^63 or more");
  }

  h.bytes = 2 + size_bytes + (h.masked ? h.key.size() : 0);
  if (bytes.size() < h.bytes) return found::part;
  if (h.masked) std::memcpy(h.key.data(), bytes.data() + 2 + size_bytes, h.key.size());
  return found::whole;
}

// Checks the first two bytes.
frame_parser::found frame_parser::check_kind(const head& h) noexcept {
  constexpr std::uint16_t code = close_code::protocol_error;
  switch (h.what) {
    case opcode::continuation:
      if (!within_message_)
        return wrong(code, "a continuation frame without a message to continue");
      break;
    case opcode::text:
    case opcode::binary:
      if (within_message_)
        return wrong(code, "a new message began before the previous one was complete");
      break;
    case opcode::close:
    case opcode::ping:
    case opcode::pong:
      if (!h.fin) return wrong(code, "a fragmented control frame");
      if (h.payload_bytes > control_bytes_max) {
        return wrong(code, "a control frame of more than 125 bytes");
      }
      break;
    default:
      return wrong(code, "a frame with an unknown opcode");
  }
  if (h.masked == (role_ == role::server)) return found::whole;
  return wrong(code, h.masked ? "a masked frame from a server" : "an unmasked frame from a client");
}

frame_parser::event frame_parser::next(std::span<char>& bytes) {
  if (is_given_) {
    is_given_ = false;
    std::string{}.swap(message_);
  }
  while (!over_) {
    if (within_frame_) {
      if (!take_payload(bytes)) break;
      if (within_frame_) return event::more;
      if (is_last_) return message_is_whole();
      continue;
    }
    head h;
    const found there = read_head(bytes, h);
    if (there == found::wrong) break;
    if (there == found::part) return event::more;
    const std::span<char> behind = bytes.subspan(h.bytes);
    const bool is_there = h.payload_bytes <= behind.size();
    if (is_control(h.what) || (is_there && h.fin && !within_message_)) {
      if (!is_there) return event::more;
      const auto size = static_cast<std::size_t>(h.payload_bytes);
      const std::span<char> payload = behind.first(size);
      bytes = behind.subspan(size);
      if (h.masked) apply_mask(payload.data(), size, h.key);
      return is_control(h.what) ? control(h, payload) : message_at_once(h, payload);
    }
    bytes = behind;
    begin_frame(h);
  }
  return event::violation;
}

// ── Control frames ────────────────────────────────────────────────────────────────────────────

frame_parser::event frame_parser::control(const head& h, std::span<char> payload) noexcept {
  payload_ = view(payload);
  if (h.what == opcode::ping) return event::ping;
  if (h.what == opcode::pong) return event::pong;
  return closing();
}

frame_parser::event frame_parser::closing() noexcept {
  over_ = true;
  code_ = close_code::none;
  if (payload_.empty()) return event::close;
  constexpr std::uint16_t code = close_code::protocol_error;
  if (payload_.size() == 1) {
    wrong(code, "a close frame with an incomplete code");
    return event::violation;
  }
  const auto given = static_cast<std::uint16_t>(big_endian({payload_.data(), 2}));
  const std::string_view reason = payload_.substr(2);
  if (!is_close_code(given)) {
    wrong(code, "a close frame with an invalid code");
    return event::violation;
  }
  if (!is_utf8(reason)) {
    wrong(code, "a close frame whose reason is not UTF-8");
    return event::violation;
  }
  code_ = given;
  payload_ = reason;
  return event::close;
}

// ── Messages ──────────────────────────────────────────────────────────────────────────────────

constexpr std::string_view not_utf8 = "a text message that is not valid UTF-8";

frame_parser::event frame_parser::message_at_once(const head& h, std::span<char> payload) noexcept {
  payload_ = view(payload);
  if (h.what == opcode::binary) return event::binary;
  if (is_utf8(payload_)) return event::text;
  wrong(close_code::bad_payload, not_utf8);
  return event::violation;
}

void frame_parser::begin_frame(const head& h) {
  if (!within_message_) {
    kind_ = h.what;
    utf8_ = {};
    message_.reserve(static_cast<std::size_t>(std::min(h.payload_bytes, reserved_bytes_max)));
  }
  within_message_ = within_frame_ = true;
  is_last_ = h.fin;
  key_ = h.key;
  frame_bytes_ = h.payload_bytes;
  taken_ = 0;
}

// Returns false if a text is not valid UTF-8.
bool frame_parser::take_payload(std::span<char>& bytes) {
  const auto size =
      static_cast<std::size_t>(std::min<std::uint64_t>(frame_bytes_ - taken_, bytes.size()));
  const std::span<char> piece = bytes.first(size);
  bytes = bytes.subspan(size);
  if (role_ == role::server) apply_mask(piece.data(), size, key_, taken_);
  taken_ += size;
  within_frame_ = taken_ < frame_bytes_;
  if (kind_ == opcode::text) {
    if (!utf8_.go_on(view(piece)) || (!within_frame_ && is_last_ && !utf8_.is_whole())) {
      wrong(close_code::bad_payload, not_utf8);
      return false;
    }
  }
  message_.append(piece.data(), size);
  return true;
}

frame_parser::event frame_parser::message_is_whole() noexcept {
  within_message_ = false;
  is_given_ = true;
  payload_ = message_;
  return kind_ == opcode::text ? event::text : event::binary;
}

}  // namespace troupe::http::detail
