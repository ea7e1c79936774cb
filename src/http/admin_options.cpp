// SPDX-License-Identifier: Apache-2.0

#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include <troupe/http/options.hpp>

#include "listen_address.hpp"

namespace troupe::http {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void refuse(std::string_view listen) {
  throw std::invalid_argument("\"" + std::string(listen) +
                              "\" is not an address to listen on; write \"127.0.0.1:9180\", "
                              "\"[::1]:9180\" or \"unix:PATH\"");
}

void set_address(options& of, std::string_view listen) {
  if (listen.starts_with(detail::unix_prefix)) {
    if (listen.size() == detail::unix_prefix.size()) refuse(listen);
    of.address = listen;
    of.port = 0;
    return;
  }
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string_view::npos) refuse(listen);
  std::string_view address = listen.substr(0, colon);
  const std::string_view port = listen.substr(colon + 1);
  const bool in_brackets =
      address.size() >= 2 && address.starts_with('[') && address.ends_with(']');
  if (in_brackets) address = address.substr(1, address.size() - 2);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), of.port);
  const bool is_port = error == std::errc{} && end == port.data() + port.size();
  // Without brackets, "::1:80" could be an address or an address and a port.
  if (!is_port || address.empty() || (!in_brackets && address.find(':') != std::string::npos)) {
    refuse(listen);
  }
  of.address = address;
}

}  // namespace

options admin_options(std::string_view listen) {
  options made;
  set_address(made, listen);
  made.check_host = !detail::is_unix_address(made.address);
  limits& its = made.limits;
  its.header_bytes = 8 * 1024;
  its.body_bytes = 1024;
  its.request_bodies_bytes = 16 * 1024;
  its.message_bytes = 1024;
  its.connections_max = 32;
  its.connections_per_address_max = 32;
  its.handshake_timeout = 5s;
  its.request_timeout = 10s;
  its.idle_timeout = 30s;
  its.read_bytes_per_second = 4 * 1024;
  its.close_timeout = 2s;
  its.drain_timeout = 1s;
  its.send_queue_bytes = 16 * 1024;
  its.send_queues_bytes = 64 * 1024;
  its.partial_messages_bytes = 16 * 1024;
  its.upgrade_requests_bytes = 64 * 1024;
  return made;
}

}  // namespace troupe::http
