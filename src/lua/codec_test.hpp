// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "script_test.hpp"
#include "value_codec.hpp"

namespace troupe::lua::detail {

/// Scripts with json, cbor, null and array, and also hex(text) and unhex(text).
class codec : public script {
 protected:
  explicit codec(const codec_limits& allowed = {}, const bounds& most = {}) : script(most) {
    open_codecs(state_.main(), allowed);
    lua_setglobal(state_.main(), "troupe");
    run("json, cbor, null, array = troupe.json, troupe.cbor, troupe.null, troupe.array "
        "function hex(s) return (s:gsub('.', function(c) return ('%02x'):format(c:byte()) end)) "
        "end "
        "function unhex(s) return (s:gsub('..', function(x) return string.char(tonumber(x, 16)) "
        "end)) end");
  }

  /// Returns the value of a Lua expression as JSON, or the error.
  std::string to_json(const std::string& expression) {
    return run("return json.encode(" + expression + ")");
  }
  std::string to_cbor(const std::string& expression) {
    return run("return hex(cbor.encode(" + expression + "))");
  }
  /// Returns a value that arrived as JSON or CBOR as JSON, or "nil, " and the error.
  std::string from_json(std::string_view text) { return decoded("json.decode(given)", text); }
  std::string from_cbor(std::string_view hex) { return decoded("cbor.decode(unhex(given))", hex); }

  void give(std::string_view text) {
    lua_pushlstring(state_.main(), text.data(), text.size());
    lua_setglobal(state_.main(), "given");
  }

 private:
  std::string decoded(const std::string& expression, std::string_view text) {
    give(text);
    return run("local value, wrong = " + expression +
               " if wrong then return value, wrong end return json.encode(value)");
  }
};

}  // namespace troupe::lua::detail
