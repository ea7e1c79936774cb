// SPDX-License-Identifier: Apache-2.0

#include "client_handshake.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <stdexcept>
#include <utility>

#include "completion.hpp"
#include "handshake.hpp"
#include "outgoing_request.hpp"
#include "text.hpp"

namespace troupe::http::detail {
namespace {

namespace bh = beast::http;

std::string fresh_key() {
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error("OpenSSL cannot generate the key of a WebSocket");
  }
  std::array<unsigned char, 32> base64;  // 24 characters and a zero
  const int length = EVP_EncodeBlock(base64.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {base64.begin(), base64.begin() + length};
}

std::string question(const connect_websocket& what, const url& to, std::string_view user_agent,
                     std::string_view key) {
  std::string head = "GET ";
  head.append(to.target).append(" HTTP/1.1\r\nHost: ").append(to.authority());
  head +=
      "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: ";
  head.append(key).append("\r\n");
  if (!what.protocols.empty()) {
    head += "Sec-WebSocket-Protocol: ";
    for (const std::string& each : what.protocols) {
      if (&each != &what.protocols.front()) head += ", ";
      head += each;
    }
    head += "\r\n";
  }
  if (find_header(what.headers, "user-agent") == nullptr && !user_agent.empty()) {
    head.append("User-Agent: ").append(user_agent).append("\r\n");
  }
  for (const auto& [name, value] : what.headers) {
    head.append(name).append(": ").append(trimmed(value)).append("\r\n");
  }
  return head += "\r\n";
}

}  // namespace

client_handshake::client_handshake(std::unique_ptr<outgoing_stream> stream,
                                   const connect_websocket& what, const url& to,
                                   std::string_view user_agent, std::size_t header_bytes, done then)
    : stream_(std::move(stream)),
      what_(what),
      key_(fresh_key()),
      request_(question(what, to, user_agent, key_)),
      header_bytes_(header_bytes),
      then_(std::move(then)) {
  parser_.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(header_bytes, 1 << 30)));
}

template <auto Step>
auto client_handshake::then() {
  return completion(
      shared_from_this(),
      [](client_handshake& me, net::error_code error, std::size_t bytes) {
        if (me.then_) (me.*Step)(error, bytes);
      },
      [](client_handshake& me, const std::exception_ptr& why) {
        if (!me.then_) return;
        const auto fail = [](client_handshake& it, const std::exception_ptr& because) {
          if (it.then_) it.finish({.error = client_error::closed, .why = reason_of(because)});
        };
        if (why != nullptr) return fail(me, why);
        // Posted, because the caller that starts an operation must not be called back from within.
        boost::asio::post(me.stream_->get_executor(),
                          [=, it = me.shared_from_this()] { fail(*it, nullptr); });
      });
}

void client_handshake::write() {
  stream_->async_write_some(
      boost::asio::buffer(request_.data() + written_, request_.size() - written_),
      then<&client_handshake::on_written>());
}

void client_handshake::on_written(net::error_code error, std::size_t bytes) {
  if (error) {
    return finish({.error = client_error::closed,
                   .why = "the connection was closed before a response: " + error.message()});
  }
  written_ += bytes;
  written_ < request_.size() ? write() : read();
}

void client_handshake::read() {
  stream_->async_read_some(buffer_.prepare(read_bytes), then<&client_handshake::on_read>());
}

void client_handshake::on_read(net::error_code error, std::size_t bytes) {
  if (error) {
    return finish({.error = client_error::closed,
                   .why = "the connection was closed before a response: " + error.message()});
  }
  buffer_.commit(bytes);
  while (!parser_.is_header_done()) {
    net::error_code wrong;
    const std::size_t used = parser_.put(buffer_.data(), wrong);
    buffer_.consume(used);
    used_ += used;
    const bool is_more = wrong == bh::error::need_more || (!wrong && used == 0);
    if (wrong == bh::error::header_limit || used_ > header_bytes_ ||
        (is_more && used_ + buffer_.size() > header_bytes_)) {
      return finish({.error = client_error::too_large,
                     .why = "the response headers have more than " + std::to_string(header_bytes_) +
                            " bytes"});
    }
    if (is_more) return read();
    if (wrong) {
      return finish({.error = client_error::malformed,
                     .why = "the response is not valid HTTP: " + wrong.message()});
    }
  }
  look_at(parser_.get());
}

void client_handshake::look_at(const parser::value_type& answer) {
  if (auto wrong = problem(answer)) {
    wrong->status = answer.result_int();
    return finish(std::move(*wrong));
  }
  const auto behind = buffer_.cdata();
  finish({.status = 101,
          .protocol = answer[bh::field::sec_websocket_protocol],
          .ahead = std::string(static_cast<const char*>(behind.data()), behind.size()),
          .stream = std::move(stream_)});
}

std::optional<client_handshake_result> client_handshake::problem(
    const parser::value_type& answer) const {
  const auto wrong = [](std::string why) {
    return client_handshake_result{.error = client_error::malformed, .why = std::move(why)};
  };
  if (answer.result_int() != 101) {
    std::string why = "the response status is " + std::to_string(answer.result_int());
    return client_handshake_result{.error = client_error::refused,
                                   .why = why.append(" ").append(answer.reason())};
  }
  if (!equal_ignoring_case(answer[bh::field::upgrade], "websocket") ||
      !bh::token_list(answer[bh::field::connection]).exists("upgrade")) {
    return wrong("the response has status 101 but does not upgrade to a WebSocket");
  }
  if (answer[bh::field::sec_websocket_accept] != websocket_accept(key_)) {
    return wrong("Sec-WebSocket-Accept in the response does not match the key");
  }
  if (answer.count(bh::field::sec_websocket_extensions) > 0) {
    return wrong("the response selects an extension, but none was offered");
  }
  const std::string_view chosen = answer[bh::field::sec_websocket_protocol];
  const auto& offered = what_.protocols;
  if (chosen.empty() && !offered.empty()) {
    return client_handshake_result{.error = client_error::refused,
                                   .why = "the response selects none of the offered subprotocols"};
  }
  if (!chosen.empty() && std::find(offered.begin(), offered.end(), chosen) == offered.end()) {
    return wrong("the response selects a subprotocol that was not offered");
  }
  return std::nullopt;
}

void client_handshake::finish(client_handshake_result result) {
  const std::shared_ptr<client_handshake> stays = shared_from_this();
  const done then = std::exchange(then_, nullptr);
  if (!then) return;  // an exception of the callback leaves this function
  if (!result.stream) abandon();
  then(std::move(result));
}

void client_handshake::abandon() noexcept {
  then_ = nullptr;
  if (!stream_) return;
  net::error_code ignored;
  stream_->close(ignored);
}

}  // namespace troupe::http::detail
