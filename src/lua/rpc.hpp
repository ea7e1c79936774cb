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

// The incoming and outgoing messages of docs/protocol.md, independent of sockets and actors.

/// Chosen by the requester; below 2^53, so that every language can represent it.
using request_id = std::uint64_t;
inline constexpr request_id request_id_max = (request_id{1} << 53) - 1;

/// As in JSON-RPC 2.0; our own codes begin at -32000. Applications may use all others.
enum class rpc_code : std::int64_t {
  parse_error = -32700,
  invalid_request = -32600,
  no_such_method = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  overloaded = -32000,  // too many open calls, or the application is overloaded
  killed = -32001,      // took too long, or too much memory
  stopping = -32002,    // the application is stopping or being replaced
};

struct rpc_limits {
  codec_limits values{};
  std::size_t method_bytes = 256;
  /// After that number of malformed messages a connection is closed.
  std::size_t malformed = 16;
};

/// The subprotocols of WebSocket: "troupe.rpc.json" and "troupe.rpc.cbor".
[[nodiscard]] std::string_view subprotocol_of(encoding as) noexcept;
[[nodiscard]] std::optional<encoding> encoding_of(std::string_view subprotocol) noexcept;
/// JSON comes in text frames, CBOR in binary ones.
[[nodiscard]] constexpr bool is_text(encoding as) noexcept { return as == encoding::json; }

/// One message that has arrived.
struct rpc_message {
  enum class kind : std::uint8_t { request, notification, result, error, invalid };

  kind what = kind::invalid;
  /// Set for requests and results. Set for errors unless the error concerns a message without an
  /// id. Set for an invalid message if it was the request of that id.
  std::optional<request_id> id{};
  /// Set for requests and notifications.
  std::string method{};
  std::uint8_t channel = 0;
  /// Set for errors and invalid messages.
  std::int64_t code = 0;
  std::string text{};
  /// Set for invalid messages: the reply to send.
  std::string answer{};
};

/// Reads the messages of a connection, and counts the malformed ones.
///
/// Threads: one at a time.
class rpc_reader {
 public:
  explicit rpc_reader(encoding as, const rpc_limits& allowed = {}) noexcept
      : as_(as), allowed_(allowed) {}

  /// Pushes one value: the params, the result or the error's data; nil if it is absent.
  ///
  /// Errors: raises Lua's for lack of memory, or if the run is killed.
  rpc_message read(lua_State* to, bool text_frame, std::string_view frame);

  /// Counts a well-formed message that is invalid: a request with an id that is in use.
  void count_malformed() noexcept { ++malformed_; }
  [[nodiscard]] std::size_t malformed() const noexcept { return malformed_; }
  /// Whether the connection must be closed, with 1008.
  [[nodiscard]] bool has_seen_enough() const noexcept { return malformed_ >= allowed_.malformed; }

 private:
  const encoding as_;
  const rpc_limits allowed_;
  std::size_t malformed_ = 0;
};

/// These functions append a message. Values are at an index of the stack. The index of params and
/// data may be 0 for none, and nil counts as none.
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

/// Returns an error without data, which does not need Lua. Bytes of the text that are not UTF-8
/// become '?', and a text is truncated at one kilobyte.
[[nodiscard]] std::string error_message(encoding as, std::optional<request_id> id, rpc_code code,
                                        std::string_view text);

}  // namespace troupe::lua::detail
