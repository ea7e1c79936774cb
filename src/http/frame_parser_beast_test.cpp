// SPDX-License-Identifier: Apache-2.0

// The parser against Beast's WebSocket stream: both get the same bytes of a client.
//
// TROUPE_SEED=… repeats the same bytes.

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frame_parser.hpp"
#include "raw_client.hpp"
#include "text.hpp"

namespace troupe::http::detail {
namespace {

namespace bw = boost::beast::websocket;
using c = test::raw_client;

constexpr std::size_t message_bytes_max = 300;

struct message {
  bool is_text;
  std::string data;
  friend bool operator==(const message&, const message&) = default;
};

/// The result of a connection's bytes. `code` is the code of the client's close frame, or of the
/// violation that the client committed; 1006 if the connection just ended.
struct outcome {
  std::vector<message> messages;
  std::uint16_t code = close_code::abnormal;
  bool is_mistake = false;
};

outcome by_beast(const std::string& bytes) {
  boost::asio::io_context context{1};
  bw::stream<boost::beast::test::stream, false> server{context};
  boost::beast::test::stream client{context};
  client.connect(server.next_layer());
  server.read_message_max(message_bytes_max);
  client.write_some(boost::asio::buffer(std::string_view{
      "GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"}));
  server.accept();
  client.write_some(boost::asio::buffer(bytes));
  client.close();

  outcome all;
  for (boost::beast::flat_buffer buffer;; buffer.clear()) {
    boost::system::error_code error;
    server.read(buffer, error);
    if (!error) {
      const std::string_view data{static_cast<const char*>(buffer.cdata().data()), buffer.size()};
      // Beast does not check how a text ends if its last fragment is empty.
      if (server.got_text() && ends_within_character(data)) {
        all.code = close_code::bad_payload;
        all.is_mistake = true;
        return all;
      }
      all.messages.push_back({server.got_text(), std::string{data}});
      continue;
    }
    all.is_mistake = true;
    if (error == bw::error::closed) {
      const auto code = server.reason().code;
      all.is_mistake = false;
      all.code = code == bw::close_code::none ? close_code::none : static_cast<std::uint16_t>(code);
    } else if (error == bw::error::message_too_big) {
      all.code = close_code::too_large;
    } else if (error == bw::error::bad_frame_payload) {
      all.code = close_code::bad_payload;
    } else if (error == bw::condition::protocol_violation) {
      all.code = close_code::protocol_error;
    } else {
      all.is_mistake = false;
    }
    return all;
  }
}

outcome by_parser(const std::string& bytes, std::mt19937& random) {
  frame_parser parser(role::server, message_bytes_max);
  std::string unread;
  outcome all;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = 1 + random() % (random() % 4 == 0 ? 8 : bytes.size());
    unread += bytes.substr(at, size);
    at += size;
    std::span<char> in{unread};
    for (bool goes_on = true; goes_on;) {
      switch (parser.next(in)) {
        case frame_parser::event::more:
          goes_on = false;
          break;
        case frame_parser::event::text:
          all.messages.push_back({true, std::string{parser.payload()}});
          break;
        case frame_parser::event::binary:
          all.messages.push_back({false, std::string{parser.payload()}});
          break;
        case frame_parser::event::ping:
        case frame_parser::event::pong:
          break;
        case frame_parser::event::violation:
          all.is_mistake = true;
          [[fallthrough]];
        case frame_parser::event::close:
          all.code = parser.code();
          return all;
      }
    }
    unread.erase(0, unread.size() - in.size());
  }
  return all;
}

// ── The client's input ────────────────────────────────────────────────────────────────────────

class writer {
 public:
  explicit writer(std::uint32_t seed) : random_(seed) {}

  std::string conversation() {
    std::string all;
    for (std::size_t frames = 1 + random_() % 8; frames > 0; --frames) all += frame();
    if (one_in(3)) {  // changes a byte
      for (std::size_t n = 1 + random_() % 2; n > 0; --n) {
        all[random_() % all.size()] = static_cast<char>(random_());
      }
    }
    if (one_in(4)) all.resize(random_() % all.size() + 1);
    return all;
  }
  std::mt19937& random() { return random_; }

