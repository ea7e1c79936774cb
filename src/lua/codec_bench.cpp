// SPDX-License-Identifier: Apache-2.0

// Measures the cost of a value of about 200 bytes as JSON and as CBOR, on Lua's stack; and, for
// comparison, with nlohmann's own values.
//
//   codec_bench [--smoke]
//
// Prints one line for each: name, nanoseconds per value, bytes.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <lua.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "state.hpp"
#include "value_codec.hpp"

namespace {

using namespace troupe::lua::detail;

constexpr std::string_view example =
    R"({"id":4711,"method":"move","params":{"player":"ada","to":{"x":12.5,"y":-3.25},"keys":[1,2,3,4,5],)"
    R"("text":"a line that somebody has typed, of some length","is_new":true,"next":null},"ch":1,"seq":123456789})";

void measure(const char* name, int rounds, std::size_t bytes, const auto& once) {
  for (int i = 0; i < rounds / 10; ++i) once();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) once();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-22s %8.1f ns %6zu bytes\n", name, took.count() / rounds, bytes);
}

void measure_lua(lua_State* lua, encoding as, const char* write, const char* read, int rounds) {
  std::string text;
  encode(lua, 1, as, text);
  measure(write, rounds, text.size(), [&] {
    text.clear();
    encode(lua, 1, as, text);
  });
  measure(read, rounds, text.size(), [&] {
    if (push_decoded(lua, text, as)) std::abort();
    lua_pop(lua, 1);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  const int rounds = smoke ? 100 : 500'000;

  state scripts({});
  lua_State* const lua = scripts.main();
  open_codecs(lua);
  lua_settop(lua, 0);
  if (push_decoded(lua, example, encoding::json)) return 1;
  measure_lua(lua, encoding::json, "json_write", "json_read", rounds);
  measure_lua(lua, encoding::cbor, "cbor_write", "cbor_read", rounds);

  const auto tree = nlohmann::json::parse(example);
  std::string text = tree.dump();
  measure("nlohmann_json_write", rounds, text.size(), [&] { text = tree.dump(); });
  measure("nlohmann_json_read", rounds, text.size(),
          [&] { (void)nlohmann::json::parse(text).size(); });
  std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(tree);
  measure("nlohmann_cbor_write", rounds, bytes.size(), [&] {
    bytes.clear();
    nlohmann::json::to_cbor(tree, bytes);
  });
  measure("nlohmann_cbor_read", rounds, bytes.size(),
          [&] { (void)nlohmann::json::from_cbor(bytes).size(); });
}
