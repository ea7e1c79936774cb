// SPDX-License-Identifier: Apache-2.0

// The bytes of a WebSocket client. An input is all the bytes of one connection after the upgrade.

#include "conversation.hpp"
#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using namespace std::chrono_literals;

constexpr std::string_view upgrade =
    "GET /chat HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

// RFC 6455, 7.4, and IANA's registry.
bool may_be_sent(unsigned code) {
  return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
         (code >= 3000 && code <= 4999);
}

struct answers {
  std::vector<conversation::message> messages;
  bool is_closed = false;
};

answers read_frames(std::string_view rest) {
  answers all;
  while (!rest.empty()) {
    require(!all.is_closed, "nothing follows a close frame");
    require(rest.size() >= 2, "a frame has a head");
    const unsigned first = static_cast<unsigned char>(rest[0]);
    std::size_t size = static_cast<unsigned char>(rest[1]);
    require((first & 0xf0) == 0x80, "a frame is a whole message, without extensions");
    require(size < 0x80, "a server does not mask");
    rest.remove_prefix(2);
    if (size == 126) {
      require(rest.size() >= 2, "a frame has its size");
      size = static_cast<unsigned char>(rest[0]) * 256u + static_cast<unsigned char>(rest[1]);
      require(size > 125, "a size is as short as can be");
      rest.remove_prefix(2);
    }
    require(size <= conversation::message_bytes_max && size <= rest.size(), "a frame is complete");
    const std::string_view payload = rest.substr(0, size);
    rest.remove_prefix(size);
    switch (first & 0x0f) {
      case 1:
        require(is_utf8(payload), "a text is UTF-8");
        all.messages.push_back({true, std::string{payload}});
        break;
      case 2:
        all.messages.push_back({false, std::string{payload}});
        break;
      case 8:
        require(size == 0 || size >= 2, "a close frame has a code or nothing");
        if (size >= 2) {
          require(may_be_sent(static_cast<unsigned char>(payload[0]) * 256u +
                              static_cast<unsigned char>(payload[1])),
                  "a close frame has a code that may be sent");
          require(is_utf8(payload.substr(2)), "a reason is UTF-8");
        }
        all.is_closed = true;
        [[fallthrough]];
      case 9:
      case 10:
        require(size <= 125, "a control frame is short");
        break;
      default:
        require(false, "a frame is of a kind that there is");
    }
  }
  return all;
}

struct outcome {
  std::vector<conversation::message> messages;
  conversation::closing closing;
};

outcome hold(std::string_view input, std::size_t pieces, std::uint64_t by) {
  conversation one(by);
  one.say(upgrade);
  const std::size_t begin = one.heard().find("\r\n\r\n");
  require(one.heard().starts_with("HTTP/1.1 101 ") && begin == one.heard().size() - 4,
          "the WebSocket begins");
  for (std::size_t left = pieces; left > 0; --left) {
    const std::size_t size = left == 1 ? input.size() : (by >> (left * 7)) % (input.size() + 1);
    one.say(input.substr(0, size));
    input.remove_prefix(size);
  }
  if (by % 4 == 0) one.hang_up();
  for (int i = 0; i < 8 && !one.is_over(); ++i) one.wait(30s);

  require(one.is_over(), "a connection ends when its time is up");
  require(one.failure().empty(), "a connection does not fail");
  require(one.statistics().websockets == 0 && one.statistics().held_back == 0,
          "nothing of a connection is left behind");
  require(one.statistics().messages_in == one.messages().size(), "messages are counted");
  require(one.closings().size() == 1, "a session is told once that it is over");
  for (const auto& each : one.messages()) {
    require(each.data.size() <= conversation::message_bytes_max, "a message is within the limit");
    require(!each.is_text || is_utf8(each.data), "a session is sent UTF-8");
  }
  const answers got = read_frames(std::string_view{one.heard()}.substr(begin + 4));
  require(got.messages.size() <= one.messages().size() &&
              std::equal(got.messages.begin(), got.messages.end(), one.messages().begin()),
          "what the session sends comes, in order");
  const conversation::closing& end = one.closings().front();
  require(may_be_sent(end.code) || end.code == 1005 || end.code == 1006,
          "a session is told of a code that there is");
  require(is_utf8(end.reason), "a session is told of a reason in UTF-8");
  return {one.messages(), end};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = text_of(data, size);
  const std::uint64_t by = hash_of(input);
  const outcome whole = hold(input, 1, by);
  const outcome split = hold(input, 2 + by % 5, by);
  require(whole.messages == split.messages, "in pieces a session is sent the same");
  require(whole.closing.code == split.closing.code, "in pieces it ends in the same way");
  return 0;
}
