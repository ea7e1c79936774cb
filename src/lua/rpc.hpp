// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lua.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "value_codec.hpp"

namespace troupe::lua::detail {

// The messages of docs/protocol.md, as they come and as they are sent. No sockets here, and no actors.

/// Chosen by who asks; below 2^53, so that every language has it.
using request_id = std::uint64_t;
inline constexpr request_id request_id_max = (request_id{1} << 53) - 1;

/// As in JSON-RPC 2.0; from -32000 on our own. Applications have all others.
enum class rpc_code : std::int64_t {
  parse_error = -32700,
  invalid_request = -32600,
  no_such_method = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  overloaded = -32000,  // begun too many, or the application has too much to do
  killed = -32001,      // took too long, or too much memory
  stopping = -32002,    // the application is being ended or replaced
};

struct rpc_limits {
  codec_limits values{};
  std::size_t method_bytes = 256;
  /// So many messages that are not understood end a connection.
  std::size_t malformed = 16;
};

/// WebSocket's subprotocols: "troupe.rpc.json" and "troupe.rpc.cbor".
[[nodiscard]] std::string_view subprotocol_of(encoding as) noexcept;
[[nodiscard]] std::optional<encoding> encoding_of(std::string_view subprotocol) noexcept;
/// JSON comes in text frames, CBOR in binary ones.
[[nodiscard]] constexpr bool is_text(encoding as) noexcept { return as == encoding::json; }

/// One message that has come.
struct rpc_message {
  enum class kind : std::uint8_t { request, notification, result, error, invalid };

  kind what = kind::invalid;
  /// Of requests and results always; of errors unless it is about something without one; of what is invalid if
  /// it was the request of that number.
  std::optional<request_id> id{};
  /// Of requests and notifications.
  std::string method{};
  std::uint8_t channel = 0;
  /// Of errors, and of what is invalid.
  std::int64_t code = 0;
  std::string text{};
  /// Of what is invalid: what to send back.
  std::string answer{};
};

/// Reads the messages of a connection, and counts those that are none.
///
/// Threads: one at a time.
class rpc_reader {
 public:
  explicit rpc_reader(encoding as, const rpc_limits& allowed = {}) noexcept
      : as_(as), allowed_(allowed) {}

  /// Pushes one value: the params, the result, or the error's data; nil if there is none.
  ///
  /// Errors: raises Lua's for lack of memory, or if the run is killed.
  rpc_message read(lua_State* to, bool text_frame, std::string_view frame);

  /// Counts one that could be read, but means nothing: a request with an id that is in use.
  void count_malformed() noexcept { ++malformed_; }
  [[nodiscard]] std::size_t malformed() const noexcept { return malformed_; }
  /// The connection is to be closed, with 1008.
  [[nodiscard]] bool has_seen_enough() const noexcept { return malformed_ >= allowed_.malformed; }

 private:
  const encoding as_;
  const rpc_limits allowed_;
  std::size_t malformed_ = 0;
};

/// These append a message. Values are those at an index of the stack; those of params and data may be 0, for none,
/// and nil is none.
///
/// Errors: raise Lua's, as encode() does, if a value cannot be encoded.
void write_request(lua_State* from, int params, encoding as, request_id id, std::string_view method,
                   std::uint8_t channel, std::string& to, const codec_limits& allowed = {});
void write_notification(lua_State* from, int params, encoding as, std::string_view method,
                        std::uint8_t channel, std::string& to, const codec_limits& allowed = {});
void write_result(lua_State* from, int result, encoding as, request_id id, std::string& to,
                  const codec_limits& allowed = {});
void write_error(lua_State* from, int data, encoding as, std::optional<request_id> id,
                 std::int64_t code, std::string_view text, std::string& to,
                 const codec_limits& allowed = {});

/// An error without data, which needs no Lua. Of the text what is not UTF-8 becomes '?', and what is beyond a
/// kilobyte is cut off.
[[nodiscard]] std::string error_message(encoding as, std::optional<request_id> id, rpc_code code,
                                        std::string_view text);

}  // namespace troupe::lua::detail
