// SPDX-License-Identifier: Apache-2.0

// Checks tests/protocol/rpc_vectors.json, on which every client and the server agree.

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "codec_test.hpp"
#include "from_bin.hpp"
#include "rpc.hpp"

namespace troupe::lua::detail {
namespace {

using json = nlohmann::json;
using kind = rpc_message::kind;

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

class rpc_vectors : public codec {
 protected:
  struct form {
    encoding as;
    std::string bytes;
  };

  static std::vector<form> forms_of(const json& vector) {
    std::vector<form> all;
    const auto add = [&](encoding as, const json& one) {
      const auto text = one.get<std::string>();
      all.push_back({as, as == encoding::json ? text : bytes_of(text)});
    };
    if (vector.contains("json")) add(encoding::json, vector["json"]);
    if (vector.contains("cbor")) add(encoding::cbor, vector["cbor"]);
    for (const json& one : vector.value("also_json", json::array())) add(encoding::json, one);
    for (const json& one : vector.value("also_cbor", json::array())) add(encoding::cbor, one);
    return all;
  }

  void decode(const form& from) {
    lua_settop(lua_, 0);
    const auto wrong = push_decoded(lua_, from.bytes, from.as);
    ASSERT_FALSE(wrong) << *wrong;
  }

  std::string encoded(encoding as) {
    std::string text;
    encode(lua_, -1, as, text);
    return text;
  }

  static const json& all() {
    static const json read =
        json::parse(std::ifstream(troupe::test::from_bin(TROUPE_PROTOCOL_VECTORS)));
    return read;
  }

  lua_State* const lua_ = state_.main();
};

TEST_F(rpc_vectors, values_are_read_and_written) {
  for (const json& vector : all().at("values")) {
    SCOPED_TRACE(vector.at("name"));
    const std::string text = vector["json"];
    for (const form& one : forms_of(vector)) {
      ASSERT_NO_FATAL_FAILURE(decode(one));
      const std::string again = encoded(encoding::json);
      if (vector.value("order", true)) {
        EXPECT_EQ(again, text);
        EXPECT_EQ(encoded(encoding::cbor), bytes_of(vector["cbor"]));
      } else {
        EXPECT_EQ(json::parse(again), json::parse(text));
        EXPECT_EQ(encoded(encoding::cbor).size(), vector["cbor"].get<std::string>().size() / 2);
      }
    }
  }
}

TEST_F(rpc_vectors, values_that_only_cbor_has_are_read_and_written) {
  for (const json& vector : all().at("values_of_cbor")) {
    SCOPED_TRACE(vector.at("name"));
    for (const form& one : forms_of(vector)) {
      ASSERT_NO_FATAL_FAILURE(decode(one));
      EXPECT_EQ(encoded(encoding::cbor), bytes_of(vector["cbor"]));
      if (vector.contains("bytes")) {
        std::size_t size = 0;
        const char* const bytes = lua_tolstring(lua_, -1, &size);
        EXPECT_EQ(std::string(bytes, size), bytes_of(vector["bytes"]));
        continue;
      }
      const double expected = std::stod(vector.at("float").get<std::string>());
      const double value = lua_tonumber(lua_, -1);
      EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)));
    }
  }
}

TEST_F(rpc_vectors, messages_are_read) {
  for (const json& vector : all().at("messages")) {
    SCOPED_TRACE(vector.at("name"));
    const json& is = vector.at("is");
    for (const form& one : forms_of(vector)) {
      lua_settop(lua_, 0);
      rpc_reader reader(one.as);
      const rpc_message got = reader.read(lua_, is_text(one.as), one.bytes);
      const std::map<kind, std::string> kinds{{kind::request, "request"},
                                              {kind::notification, "notification"},
                                              {kind::result, "result"},
                                              {kind::error, "error"},
                                              {kind::invalid, "invalid: " + got.text}};
      EXPECT_EQ(kinds.at(got.what), is["kind"].get<std::string>());
      EXPECT_EQ(got.id ? json(*got.id) : json(), is.value("id", json()));
      EXPECT_EQ(got.method, is.value("method", ""));
      EXPECT_EQ(got.channel, is.value("channel", 0));
      EXPECT_EQ(got.code, is.value("code", 0));
      EXPECT_EQ(got.text, is.value("message", ""));
      const char* const value = got.what == kind::result  ? "result"
                                : got.what == kind::error ? "data"
                                                          : "params";
      EXPECT_EQ(!lua_isnil(lua_, -1), is.contains(value));
      EXPECT_EQ(json::parse(encoded(encoding::json)), is.value(value, json()));
    }
  }
}

TEST_F(rpc_vectors, malformed_messages_get_the_expected_error_reply) {
  for (const json& vector : all().at("malformed")) {
    SCOPED_TRACE(vector.at("name"));
    for (const form& one : forms_of(vector)) {
      rpc_reader reader(one.as);
      lua_settop(lua_, 0);
      const bool text_frame = is_text(one.as) != vector.value("other_frame", false);
      const rpc_message got = reader.read(lua_, text_frame, one.bytes);
      EXPECT_EQ(got.what, kind::invalid);
      EXPECT_EQ(got.code, vector["code"].get<std::int64_t>());
      EXPECT_EQ(reader.malformed(), 1U);
      const rpc_message answer = reader.read(lua_, is_text(one.as), got.answer);
      EXPECT_EQ(answer.what, kind::error);
      EXPECT_EQ(answer.code, vector["code"].get<std::int64_t>());
      EXPECT_EQ(answer.id ? json(*answer.id) : json(), vector["id"]);
      EXPECT_NE(answer.text, "");
    }
  }
}

}  // namespace
}  // namespace troupe::lua::detail
