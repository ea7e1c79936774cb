// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lua.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::lua::detail {

// Converts Lua's values to JSON (RFC 8259) or CBOR (RFC 8949), and back. docs/protocol.md defines
// the mapping.
//
// All functions report their work to the state's governor, so a run that exceeds its time also ends
// in here.

enum class encoding : std::uint8_t { json, cbor };

struct codec_limits {
  /// Nesting of arrays and maps. A value above depth_max counts as depth_max, because nesting uses
  /// the C++ stack.
  std::size_t depth = 64;
  static constexpr std::size_t depth_max = 500;
  /// Of the encoded text.
  std::size_t bytes = 1024 * 1024;
  /// The number of all values together, including containers.
  std::size_t elements = 100'000;
};

/// Pushes the codecs for scripts: {json = {encode, decode}, cbor = {encode, decode}, null, array}.
///
/// To be called once for a state, before all other functions here.
/// Errors: raises Lua's.
void open_codecs(lua_State* of, const codec_limits& allowed = {});

/// Appends the value at that index; nil becomes null.
///
/// Errors: raises Lua's, which name the path: "cannot encode a function at .players[3].on_hit".
///         Then `to` ends with an incomplete value.
/// Cost:   each table is traversed twice, because its keys determine whether it is an array.
void encode(lua_State* from, int index, encoding as, std::string& to,
            const codec_limits& allowed = {});

/// Pushes the value that the bytes encode, or returns what is wrong and where: "byte 17: duplicate
/// key \"name\"". That text is UTF-8, and short.
///
/// Errors: raises Lua's for lack of memory, or if the run is killed.
[[nodiscard]] std::optional<std::string> push_decoded(lua_State* to, std::string_view bytes,
                                                      encoding as,
                                                      const codec_limits& allowed = {});

/// Pushes the value that represents null, because a table cannot hold nil. Scripts see it as a true
/// value.
void push_null(lua_State* to);
[[nodiscard]] bool is_null(lua_State* in, int index);

/// Marks a table as an array, so that it is one even if it is empty.
void mark_as_array(lua_State* in, int index);
[[nodiscard]] bool is_marked_as_array(lua_State* in, int index);

}  // namespace troupe::lua::detail