 private:
  bool one_in(std::uint32_t n) { return random_() % n == 0; }

  std::string frame() {
    if (one_in(8)) {
      const std::uint8_t op = one_in(2) ? c::ping : c::pong;
      return c::frame(op, data(one_in(10) ? 126 : 20), !one_in(20));
    }
    if (one_in(12)) return c::frame(c::close, farewell());
    const bool fin = !one_in(3);
    std::uint8_t op = within_ ? c::continuation : one_in(2) ? c::text : c::binary;
    if (one_in(40)) op = static_cast<std::uint8_t>(random_() % 16);
    within_ = !fin;
    const std::uint8_t reserved =
        one_in(50) ? static_cast<std::uint8_t>((random_() % 8) << 4) : std::uint8_t{0};
    return c::frame(op, data(one_in(5) ? 320 : 40), fin, reserved, !one_in(60));
  }
  std::string farewell() {
    if (one_in(4)) return {};
    if (one_in(8)) return "x";
    const unsigned codes[] = {999,  1000, 1001, 1004, 1005, 1006, 1007,
                              1011, 1013, 1015, 2999, 3000, 4999};
    return c::close_payload(codes[random_() % std::size(codes)], data(30));
  }
  // Pieces of UTF-8, and sometimes invalid bytes.
  std::string data(std::size_t bytes_max) {
    const std::string_view pieces[] = {
        "plain text ",  "x",    "\xc3\xa4", "\xe2\x82\xac",    "\xf0\x9f\x98\x80",
        "\xed\x9f\xbf", "\xc3", "\xe2\x82", "\xf4\x8f\xbf\xbf"};
    std::string all;
    const std::size_t size = random_() % (bytes_max + 1);
    while (all.size() < size) {
      if (one_in(60)) {
        all += static_cast<char>(random_());
      } else {
        all += pieces[random_() % (one_in(20) ? std::size(pieces) : 5)];
      }
    }
    if (one_in(3)) all.resize(size);  // perhaps within a character
    return all;
  }

  std::mt19937 random_;
  bool within_ = false;
};

/// Where the two differ deliberately.
bool is_known(const outcome& beast, const outcome& ours) {
  // Codes that are not defined, and one that Beast does not know.
  if (!beast.is_mistake && beast.code >= 5000) return ours.is_mistake && ours.code == 1002;
  if (!ours.is_mistake && ours.code == 1014) return beast.is_mistake && beast.code == 1002;
  // We report an error as soon as it is certain; Beast waits until the head, or the frame, is
  // complete.
  return !beast.is_mistake && beast.code == close_code::abnormal && ours.is_mistake;
}

TEST(frame_parser, agrees_with_beast) {
  const char* const given = std::getenv("TROUPE_SEED");
  const auto seed = given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 0))
                                     : std::random_device{}();
  std::printf("TROUPE_SEED=%u\n", seed);
  std::size_t known = 0, closed = 0, mistakes = 0, messages = 0;
  constexpr std::size_t rounds = 20'000;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    writer one(seed + round);
    const std::string bytes = one.conversation();
    const outcome beast = by_beast(bytes);
    const outcome ours = by_parser(bytes, one.random());
    ASSERT_EQ(ours.messages, beast.messages) << "seed " << seed + round;
    messages += ours.messages.size();
    if (is_known(beast, ours)) {
      ++known;
      continue;
    }
    ASSERT_EQ(ours.code, beast.code) << "seed " << seed + round;
    ASSERT_EQ(ours.is_mistake, beast.is_mistake) << "seed " << seed + round;
    closed += !ours.is_mistake && ours.code != close_code::abnormal;
    mistakes += ours.is_mistake;
  }
  // Otherwise the test would prove little.
  EXPECT_LT(known, rounds / 10);
  EXPECT_GT(closed, rounds / 20);
  EXPECT_GT(mistakes, rounds / 20);
  EXPECT_GT(messages, rounds / 2);
}

}  // namespace
}  // namespace troupe::http::detail
