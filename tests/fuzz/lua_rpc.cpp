// SPDX-License-Identifier: Apache-2.0

// The messages of a client to an application in Lua. An input is frames, each after a byte: '{' for
// JSON and a line of text, any other byte for CBOR up to the next line feed.

#include "lua/rpc.hpp"

#include <optional>

#include "fuzz.hpp"
#include "lua/channel_order.hpp"
#include "lua_values.hpp"

namespace {

using namespace troupe::fuzz;
using kind = rpc_message::kind;

void check_answer(lua_State* lua, encoding as, const rpc_message& wrong) {
  require(!wrong.text.empty() && wrong.text.size() < 400 && is_utf8(wrong.text),
          "an error says what is wrong, and can be shown");
  rpc_reader other(as);
  const rpc_message answer = other.read(lua, is_text(as), wrong.answer);
  require(answer.what == kind::error, "the answer to what is malformed is an error");
  require(answer.id == wrong.id && answer.code == wrong.code && answer.text == wrong.text,
          "the answer says what is wrong");
  require(answer.code == -32700 || answer.code == -32600, "it is malformed, and nothing else");
  lua_pop(lua, 1);
}

// Expects its value on top of the stack.
void check_again(lua_State* lua, encoding as, const rpc_message& got) {
  std::string frame;
  switch (got.what) {
    case kind::request:
      write_request(lua, -1, as, *got.id, got.method, got.channel, frame);
      break;
    case kind::notification:
      write_notification(lua, -1, as, got.method, got.channel, frame);
      break;
    case kind::result:
      write_result(lua, -1, as, *got.id, frame);
      break;
    case kind::error:
      write_error(lua, -1, as, got.id, got.code, got.text, frame);
      break;
    case kind::invalid:
      return;
  }
  rpc_reader other(as);
  const rpc_message again = other.read(lua, is_text(as), frame);
  require(again.what == got.what && again.id == got.id && again.method == got.method &&
              again.channel == got.channel && again.code == got.code,
          "a message that is written is read again");
  if (is_utf8(got.text) && got.text.size() <= 1000) {
    require(again.text == got.text, "the text of an error is read again");
  }
  require(lua_type(lua, -1) == lua_type(lua, -2), "its value is read again");
  lua_pop(lua, 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lua_values values;
  lua_State* const lua = values.main();
  rpc_reader json(encoding::json);
  rpc_reader cbor(encoding::cbor);
  channel_order order(4);
  std::optional<channel_order::ticket> running;
  std::string_view input = text_of(data, size);
  std::size_t malformed = 0;
  while (!input.empty()) {
    const std::string_view line = take_line(input);
    const encoding as = line.starts_with('{') ? encoding::json : encoding::cbor;
    rpc_reader& reader = as == encoding::json ? json : cbor;
    const rpc_message got = reader.read(lua, line.starts_with('{'), line);
    require(lua_gettop(lua) == 1, "a message leaves one value");
    if (got.what == kind::invalid) {
      ++malformed;
      require(lua_isnil(lua, 1), "what is malformed has no value");
      check_answer(lua, as, got);
    } else {
      require(got.answer.empty(), "what is understood is not answered by the reader");
      check_again(lua, as, got);
    }
    require(json.malformed() + cbor.malformed() == malformed, "what is malformed is counted");
    lua_settop(lua, 0);
    if (got.what != kind::request && got.what != kind::notification) continue;

    require(got.method.size() >= 1 && got.method.size() <= 256, "a method has a name");
    const auto arrived = order.arrive(got.channel, got.id);
    require((arrived.call == 0) == (arrived.what == channel_order::verdict::duplicate ||
                                    arrived.what == channel_order::verdict::overloaded),
            "what is refused has no ticket");
    require(order.open() <= 4, "no more is open than may be");
    if (arrived.what == channel_order::verdict::begins && !running) running = arrived.call;
    if (running && order.open() == 4) running = order.finish(*running);
  }
  return 0;
}
