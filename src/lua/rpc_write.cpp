// SPDX-License-Identifier: Apache-2.0

#include <exception>

#include "rpc.hpp"
#include "utf8.hpp"
#include "wire_writer.hpp"

namespace troupe::lua::detail {
namespace {

constexpr std::string_view json_name = "troupe.rpc.json";
constexpr std::string_view cbor_name = "troupe.rpc.cbor";

// Begins a member of a message, whose name is one of ours.
wire_writer& member(wire_writer& of, std::string_view name) {
  (void)of.key(name);
  return of;
}

void write_text(wire_writer& to, std::string_view text) {
  constexpr std::size_t shown = 1024;
  if (is_utf8(text)) {
    (void)to.string(beginning_of(text, shown));
    return;
  }
  std::string ascii{text.substr(0, shown)};
  for (char& c : ascii) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  (void)to.string(ascii);
}

bool is_given(lua_State* in, int index) { return index != 0 && !lua_isnil(in, index); }

// Begins the map of the error.
void begin_error(wire_writer& to, std::optional<request_id> id, std::int64_t code,
                 std::string_view text, bool has_data) {
  to.begin_map(2);
  member(to, "id");
  if (id) {
    to.integer(static_cast<std::int64_t>(*id));
  } else {
    to.null();
  }
  member(to, "error").begin_map(has_data ? 3 : 2);
  member(to, "code").integer(code);
  write_text(member(to, "message"), text);
}

void write_call(lua_State* from, int params, encoding as, std::optional<request_id> id,
                std::string_view method, std::uint8_t channel, std::string& text,
                const codec_limits& allowed) {
  const bool has_params = is_given(from, params);
  wire_writer to(as, text);
  to.begin_map(1u + (id ? 1u : 0u) + (has_params ? 1u : 0u) + (channel != 0 ? 1u : 0u));
  if (id) member(to, "id").integer(static_cast<std::int64_t>(*id));
  write_text(member(to, "method"), method);
  if (channel != 0) member(to, "ch").integer(channel);
  if (has_params) {
    member(to, "params");
    encode(from, params, as, text, allowed);
  }
  to.end_map();
}

// Translates std::exception into an error of Lua.
void guarded(lua_State* in, const auto& write) {
  try {
    write();
  } catch (const std::exception&) {
    luaL_error(in, "not enough memory");
  }
}

}  // namespace

std::string_view subprotocol_of(encoding as) noexcept {
  return as == encoding::json ? json_name : cbor_name;
}

std::optional<encoding> encoding_of(std::string_view subprotocol) noexcept {
  if (subprotocol == json_name) return encoding::json;
  if (subprotocol == cbor_name) return encoding::cbor;
  return std::nullopt;
}

void write_request(lua_State* from, int params, encoding as, request_id id, std::string_view method,
                   std::uint8_t channel, std::string& to, const codec_limits& allowed) {
  guarded(from, [&] { write_call(from, params, as, id, method, channel, to, allowed); });
}

void write_notification(lua_State* from, int params, encoding as, std::string_view method,
                        std::uint8_t channel, std::string& to, const codec_limits& allowed) {
  guarded(from, [&] { write_call(from, params, as, std::nullopt, method, channel, to, allowed); });
}

void write_result(lua_State* from, int result, encoding as, request_id id, std::string& to,
                  const codec_limits& allowed) {
  guarded(from, [&] {
    wire_writer message(as, to);
    message.begin_map(2);
    member(message, "id").integer(static_cast<std::int64_t>(id));
    member(message, "result");
    encode(from, result, as, to, allowed);
    message.end_map();
  });
}

void write_error(lua_State* from, int data, encoding as, std::optional<request_id> id,
                 std::int64_t code, std::string_view text, std::string& to,
                 const codec_limits& allowed) {
  guarded(from, [&] {
    const bool has_data = is_given(from, data);
    wire_writer message(as, to);
    begin_error(message, id, code, text, has_data);
    if (has_data) {
      member(message, "data");
      encode(from, data, as, to, allowed);
    }
    message.end_map();
    message.end_map();
  });
}

std::string error_message(encoding as, std::optional<request_id> id, rpc_code code,
                          std::string_view text) {
  std::string all;
  wire_writer message(as, all);
  begin_error(message, id, static_cast<std::int64_t>(code), text, false);
  message.end_map();
  message.end_map();
  return all;
}

}  // namespace troupe::lua::detail
