// SPDX-License-Identifier: Apache-2.0

#include "rpc.hpp"

#include <vector>

#include "codec_test.hpp"

namespace troupe::lua::detail {
namespace {

using kind = rpc_message::kind;
using testing::HasSubstr;
using testing::StartsWith;

class rpc : public codec {
 protected:
  rpc_message read(std::string_view frame) { return reader_.read(lua_, true, frame); }

  /// Returns the value that the last message has left on the stack, and expects no other; "nil" if
  /// that is nil.
  std::string left() {
    EXPECT_EQ(lua_gettop(lua_), 1);
    std::string text = "nil";
    if (!lua_isnil(lua_, -1)) {
      text.clear();
      encode(lua_, -1, encoding::json, text);
    }
    lua_settop(lua_, 0);
    return text;
  }

  void refused(std::string_view frame, rpc_code code, const std::string& id,
               const std::string& text) {
    const std::size_t before = reader_.malformed();
    const rpc_message got = read(frame);
    EXPECT_EQ(got.what, kind::invalid) << frame;
    EXPECT_EQ(left(), "nil");
    EXPECT_EQ(got.text, text) << frame;
    EXPECT_EQ(got.code, static_cast<std::int64_t>(code)) << frame;
    EXPECT_EQ(got.id ? std::to_string(*got.id) : "null", id) << frame;
    EXPECT_THAT(got.answer, StartsWith("{\"id\":" + id + ",\"error\":{\"code\":" +
                                       std::to_string(got.code) + ",\"message\":\""));
    const rpc_message answer = read(got.answer);
    EXPECT_EQ(answer.what, kind::error);
    EXPECT_EQ(answer.text, text);
    lua_settop(lua_, 0);
    EXPECT_EQ(reader_.malformed(), before + 1);
  }

