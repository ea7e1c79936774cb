// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lua.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::lua::detail {

// Lua's values as JSON (RFC 8259) or CBOR (RFC 8949), and back. What becomes what is in docs/protocol.md.
//
// All of it counts the work with the state's governor, so a run that is over its time ends in here too.

enum class encoding : std::uint8_t { json, cbor };

struct codec_limits {
  /// Arrays and maps within each other. More than depth_max counts as that: it is C++'s stack.
  std::size_t depth = 64;
  static constexpr std::size_t depth_max = 500;
  /// Of the encoded text.
  std::size_t bytes = 1024 * 1024;
  /// All values together, containers as well.
  std::size_t elements = 100'000;
};

/// Pushes what scripts need: {json = {encode, decode}, cbor = {encode, decode}, null, array}.
///
/// To be called once for a state, before anything else here.
/// Errors: raises Lua's.
void open_codecs(lua_State* of, const codec_limits& allowed = {});

/// Appends the value at that index; nil becomes null.
///
/// Errors: raises Lua's, which name the path: "cannot encode a function at .players[3].on_hit". Then `to`
///         ends with something that is not whole.
/// Cost:   each table is gone through twice, since its keys say what it is.
void encode(lua_State* from, int index, encoding as, std::string& to,
            const codec_limits& allowed = {});

/// Pushes the value that the bytes are, or returns what is wrong with them, and where:
/// "byte 17: the key \"name\" is there twice". That is UTF-8, and short.
///
/// Errors: raises Lua's for lack of memory, or if the run is killed.
[[nodiscard]] std::optional<std::string> push_decoded(lua_State* to, std::string_view bytes,
                                                      encoding as,
                                                      const codec_limits& allowed = {});

/// What stands for null, since a table cannot hold nil. For scripts it is a value that is true.
void push_null(lua_State* to);
[[nodiscard]] bool is_null(lua_State* in, int index);

/// Marks a table as an array, so that it is one even if it is empty.
void mark_as_array(lua_State* in, int index);
[[nodiscard]] bool is_marked_as_array(lua_State* in, int index);

}  // namespace troupe::lua::detail
