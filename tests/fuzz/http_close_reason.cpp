// SPDX-License-Identifier: Apache-2.0

// What goes into a WebSocket's close frame, and comes out of one. An input is the code, two bytes, and
// the reason.

#include "http/close_reason.hpp"

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::http::detail;
using troupe::http::closed;
namespace bw = boost::beast::websocket;

void check_both_ways(std::uint16_t code, std::string_view reason) {
  const bw::close_reason sent = to_close_reason({.code = code, .reason = std::string{reason}});
  const std::string_view text{sent.reason.data(), sent.reason.size()};
  require(text.size() <= 123, "a reason fits into a control frame");
  require(reason.starts_with(text), "a reason is cut at its end only");
  if (reason.size() <= 123) require(text == reason, "a reason that fits is not cut");
  if (is_utf8(reason)) {
    require(is_utf8(text), "no character is cut in two");
    require(text.size() == reason.size() || text.size() + 4 > 123, "no more is cut than has to be");
  }
  const closed back = from_close_reason(sent);
  require(back.reason == text, "the reason comes back");
  require(back.code == (code == 0 ? 1005 : code), "the code comes back; without one it is 1005");
}

void check_errors(std::uint16_t code) {
  const closed end = from_error(bw::make_error_code(static_cast<bw::error>(code % 64)));
  require(end.code == 1002 || end.code == 1006 || end.code == 1007 || end.code == 1009,
          "an error has the code that was sent for it, or 1006");
  require(!end.reason.empty(), "an error has a reason");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto code = static_cast<std::uint16_t>(data[0] * 256u + data[1]);
  check_both_ways(code, text_of(data + 2, size - 2));
  check_errors(code);
  return 0;
}
