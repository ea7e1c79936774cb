// SPDX-License-Identifier: Apache-2.0

#include "handshake.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "text.hpp"

namespace troupe::http::detail {

bool is_websocket_key(std::string_view key) noexcept {
  if (key.size() != 24 || !key.ends_with("==")) return false;
  return std::all_of(key.begin(), key.end() - 2, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

std::string websocket_accept(std::string_view key) {
  std::string text{key};
  text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash;
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha1(), nullptr) != 1) {
    throw std::runtime_error(
        "troupe: http: OpenSSL has no SHA-1, which WebSocket handshakes need: allow it in its "
        "configuration");
  }
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> base64;  // and a terminating zero
  const int length = EVP_EncodeBlock(base64.data(), hash.data(), static_cast<int>(size));
  return {base64.begin(), base64.begin() + length};
}

std::string_view choose_protocol(std::string_view offers,
                                 std::span<const std::string> understood) noexcept {
  while (!offers.empty()) {
    const std::size_t comma = std::min(offers.find(','), offers.size());
    const std::string_view offer = trimmed(offers.substr(0, comma));
    if (std::find(understood.begin(), understood.end(), offer) != understood.end()) return offer;
    offers.remove_prefix(std::min(offers.size(), comma + 1));
  }
  return {};
}

std::string switching_protocols(std::string_view key, std::string_view protocol) {
  std::string head =
      "HTTP/1.1 101 Switching Protocols\r\nServer: Troupe\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Accept: ";
  head += websocket_accept(key);
  if (!protocol.empty()) head.append("\r\nSec-WebSocket-Protocol: ").append(protocol);
  return head += "\r\n\r\n";
}

}  // namespace troupe::http::detail
