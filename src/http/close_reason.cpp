// SPDX-License-Identifier: Apache-2.0

#include "close_reason.hpp"

namespace troupe::http::detail {
namespace {

namespace bw = boost::beast::websocket;

constexpr std::size_t reason_bytes_max = 123;  // 125 of a control frame, less 2 for the code

}  // namespace

bw::close_reason to_close_reason(const closed& from) {
  std::string_view text = from.reason;
  if (text.size() > reason_bytes_max) {
    std::size_t size = reason_bytes_max;
    const auto continues = [&](std::size_t at) {
      return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
    };
    while (size > 0 && continues(size)) --size;
    text = text.substr(0, size);
  }
  bw::close_reason result{static_cast<bw::close_code>(from.code)};
  result.reason.assign(text.data(), text.size());
  return result;
}

closed from_close_reason(const bw::close_reason& from) {
  const bool has_code = from.code != bw::close_code::none;
  return {.code = has_code ? from.code : std::uint16_t{bw::close_code::no_status},
          .reason = {from.reason.data(), from.reason.size()}};
}

closed from_error(const net::error_code& error) {
  std::uint16_t code = bw::close_code::abnormal;
  if (error == bw::error::message_too_big) {
    code = bw::close_code::too_big;
  } else if (error == bw::error::bad_frame_payload) {
    code = bw::close_code::bad_payload;
  } else if (error == bw::condition::protocol_violation) {
    code = bw::close_code::protocol_error;
  }
  return {.code = code, .reason = error.message()};
}

}  // namespace troupe::http::detail
