// SPDX-License-Identifier: Apache-2.0

// The content of a WebSocket's close frame. An input is the code, in two bytes, and the reason.

#include "http/frames.hpp"

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::http::detail;

void check(std::uint16_t code, std::string_view reason) {
  const std::string payload = close_payload(code, reason);
  require(payload.size() <= 125, "it fits into a control frame");
  if (code == 1005) return require(payload.empty(), "what is not sent is not sent");
  const std::string in_two_bytes{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  require(payload.starts_with(in_two_bytes), "the code comes first");
  const std::string text = payload.substr(2);
  require(reason.starts_with(text), "a reason is cut at its end only");
  if (reason.size() <= 123) require(text == reason, "a reason that fits is not cut");
  if (is_utf8(reason)) {
    require(is_utf8(text), "no character is cut in two");
    require(text.size() == reason.size() || text.size() + 4 > 123, "no more is cut than has to be");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto code = static_cast<std::uint16_t>(data[0] * 256u + data[1]);
  check(code, text_of(data + 2, size - 2));
  return 0;
}
