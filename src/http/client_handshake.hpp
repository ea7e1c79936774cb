// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/client.hpp>

#include "beast.hpp"
#include "outgoing_stream.hpp"
#include "url.hpp"

namespace troupe::http::detail {

/// The result of a client_handshake.
struct client_handshake_result {
  client_error error = client_error::none;
  std::string why = {};
  unsigned status = 0;
  std::string protocol = {};  // the subprotocol that was chosen
  std::string ahead = {};     // bytes after the response, at most client_handshake::read_bytes
  std::unique_ptr<outgoing_stream> stream = {};
};

/// The client's part of a WebSocket's handshake (RFC 6455, 4.1): sends the request and checks the
/// response, which has to prove that the server understands WebSocket.
///
/// Threads:   the loop's.
/// Invariant: `done` is called once, in a completion handler, or never after abandon().
class client_handshake : public std::enable_shared_from_this<client_handshake> {
 public:
  static constexpr std::size_t read_bytes = 512;
  using done = std::function<void(client_handshake_result)>;

  /// `what` must stay valid until then.
  client_handshake(std::unique_ptr<outgoing_stream> stream, const connect_websocket& what,
                   const url& to, std::string_view user_agent, std::size_t header_bytes, done then);

  void begin() { write(); }
  void abandon() noexcept;

 private:
  using parser = beast::http::response_parser<beast::http::empty_body>;

  template <auto Step>
  auto then();

  void write();
  void on_written(net::error_code error, std::size_t bytes);
  void read();
  void on_read(net::error_code error, std::size_t bytes);
  void look_at(const parser::value_type& answer);
  [[nodiscard]] std::optional<client_handshake_result> problem(
      const parser::value_type& answer) const;
  void finish(client_handshake_result result);

  std::unique_ptr<outgoing_stream> stream_;
  const connect_websocket& what_;
  const std::string key_;
  const std::string request_;
  const std::size_t header_bytes_;
  done then_;  // over if empty
  std::size_t written_ = 0;
  std::size_t used_ = 0;  // bytes of the response
  beast::flat_buffer buffer_;
  parser parser_;
};

}  // namespace troupe::http::detail
