// SPDX-License-Identifier: Apache-2.0

#include "handshake.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe::http::detail {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(handshake, computes_the_accept_key_of_the_rfc_example) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(handshake, a_key_is_sixteen_bytes_in_base64) {
  EXPECT_TRUE(is_websocket_key("dGhlIHNhbXBsZSBub25jZQ=="));
  EXPECT_TRUE(is_websocket_key("AAAA+/AAAAAAAAAAAAAAAA=="));
  for (const std::string bad : {"", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=x",
                                "dGhlIHNhbXBsZSBub25jZQA=", "dGhl IHNhbXBsZSBub25jZ==",
                                "dGhlIHNhbXBsZSBub25jZQ===", "ZGhlIHNhbXBsZSBub25jZWRnaGVoZQ=="}) {
    EXPECT_FALSE(is_websocket_key(bad)) << bad;
  }
}

TEST(handshake, the_clients_first_offer_that_is_understood_is_chosen) {
  const std::vector<std::string> understood{"chat.v2", "chat.v1"};
  EXPECT_EQ(choose_protocol("chat.v1, chat.v2", understood), "chat.v1");
  EXPECT_EQ(choose_protocol("graphql ,\tchat.v2,chat.v1", understood), "chat.v2");
  EXPECT_EQ(choose_protocol(",,chat.v2", understood), "chat.v2");
  EXPECT_EQ(choose_protocol("", understood), "");
  EXPECT_EQ(choose_protocol("Chat.v2, chat, chat.v22", understood), "");
  EXPECT_EQ(choose_protocol("chat.v1", {}), "");
  EXPECT_EQ(choose_protocol(",", understood), "");
}

TEST(handshake, names_a_protocol_only_if_one_was_chosen) {
  const std::string plain = switching_protocols("dGhlIHNhbXBsZSBub25jZQ==", "");
  EXPECT_THAT(plain, StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_THAT(plain, HasSubstr("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  EXPECT_THAT(plain, EndsWith("\r\n\r\n"));
  EXPECT_THAT(plain, Not(HasSubstr("Sec-WebSocket-Protocol")));
  EXPECT_THAT(switching_protocols("dGhlIHNhbXBsZSBub25jZQ==", "chat"),
              HasSubstr("\r\nSec-WebSocket-Protocol: chat\r\n"));
}

}  // namespace
}  // namespace troupe::http::detail
