// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

/// A violation by a client, and the close code that it receives.
struct violation {
  const char* name;
  std::string bytes;
  unsigned code;
};

void PrintTo(const violation& v, std::ostream* out) { *out << v.name; }

class websocket_violation : public served, public testing::WithParamInterface<violation> {};

using c = raw_client;

const violation all[] = {
    {"no_mask", c::frame(c::text, "hello", true, 0, false), 1002},
    {"reserved_bit_1", c::frame(c::text, "hello", true, 0x40), 1002},
    {"reserved_bit_2", c::frame(c::text, "hello", true, 0x20), 1002},
    {"reserved_bit_3", c::frame(c::ping, "hello", true, 0x10), 1002},
    {"unknown_data_opcode", c::frame(3, "hello"), 1002},
    {"unknown_control_opcode", c::frame(11, "hello"), 1002},
    {"control_frame_too_long", c::frame(c::ping, std::string(126, 'x')), 1002},
    {"control_frame_in_fragments", c::frame(c::ping, "x", false), 1002},
    {"continuation_of_nothing", c::frame(c::continuation, "x"), 1002},
    {"new_message_within_another", c::frame(c::text, "x", false) + c::frame(c::text, "y"), 1002},
    {"size_in_more_bytes_than_needed",
     std::string{"\x81\xfe\x00\x05", 4} + "kkkk"
                                          "hello",
     1002},
    {"close_with_half_a_code", c::frame(c::close, "\x03"), 1002},
    {"close_with_a_forbidden_code", c::frame(c::close, c::close_payload(1005)), 1002},
    {"close_with_an_unknown_code", c::frame(c::close, c::close_payload(2000)), 1002},
    {"close_with_a_bad_reason", c::frame(c::close, c::close_payload(1000, "\xff")), 1002},
    {"invalid_utf8", c::frame(c::text, "a\xff"), 1007},
    {"overlong_utf8", c::frame(c::text, "\xc0\xaf"), 1007},
    {"utf8_surrogate", c::frame(c::text, "\xed\xa0\x80"), 1007},
    {"utf8_cut_short", c::frame(c::text, "a\xc3"), 1007},
    {"utf8_broken_in_the_second_fragment",
     c::frame(c::text, "a\xc3", false) + c::frame(c::continuation, "a"), 1007},
};

TEST_P(websocket_violation, ends_with_its_code_and_is_counted) {
  const auto log = std::make_shared<diary>();
  start(on_free_port(), [&](http::server& s) { s.websocket<obedient>("/obey", log); });
  raw_client client = open("/obey");
  client.send(GetParam().bytes);
  const ws_frame f = client.read_frame();
  EXPECT_EQ(f.opcode, c::close);
  EXPECT_EQ(f.code(), GetParam().code);
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_FALSE(client.was_reset());
  client.hang_up();

  const auto lines = log->lines(3);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[1].starts_with("closed " + std::to_string(GetParam().code))) << lines[1];
  EXPECT_EQ(statistics().protocol_errors, 1u);
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_P(websocket_violation, leaves_the_messages_before_it_their_replies) {
  const auto log = std::make_shared<diary>();
  start(on_free_port(), [&](http::server& s) {
    s.websocket<echo>("/echo");
    s.websocket<obedient>("/obey", log);
  });
  for (int i = 0; i < 20; ++i) {
    raw_client client = open(i == 0 ? "/obey" : "/echo");
    client.send(c::frame(c::text, "first") + c::frame(c::text, "second") + GetParam().bytes);
    EXPECT_EQ(client.hear(), i == 0 ? "ok" : "first");
    EXPECT_EQ(client.hear(), i == 0 ? "ok" : "second");
    const ws_frame f = client.read_frame();
    EXPECT_EQ(f.opcode, c::close);
    EXPECT_EQ(f.code(), GetParam().code);
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_FALSE(client.was_reset());
  }
  const auto lines = log->lines(5);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[1], "text first");
  EXPECT_EQ(lines[2], "text second");
  EXPECT_TRUE(lines[3].starts_with("closed " + std::to_string(GetParam().code))) << lines[3];
  EXPECT_EQ(statistics().protocol_errors, 20u);
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

INSTANTIATE_TEST_SUITE_P(of, websocket_violation, testing::ValuesIn(all),
                         [](const auto& of) { return std::string{of.param.name}; });

}  // namespace
}  // namespace troupe::http::test
