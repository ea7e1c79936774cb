// SPDX-License-Identifier: Apache-2.0

#include "frames.hpp"

#include <cstring>

namespace troupe::http::detail {
namespace {

constexpr std::uint8_t fin_bit = 0x80;
constexpr std::uint8_t mask_bit = 0x80;

// Returns the length of the head.
std::size_t write_head(char* to, opcode what, std::uint64_t size, std::uint8_t mask) noexcept {
  to[0] = static_cast<char>(fin_bit | static_cast<std::uint8_t>(what));
  std::size_t more = 0;
  if (size <= 125) {
    to[1] = static_cast<char>(mask | size);
  } else if (size <= 0xffff) {
    to[1] = static_cast<char>(mask | 126);
    more = 2;
  } else {
    to[1] = static_cast<char>(mask | 127);
    more = 8;
  }
  for (std::size_t i = more; i > 0; --i, size >>= 8) to[1 + i] = static_cast<char>(size & 0xff);
  return 2 + more;
}

// Cut between two characters.
std::string_view fitting(std::string_view reason) noexcept {
  constexpr std::size_t bytes_max = control_bytes_max - 2;  // less the code
  if (reason.size() <= bytes_max) return reason;
  std::size_t size = bytes_max;
  while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xc0) == 0x80) --size;
  return reason.substr(0, size);
}

}  // namespace

void apply_mask(char* bytes, std::size_t size, mask_key key, std::uint64_t at) noexcept {
  std::array<char, 8> turned;
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = key[(at + i) % key.size()];
  std::uint64_t wide;
  std::memcpy(&wide, turned.data(), sizeof wide);
  std::size_t i = 0;
  for (; i + sizeof wide <= size; i += sizeof wide) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes + i, sizeof eight);
    eight ^= wide;
    std::memcpy(bytes + i, &eight, sizeof eight);
  }
  for (std::size_t k = 0; i < size; ++i, ++k) bytes[i] = static_cast<char>(bytes[i] ^ turned[k]);
}

void append_frame_head(std::string& to, opcode what, std::uint64_t payload_bytes) {
  std::array<char, frame_head_bytes_max> head;
  to.append(head.data(), write_head(head.data(), what, payload_bytes, 0));
}

void append_frame(std::string& to, opcode what, std::string_view payload) {
  append_frame_head(to, what, payload.size());
  to.append(payload);
}

void append_frame(std::string& to, opcode what, std::string_view payload, mask_key key) {
  std::array<char, frame_head_bytes_max> head;
  to.append(head.data(), write_head(head.data(), what, payload.size(), mask_bit));
  to.append(key.data(), key.size());
  to.append(payload);
  apply_mask(to.data() + (to.size() - payload.size()), payload.size(), key);
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string payload;
  if (code == close_code::none) return payload;
  payload += static_cast<char>(code >> 8);
  payload += static_cast<char>(code & 0xff);
  return payload.append(fitting(reason));
}

}  // namespace troupe::http::detail
