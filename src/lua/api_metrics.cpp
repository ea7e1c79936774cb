// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <lua.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api_arguments.hpp"
#include "program.hpp"
#include "sharing.hpp"
#include "utf8.hpp"

namespace troupe::lua::detail {
namespace {

using http::figure_type;

constexpr std::array<const char*, 3> types = {"troupe.counter", "troupe.gauge", "troupe.histogram"};
constexpr std::array<const char*, 3> words = {"counter", "gauge", "histogram"};

constexpr std::size_t index(figure_type of) { return static_cast<std::size_t>(of); }

script_metrics& all_metrics(program& whose) { return whose.around().shared().all().metrics(); }

script_metrics::id check_metric(lua_State* in, figure_type of) {
  return *static_cast<script_metrics::id*>(luaL_checkudata(in, 1, types[index(of)]));
}

double check_finite(lua_State* in, int argument, bool may_be_negative = true) {
  const lua_Number value = luaL_checknumber(in, argument);
  luaL_argcheck(in, std::isfinite(value) && (may_be_negative || value >= 0), argument,
                may_be_negative ? "a finite number" : "a finite number, not negative");
  return value;
}

// {room = "hall"}: returned in the order of the names.
script_metrics::labels check_labels(lua_State* in, int argument) {
  script_metrics::labels all;
  if (lua_isnoneornil(in, argument)) return all;
  luaL_checktype(in, argument, LUA_TTABLE);
  for (lua_pushnil(in); lua_next(in, argument) != 0; lua_pop(in, 1)) {
    luaL_argcheck(in, all.size() < script_metrics::labels_max, argument, "at most 8 labels");
    luaL_argcheck(
        in, lua_type(in, -2) == LUA_TSTRING && script_metrics::is_label(check_string(in, -2)),
        argument, "label names consist of a to z, 0 to 9 and '_', except 'le' and 'application'");
    const bool is_simple = lua_type(in, -1) == LUA_TSTRING || lua_isinteger(in, -1) != 0;
    luaL_argcheck(in, is_simple, argument, "label values must be strings or integers");
    const std::string name(check_string(in, -2));
    const std::string_view value = check_string(in, -1);
    luaL_argcheck(in, value.size() <= script_metrics::label_bytes_max && is_utf8(value), argument,
                  "a label value has at most 128 bytes of UTF-8");
    all.emplace_back(name, value);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<double> check_buckets(lua_State* in, int argument) {
  if (!check_options(in, argument, {"buckets"}) ||
      lua_getfield(in, argument, "buckets") == LUA_TNIL) {
    return script_metrics::usual_buckets();
  }
  luaL_argcheck(in, lua_istable(in, -1), argument, "buckets must be a table of numbers");
  const lua_Unsigned n = lua_rawlen(in, -1);
  luaL_argcheck(in, n >= 1 && n <= script_metrics::buckets_max, argument, "1 to 32 buckets");
  std::vector<double> all;
  for (lua_Unsigned i = 1; i <= n; ++i) {
    lua_rawgeti(in, -1, static_cast<lua_Integer>(i));
    const lua_Number one = lua_type(in, -1) == LUA_TNUMBER ? lua_tonumber(in, -1) : NAN;
    luaL_argcheck(in, std::isfinite(one) && (all.empty() || one > all.back()), argument,
                  "buckets must be finite numbers in ascending order");
    all.push_back(one);
    lua_pop(in, 1);
  }
  return all;
}

// metrics.counter(name [, help]), metrics.gauge(name [, help]),
// metrics.histogram(name [, help [, {buckets = …}]])
template <figure_type Type>
int declare(program& whose, lua_State* in) {
  using outcome = script_metrics::declared::outcome;
  lua_settop(in, 3);
  const std::string name(check_string(in, 1));
  luaL_argcheck(
      in, script_metrics::is_name(name), 1,
      "a name of at most 64 characters: a letter first, then a to z, 0 to 9 and '_'; it must not "
      "end in _total, _count, _sum or _bucket");
  const std::string help(luaL_optstring(in, 2, ""));
  luaL_argcheck(in,
                help.size() <= script_metrics::help_bytes_max && is_utf8(help) &&
                    std::none_of(help.begin(), help.end(),
                                 [](char c) { return (c >= 0 && c < ' ') || c == '\\'; }),
                2, "at most 256 bytes of UTF-8 in one line, without backslashes");
  std::vector<double> buckets;
  if constexpr (Type == figure_type::histogram) buckets = check_buckets(in, 3);
  auto* const made =
      static_cast<script_metrics::id*>(lua_newuserdatauv(in, sizeof(script_metrics::id), 0));
  *made = 0;
  const auto did = all_metrics(whose).declare(whose.around().shared().application(), name, Type,
                                              help, std::move(buckets), whose.allowed().metrics);
  switch (did.what) {
    case outcome::done:
      break;
    case outcome::another_type:
      return luaL_error(in, "'%s' is a %s already", name.c_str(), words[index(did.type)]);
    case outcome::other_buckets:
      return luaL_error(in, "'%s' is declared already with other buckets", name.c_str());
    case outcome::too_many:
      return luaL_error(in, "%d metrics exist already, which is limits.metrics",
                        static_cast<int>(whose.allowed().metrics));
  }
  *made = did.id;
  luaL_setmetatable(in, types[index(Type)]);
  return 1;
}

int push_counted(lua_State* in, bool was) {
  if (!was) return push_why(in, "too many");
  lua_pushboolean(in, 1);
  return 1;
}

// counter:add([n [, labels]]), gauge:add([n [, labels]]): return true; or nil and "too many".
template <figure_type Type>
int add(program& whose, lua_State* in) {
  const auto which = check_metric(in, Type);
  const double n = lua_isnoneornil(in, 2) ? 1 : check_finite(in, 2, Type == figure_type::gauge);
  return push_counted(in, all_metrics(whose).add(which, whose.around().shared().application(),
                                                 check_labels(in, 3), n, whose.allowed().metrics));
}

// gauge:set(value [, labels])
int set(program& whose, lua_State* in) {
  const auto which = check_metric(in, figure_type::gauge);
  const double value = check_finite(in, 2);
  return push_counted(
      in, all_metrics(whose).set(which, whose.around().shared().application(), check_labels(in, 3),
                                 value, whose.allowed().metrics));
}

// histogram:observe(value [, labels])
int observe(program& whose, lua_State* in) {
  const auto which = check_metric(in, figure_type::histogram);
  const double value = check_finite(in, 2);
  return push_counted(
      in, all_metrics(whose).observe(which, whose.around().shared().application(),
                                     check_labels(in, 3), value, whose.allowed().metrics));
}

template <std::size_t N>
void set_type(lua_State* in, program& whose, figure_type of, const api_function (&methods)[N]) {
  luaL_newmetatable(in, types[index(of)]);
  lua_newtable(in);
  set_functions(in, whose, methods);
  lua_setfield(in, -2, "__index");
  lock(in, words[index(of)]);
  lua_pop(in, 1);
}

}  // namespace

void open_metrics(lua_State* in, program& whose) {
  lua_newtable(in);
  constexpr api_function functions[] = {{"counter", api<declare<figure_type::counter>>},
                                        {"gauge", api<declare<figure_type::gauge>>},
                                        {"histogram", api<declare<figure_type::histogram>>}};
  set_functions(in, whose, functions);
  lua_setfield(in, -2, "metrics");

  constexpr api_function of_counters[] = {{"add", api<add<figure_type::counter>>}};
  constexpr api_function of_gauges[] = {{"add", api<add<figure_type::gauge>>}, {"set", api<set>}};
  constexpr api_function of_histograms[] = {{"observe", api<observe>}};
  set_type(in, whose, figure_type::counter, of_counters);
  set_type(in, whose, figure_type::gauge, of_gauges);
  set_type(in, whose, figure_type::histogram, of_histograms);
}

}  // namespace troupe::lua::detail
