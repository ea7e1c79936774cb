// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <lua.hpp>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/http/client.hpp>

#include "program.hpp"
#include "push_fetched.hpp"
#include "utf8.hpp"

namespace troupe::lua::detail {
namespace {

constexpr const char* connection_type = "troupe.connection";
constexpr lua_Number most_seconds = 3600;

std::string_view view(lua_State* in, int at) {
  std::size_t size = 0;
  const char* const data = lua_tolstring(in, at, &size);
  return {data, size};
}

// ── Tables of options ─────────────────────────────────────────────────────────────────────────

/// Checks an optional table at `at`; each key has to be one of `known`.
void check_options(lua_State* in, int at, std::initializer_list<std::string_view> known) {
  if (lua_isnoneornil(in, at)) return;
  luaL_checktype(in, at, LUA_TTABLE);
  for (lua_pushnil(in); lua_next(in, at) != 0; lua_pop(in, 1)) {
    const bool is_text = lua_type(in, -2) == LUA_TSTRING;
    if (is_text && std::find(known.begin(), known.end(), view(in, -2)) != known.end()) continue;
    lua_pushliteral(in, "unknown option '");
    luaL_tolstring(in, -3, nullptr);
    lua_pushliteral(in, "'; the options are");
    int parts = 3;
    for (const std::string_view each : known) {
      lua_pushfstring(in, parts == 3 ? " %s" : ", %s", each.data());
      ++parts;
    }
    lua_concat(in, parts);
    luaL_argerror(in, at, lua_tostring(in, -1));
  }
}

/// Pushes the option. Returns false and pushes nothing if it is absent.
bool push_option(lua_State* in, int at, const char* name) {
  if (lua_isnoneornil(in, at)) return false;
  if (lua_getfield(in, at, name) != LUA_TNIL) return true;
  lua_pop(in, 1);
  return false;
}

[[noreturn]] void wrong_option(lua_State* in, int at, const char* name, const char* what) {
  luaL_argerror(in, at, lua_pushfstring(in, "%s must be %s", name, what));
  std::abort();  // unreachable
}

bool read_text(lua_State* in, int at, const char* name, std::string& into) {
  if (!push_option(in, at, name)) return false;
  if (lua_type(in, -1) != LUA_TSTRING) wrong_option(in, at, name, "a string");
  into = view(in, -1);
  lua_pop(in, 1);
  return true;
}

void read_seconds(lua_State* in, int at, const char* name, std::chrono::milliseconds& into) {
  if (!push_option(in, at, name)) return;
  const lua_Number seconds = lua_tonumber(in, -1);
  if (lua_type(in, -1) != LUA_TNUMBER || !(seconds >= 0.001 && seconds <= most_seconds)) {
    wrong_option(in, at, name, "seconds, from 0.001 to 3600");
  }
  into = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
  lua_pop(in, 1);
}

void read_number(lua_State* in, int at, const char* name, lua_Integer most, std::size_t& into) {
  if (!push_option(in, at, name)) return;
  if (!lua_isinteger(in, -1) || lua_tointeger(in, -1) < 0 || lua_tointeger(in, -1) > most) {
    wrong_option(in, at, name,
                 lua_pushfstring(in, "a whole number from 0 to %s", std::to_string(most).c_str()));
  }
  into = static_cast<std::size_t>(lua_tointeger(in, -1));
  lua_pop(in, 1);
}

// headers = {name = "value", other = {"one", "two"}}
void read_headers(lua_State* in, int at, http::header_list& into) {
  constexpr const char* wrong = "a table from names to strings or arrays of strings";
  if (!push_option(in, at, "headers")) return;
  if (!lua_istable(in, -1)) wrong_option(in, at, "headers", wrong);
  for (lua_pushnil(in); lua_next(in, -2) != 0; lua_pop(in, 1)) {
    if (lua_type(in, -2) != LUA_TSTRING) wrong_option(in, at, "headers", wrong);
    const std::string name(view(in, -2));
    if (lua_type(in, -1) == LUA_TSTRING) {
      into.emplace_back(name, view(in, -1));
    } else if (lua_istable(in, -1)) {
      for (lua_Integer i = 1; lua_rawgeti(in, -1, i) != LUA_TNIL; ++i, lua_pop(in, 1)) {
        if (lua_type(in, -1) != LUA_TSTRING) wrong_option(in, at, "headers", wrong);
        into.emplace_back(name, view(in, -1));
      }
      lua_pop(in, 1);
    } else {
      wrong_option(in, at, "headers", wrong);
    }
  }
  lua_pop(in, 1);
}

void read_texts(lua_State* in, int at, const char* name, std::vector<std::string>& into) {
  if (!push_option(in, at, name)) return;
  if (!lua_istable(in, -1)) wrong_option(in, at, name, "an array of strings");
  for (lua_Integer i = 1; lua_rawgeti(in, -1, i) != LUA_TNIL; ++i, lua_pop(in, 1)) {
    if (lua_type(in, -1) != LUA_TSTRING) wrong_option(in, at, name, "an array of strings");
    into.emplace_back(view(in, -1));
  }
  lua_pop(in, 2);
}

// ── HTTP ──────────────────────────────────────────────────────────────────────────────────────

void read_request(program& whose, lua_State* in, int at, http::fetch& into) {
  const auto most = static_cast<lua_Integer>(whose.its_state().governor().allowed().memory_hard);
  std::size_t redirects = 0;
  read_headers(in, at, into.headers);
  read_seconds(in, at, "timeout", into.timeout);
  read_number(in, at, "max_bytes", most, into.body_bytes);
  read_number(in, at, "redirects", 20, redirects);
  into.redirects = static_cast<unsigned>(redirects);
}

int fetch(program& whose, lua_State* in, http::fetch what) {
  if (const auto wrong = http::validate(what)) return luaL_error(in, "%s", wrong->c_str());
  whose.around().fetch(std::move(what), whose.its_tasks().announce_wait(in));
  return tasks::wait(in);
}

// http.get(url [, {headers =, timeout =, max_bytes =, redirects =}])
int get(program& whose, lua_State* in) {
  http::fetch what;
  what.url = std::string(luaL_checkstring(in, 1), lua_rawlen(in, 1));
  lua_settop(in, 2);
  check_options(in, 2, {"headers", "timeout", "max_bytes", "redirects"});
  read_request(whose, in, 2, what);
  return fetch(whose, in, std::move(what));
}

// http.post(url, body [, options])
int post(program& whose, lua_State* in) {
  http::fetch what;
  what.method = "POST";
  what.url = std::string(luaL_checkstring(in, 1), lua_rawlen(in, 1));
  luaL_checktype(in, 2, LUA_TSTRING);
  what.body = view(in, 2);
  lua_settop(in, 3);
  check_options(in, 3, {"headers", "timeout", "max_bytes", "redirects"});
  read_request(whose, in, 3, what);
  return fetch(whose, in, std::move(what));
}

// http.request{method =, url =, body =, and these options}
int request(program& whose, lua_State* in) {
  luaL_checktype(in, 1, LUA_TTABLE);
  lua_settop(in, 1);
  check_options(in, 1, {"method", "url", "body", "headers", "timeout", "max_bytes", "redirects"});
  http::fetch what;
  read_text(in, 1, "method", what.method);
  luaL_argcheck(in, read_text(in, 1, "url", what.url), 1, "url is missing");
  read_text(in, 1, "body", what.body);
  read_request(whose, in, 1, what);
  return fetch(whose, in, std::move(what));
}

// ── WebSockets ────────────────────────────────────────────────────────────────────────────────

std::uint64_t check_connection(lua_State* in) {
  return *static_cast<std::uint64_t*>(luaL_checkudata(in, 1, connection_type));
}

/// Returns null if it is being opened, closed, or gone.
const http::websocket* open_socket(program& whose, lua_State* in) {
  const connection* const found = whose.its_connections().find(check_connection(in));
  return found == nullptr || !found->socket || found->closed ? nullptr : &*found->socket;
}

int read_function(lua_State* in, int at, const char* name) {
  if (!push_option(in, at, name)) return LUA_NOREF;
  if (!lua_isfunction(in, -1)) wrong_option(in, at, name, "a function");
  return luaL_ref(in, LUA_REGISTRYINDEX);
}

// websocket.connect(url [, {protocols =, headers =, timeout =, on_message =, on_close =}]): returns
// a connection; or nil and the reason.
int connect(program& whose, lua_State* in) {
  http::connect_websocket what(std::string(luaL_checkstring(in, 1), lua_rawlen(in, 1)), {});
  lua_settop(in, 2);
  check_options(in, 2, {"protocols", "headers", "timeout", "on_message", "on_close"});
  read_headers(in, 2, what.headers);
  read_seconds(in, 2, "timeout", what.timeout);
  read_texts(in, 2, "protocols", what.protocols);
  if (const auto wrong = http::validate(what)) return luaL_error(in, "%s", wrong->c_str());

  // The connection is added first. If a later step fails, the connection is collected and
  // forgotten.
  const std::uint64_t id = whose.around().next_connection();
  *static_cast<std::uint64_t*>(lua_newuserdatauv(in, sizeof id, 0)) = id;
  luaL_setmetatable(in, connection_type);
  connection& its = whose.its_connections().add(in, id);
  its.on_message = read_function(in, 2, "on_message");
  its.on_close = read_function(in, 2, "on_close");
  its.opener = whose.its_tasks().announce_wait(in);
  its.itself = luaL_ref(in, LUA_REGISTRYINDEX);
  try {
    whose.around().connect(std::move(what), id);
  } catch (const std::exception&) {
    whose.its_connections().drop(id);
    throw;
  }
  return tasks::wait(in);
}

int push_sent(lua_State* in, delivery did) {
  lua_pushboolean(in, did == delivery::accepted);
  return 1;
}

// connection:send(text): returns false if the connection is closing, or is closed now because the
// other end reads too slowly.
int send(program& whose, lua_State* in) {
  check_connection(in);
  luaL_checktype(in, 2, LUA_TSTRING);
  const std::string_view text = view(in, 2);
  luaL_argcheck(in, is_utf8(text), 2, "the text must be UTF-8; use send_binary for other bytes");
  const http::websocket* const to = open_socket(whose, in);
  return push_sent(in, to == nullptr ? delivery::refused : to->send(std::string(text)));
}

int send_binary(program& whose, lua_State* in) {
  check_connection(in);
  luaL_checktype(in, 2, LUA_TSTRING);
  const http::websocket* const to = open_socket(whose, in);
  return push_sent(in,
                   to == nullptr ? delivery::refused : to->send_binary(std::string(view(in, 2))));
}

// connection:receive([timeout]): returns the data and whether it is binary; or nil and "timeout";
// or nil, "closed", code and reason.
int receive(program& whose, lua_State* in) {
  const std::uint64_t id = check_connection(in);
  const bool is_timed = !lua_isnoneornil(in, 2);
  const duration patience = is_timed ? check_seconds(in, 2) : duration::zero();
  connection* const found = whose.its_connections().find(id);
  if (found == nullptr) {
    lua_pushnil(in);
    lua_pushliteral(in, "closed");
    return 2;
  }
  if (found->on_message != LUA_NOREF) {
    return luaL_error(in, "the connection has an on_message handler, which receives its messages");
  }
  if (found->receiver != 0)
    return luaL_error(in, "another handler is already receiving from this connection");
  if (const int there = whose.its_connections().receive(in, id, *found)) return there;
  // Nothing in between may raise an error: the connection would be treated as waiting.
  const std::uint64_t wait = whose.its_tasks().announce_wait(in);
  if (is_timed) found->patience = whose.around().wake_after(wait, patience);
  found->receiver = wait;
  return tasks::wait(in);
}

// connection:close([code [, reason]])
int close(program& whose, lua_State* in) {
  check_connection(in);
  const lua_Integer code = luaL_optinteger(in, 2, 1000);
  luaL_argcheck(in,
                (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                    (code >= 3000 && code <= 4999),
                2, "1000 to 1003, 1007 to 1014, or 3000 to 4999");
  const std::string reason(luaL_optstring(in, 3, ""));
  luaL_argcheck(in, is_utf8(reason), 3, "the reason must be UTF-8");
  if (const http::websocket* const to = open_socket(whose, in)) {
    to->close(static_cast<std::uint16_t>(code), reason);
  }
  return 0;
}

int is_open(program& whose, lua_State* in) {
  lua_pushboolean(in, open_socket(whose, in) != nullptr);
  return 1;
}

// connection:protocol(): returns the agreed subprotocol; "" without one.
int protocol(program& whose, lua_State* in) {
  const http::websocket* const of = open_socket(whose, in);
  const std::string_view name = of == nullptr ? std::string_view{} : of->protocol();
  lua_pushlstring(in, name.data(), name.size());
  return 1;
}

int collected(program& whose, lua_State* in) {
  whose.its_connections().drop(check_connection(in));
  return 0;
}

int shown(program&, lua_State* in) {
  lua_pushfstring(in, "connection %s", std::to_string(check_connection(in)).c_str());
  return 1;
}

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace

int push_fetched(lua_State* to, const ask_result<http::fetched>& got) {
  if (!got || !*got) {
    const std::string why =
        got ? std::string(http::to_string(got->error)) + ": " + got->why : got.message();
    lua_pushnil(to);
    lua_pushlstring(to, why.data(), why.size());
    return 2;
  }
  lua_createtable(to, 0, 4);
  lua_pushinteger(to, got->status);
  lua_setfield(to, -2, "status");
  lua_pushlstring(to, got->body.data(), got->body.size());
  lua_setfield(to, -2, "body");
  lua_pushlstring(to, got->url.data(), got->url.size());
  lua_setfield(to, -2, "url");
  lua_newtable(to);
  for (const auto& [name, value] : got->headers) {
    const std::string lower = lowered(name);
    lua_pushlstring(to, lower.data(), lower.size());
    lua_pushvalue(to, -1);
    if (lua_rawget(to, -3) == LUA_TNIL) {
      lua_pop(to, 1);
      lua_pushlstring(to, value.data(), value.size());
    } else {
      // One list (RFC 9110, 5.3). A cookie may contain commas.
      lua_pushstring(to, lower == "set-cookie" ? "\n" : ", ");
      lua_pushlstring(to, value.data(), value.size());
      lua_concat(to, 3);
    }
    lua_rawset(to, -3);
  }
  lua_setfield(to, -2, "headers");
  return 1;
}

std::string why_not_connected(const ask_result<http::connected>& got) {
  return got ? std::string(http::to_string(got->error)) + ": " + got->why : got.message();
}

void open_outgoing(lua_State* in, program& whose) {
  lua_newtable(in);
  constexpr api_function http_functions[] = {
      {"get", api<get>}, {"post", api<post>}, {"request", api<request>}};
  set_functions(in, whose, http_functions);
  lua_setfield(in, -2, "http");
  lua_newtable(in);
  constexpr api_function websocket_functions[] = {{"connect", api<connect>}};
  set_functions(in, whose, websocket_functions);
  lua_setfield(in, -2, "websocket");

  luaL_newmetatable(in, connection_type);
  lua_newtable(in);
  constexpr api_function methods[] = {{"send", api<send>},       {"send_binary", api<send_binary>},
                                      {"receive", api<receive>}, {"close", api<close>},
                                      {"is_open", api<is_open>}, {"protocol", api<protocol>}};
  set_functions(in, whose, methods);
  lua_setfield(in, -2, "__index");
  constexpr api_function of_lua[] = {
      {"__gc", api<collected>}, {"__close", api<collected>}, {"__tostring", api<shown>}};
  set_functions(in, whose, of_lua);
  lua_pushliteral(in, "a connection");
  lua_setfield(in, -2, "__metatable");
  lua_pop(in, 1);
}

}  // namespace troupe::lua::detail