  lua_State* const lua_ = state_.main();
  rpc_reader reader_{encoding::json};
};

TEST_F(rpc, reads_requests) {
  const rpc_message got = read(R"({"id":7,"method":"move","params":{"x":1},"ch":3})");
  EXPECT_EQ(got.what, kind::request);
  EXPECT_EQ(got.id, 7U);
  EXPECT_EQ(got.method, "move");
  EXPECT_EQ(got.channel, 3);
  EXPECT_EQ(left(), R"({"x":1})");
  EXPECT_TRUE(got.answer.empty());
}

TEST_F(rpc, params_and_channel_are_optional) {
  const rpc_message got = read(R"({"id":9007199254740991,"method":"m"})");
  EXPECT_EQ(got.what, kind::request);
  EXPECT_EQ(got.id, request_id_max);
  EXPECT_EQ(got.channel, 0);
  EXPECT_EQ(left(), "nil");
  read(R"({"id":0,"method":"m","params":null})");
  EXPECT_EQ(left(), "null");
}

TEST_F(rpc, reads_notifications) {
  const rpc_message got = read(R"({"method":"say","params":["a"],"ch":255})");
  EXPECT_EQ(got.what, kind::notification);
  EXPECT_EQ(got.id, std::nullopt);
  EXPECT_EQ(got.method, "say");
  EXPECT_EQ(got.channel, 255);
  EXPECT_EQ(left(), R"(["a"])");
}

TEST_F(rpc, reads_replies) {
  const rpc_message got = read(R"({"id":1,"result":null})");
  EXPECT_EQ(got.what, kind::result);
  EXPECT_EQ(got.id, 1U);
  EXPECT_EQ(left(), "null");
}

TEST_F(rpc, reads_errors) {
  rpc_message got = read(R"({"id":1,"error":{"code":17,"message":"no","data":[1]}})");
  EXPECT_EQ(got.what, kind::error);
  EXPECT_EQ(got.id, 1U);
  EXPECT_EQ(got.code, 17);
  EXPECT_EQ(got.text, "no");
  EXPECT_EQ(left(), "[1]");
  got = read(R"({"id":null,"error":{"code":-32700,"message":""}})");
  EXPECT_EQ(got.what, kind::error);
  EXPECT_EQ(got.id, std::nullopt);
  EXPECT_EQ(left(), "nil");
}

TEST_F(rpc, unknown_members_are_ignored) {
  EXPECT_EQ(read(R"({"id":1,"method":"m","jsonrpc":"2.0","x":[1,2]})").what, kind::request);
  lua_settop(lua_, 0);
  EXPECT_EQ(read(R"({"id":1,"result":1,"method_":1,"ch":"x"})").what, kind::result);
  lua_settop(lua_, 0);
  EXPECT_EQ(read(R"({"id":1,"error":{"code":1,"message":"m","x":1}})").what, kind::error);
  EXPECT_EQ(reader_.malformed(), 0U);
}

TEST_F(rpc, a_number_without_a_fraction_is_an_integer) {
  const rpc_message got = read(R"({"id":7.0,"method":"m","ch":1e1})");
  EXPECT_EQ(got.what, kind::request);
  EXPECT_EQ(got.id, 7U);
  EXPECT_EQ(got.channel, 10);
}

TEST_F(rpc, refuses_invalid_messages) {
  const auto invalid = rpc_code::invalid_request;
  const std::string one_of_three = "a message has one of method, result and error";
  refused("", rpc_code::parse_error, "null", "byte 0: value - unexpected end of input");
  refused("{\"id\":1", rpc_code::parse_error, "null", "byte 7: object - unexpected end of input");
  refused(R"({"id":1,"id":2,"method":"m"})", rpc_code::parse_error, "null",
          "byte 12: duplicate key \"id\"");
  refused("[]", invalid, "null", "a message is a map, not an array");
  refused("null", invalid, "null", "a message is a map, not null");
  refused(R"("0123456789012345678901234567890123456789…")", invalid, "null",
          R"(a message is a map, not "0123456789012345678901234567890123456789…")");
  refused("3.5", invalid, "null", "a message is a map, not 3.5");
  refused("{}", invalid, "null", one_of_three);
  refused(R"({"id":1})", invalid, "null", one_of_three);
  refused(R"({"id":1,"result":1,"error":{"code":1,"message":"m"}})", invalid, "null", one_of_three);
  refused(R"({"id":1,"result":1,"method":"m"})", invalid, "1", one_of_three);
  refused(R"({"error":{"code":1,"message":"m"},"method":"m"})", invalid, "null", one_of_three);
}

TEST_F(rpc, refuses_members_of_the_wrong_type) {
  const auto invalid = rpc_code::invalid_request;
  const std::string id = "id: an integer from 0 to 2^53 - 1, not ";
  refused(R"({"id":"1","method":"m"})", invalid, "null", id + "\"1\"");
  refused(R"({"id":-1,"method":"m"})", invalid, "null", id + "-1");
  refused(R"({"id":1.5,"method":"m"})", invalid, "null", id + "1.5");
  refused(R"({"id":9007199254740992,"method":"m"})", invalid, "null", id + "9007199254740992");
  refused(R"({"id":null,"method":"m"})", invalid, "null", id + "null");
  refused(R"({"id":[],"method":"m"})", invalid, "null", id + "an array");
  refused(R"({"id":true,"method":"m"})", invalid, "null", id + "true");
  const std::string long_name(257, 'm');
  const std::string method = "method: a string of 1 to 256 bytes, not ";
  refused(R"({"id":1,"method":5})", invalid, "1", method + "5");
  refused(R"({"id":1,"method":null})", invalid, "1", method + "null");
  refused(R"({"id":1,"method":""})", invalid, "1", method + "\"\"");
  refused("{\"id\":1,\"method\":\"" + long_name + "\"}", invalid, "1",
          method + '"' + long_name.substr(0, 40) + "…\"");
  refused(R"({"method":{}})", invalid, "null", method + "a map");
  const std::string channel = "ch: an integer from 0 to 255, not ";
  refused(R"({"id":1,"method":"m","ch":256})", invalid, "1", channel + "256");
  refused(R"({"id":1,"method":"m","ch":-1})", invalid, "1", channel + "-1");
  refused(R"({"id":1,"method":"m","ch":"1"})", invalid, "1", channel + "\"1\"");
  refused(R"({"id":1,"method":"m","ch":null})", invalid, "1", channel + "null");
  refused(R"({"method":"m","ch":0.5})", invalid, "null", channel + "0.5");
}

TEST_F(rpc, refuses_malformed_replies_without_echoing_their_id) {
  const auto invalid = rpc_code::invalid_request;
  refused(R"({"result":1})", invalid, "null", "id: the id of a request, not none");
  refused(R"({"id":null,"result":1})", invalid, "null", "id: the id of a request, not null");
  refused(R"({"id":"a","error":{"code":1,"message":"m"}})", invalid, "null",
          "id: the id of a request, or null, not \"a\"");
  refused(R"({"error":{"code":1,"message":"m"}})", invalid, "null",
          "id: the id of a request, or null, not none");
  refused(R"({"id":1,"error":"m"})", invalid, "null", "error: a map, not \"m\"");
  refused(R"({"id":1,"error":{"message":"m"}})", invalid, "null",
          "error.code: an integer, not none");
  refused(R"({"id":1,"error":{"code":"1","message":"m"}})", invalid, "null",
          "error.code: an integer, not \"1\"");
  refused(R"({"id":1,"error":{"code":1}})", invalid, "null", "error.message: a string, not none");
  refused(R"({"id":1,"error":{"code":1,"message":2}})", invalid, "null",
          "error.message: a string, not 2");
}

TEST_F(rpc, refuses_binary_frames_for_json_and_text_frames_for_cbor) {
  rpc_message got = reader_.read(lua_, false, R"({"id":1,"method":"m"})");
  EXPECT_EQ(got.what, kind::invalid);
  EXPECT_EQ(
      got.answer,
      R"({"id":null,"error":{"code":-32600,"message":"troupe.rpc.json has no binary frames"}})");
  EXPECT_EQ(reader_.malformed(), 1U);
  rpc_reader other(encoding::cbor);
  got = other.read(lua_, true, R"({"id":1,"method":"m"})");
  EXPECT_EQ(got.what, kind::invalid);
  EXPECT_EQ(got.text, "troupe.rpc.cbor has no text frames");
  give(got.answer);
  EXPECT_EQ(run("local m = cbor.decode(given) return m.id, m.error.code, m.error.message"),
            "null, -32600, troupe.rpc.cbor has no text frames");
}

TEST_F(rpc, many_malformed_messages_are_enough) {
  rpc_reader reader(encoding::json, {.malformed = 3});
  for (int i = 0; i < 2; ++i) reader.read(lua_, true, "?");
  reader.read(lua_, true, R"({"method":"m"})");
  EXPECT_FALSE(reader.has_seen_enough());
  reader.count_malformed();
  EXPECT_TRUE(reader.has_seen_enough());
  lua_settop(lua_, 0);
}

TEST_F(rpc, a_message_has_the_limits_of_values) {
  rpc_reader reader(encoding::json, {.values = {.depth = 2, .bytes = 50, .elements = 5}});
  EXPECT_EQ(reader.read(lua_, true, R"({"method":"m","params":[1,2]})").what, kind::notification);
  EXPECT_EQ(reader.read(lua_, true, R"({"method":"m","params":[[]]})").text,
            "byte 25: nested more than 2 deep");
  EXPECT_EQ(reader.read(lua_, true, R"({"method":"m","params":[1,2,3]})").text,
            "byte 30: more than 5 values");
  EXPECT_EQ(reader.read(lua_, true, std::string(51, ' ')).text,
            "byte 50: the input is larger than the limit");
}

TEST_F(rpc, every_written_message_can_be_read_back) {
  for (const encoding as : {encoding::json, encoding::cbor}) {
    rpc_reader reader(as);
    std::string frame;
    const auto again = [&] {
      lua_settop(lua_, 0);
      rpc_message got = reader.read(lua_, is_text(as), frame);
      frame.clear();
      return got;
    };
    run("return {1, 'x'}");
    write_request(lua_, 1, as, 5, "say", 9, frame);
    rpc_message got = again();
    EXPECT_EQ(got.what, kind::request);
    EXPECT_EQ(got.id, 5U);
    EXPECT_EQ(got.method, "say");
    EXPECT_EQ(got.channel, 9);
    EXPECT_EQ(left(), "[1,\"x\"]");

    write_notification(lua_, 0, as, "tick", 0, frame);
    got = again();
    EXPECT_EQ(got.what, kind::notification);
    EXPECT_EQ(got.method, "tick");
    EXPECT_EQ(left(), "nil");

    lua_pushnil(lua_);
    write_result(lua_, 1, as, request_id_max, frame);
    got = again();
    EXPECT_EQ(got.what, kind::result);
    EXPECT_EQ(got.id, request_id_max);
    EXPECT_EQ(left(), "null");

    run("return {reason = 'full'}");
    write_error(lua_, 1, as, 3, 42, "no", frame);
    got = again();
    EXPECT_EQ(got.what, kind::error);
    EXPECT_EQ(got.id, 3U);
    EXPECT_EQ(got.code, 42);
    EXPECT_EQ(got.text, "no");
    EXPECT_EQ(left(), R"({"reason":"full"})");

    frame = error_message(as, std::nullopt, rpc_code::overloaded, "busy");
    got = again();
    EXPECT_EQ(got.what, kind::error);
    EXPECT_EQ(got.id, std::nullopt);
    EXPECT_EQ(got.code, -32000);
    EXPECT_EQ(left(), "nil");
    EXPECT_EQ(reader.malformed(), 0U);
  }
}

TEST_F(rpc, errors_are_short_and_utf8) {
  EXPECT_EQ(error_message(encoding::json, 1, rpc_code::internal_error,
                          "a\xff"
                          "b\n"),
            R"({"id":1,"error":{"code":-32603,"message":"a?b\n"}})");
  EXPECT_LT(error_message(encoding::json, 1, rpc_code::killed, std::string(5000, 'x')).size(),
            1100U);
}

TEST_F(rpc, a_result_that_cannot_be_written_is_named) {
  lua_pushcfunction(lua_, [](lua_State* in) {
    std::string frame;
    write_result(in, 1, encoding::json, 1, frame);
    return 0;
  });
  lua_setglobal(lua_, "reply");
  EXPECT_THAT(run("reply({a = {pcall}})"), HasSubstr("cannot encode a function at .a[1]"));
}

TEST_F(rpc, subprotocols_have_names) {
  EXPECT_EQ(encoding_of("troupe.rpc.json"), encoding::json);
  EXPECT_EQ(encoding_of("troupe.rpc.cbor"), encoding::cbor);
  EXPECT_EQ(encoding_of("troupe.rpc"), std::nullopt);
  EXPECT_EQ(subprotocol_of(encoding::cbor), "troupe.rpc.cbor");
  EXPECT_EQ(subprotocol_of(encoding::json), "troupe.rpc.json");
}

}  // namespace
}  // namespace troupe::lua::detail
