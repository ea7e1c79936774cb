// SPDX-License-Identifier: Apache-2.0

#include "outgoing_request.hpp"

#include <algorithm>
#include <array>

#include <troupe/http/client.hpp>

#include "text.hpp"

namespace troupe::http {
namespace detail {
namespace {

// Headers that the client writes itself. A second one could make two ends understand two different
// requests.
constexpr std::array<std::string_view, 7> own_headers = {
    "connection", "content-length", "host", "te", "transfer-encoding", "upgrade", "keep-alive"};
constexpr std::size_t headers_bytes_max = 64 * 1024;

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  return lower;
}

bool is_of_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

void add_line(std::string& to, std::string_view name, std::string_view value) {
  to.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::optional<std::string> wrong_headers(const header_list& headers, bool of_websocket) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers) {
    bytes += name.size() + value.size() + 4;
    if (!is_token(name)) return "a header name must consist of letters, digits and '-'";
    const std::string lower = lowered(name);
    if (std::find(own_headers.begin(), own_headers.end(), lower) != own_headers.end() ||
        (of_websocket && lower.starts_with("sec-websocket-"))) {
      return "the header '" + name + "' is set by the client itself";
    }
    if (!is_of_one_line(value)) {
      return "the value of the header '" + name + "' must be a single line";
    }
  }
  if (bytes > headers_bytes_max) return "the headers have more than 65536 bytes";
  return std::nullopt;
}

const std::string* find_header(const header_list& in, std::string_view name) noexcept {
  const auto found = std::find_if(in.begin(), in.end(), [&](const auto& each) {
    return equal_ignoring_case(each.first, name);
  });
  return found == in.end() ? nullptr : &found->second;
}

std::string head_of_request(const fetch& what, const url& to, std::string_view user_agent) {
  std::string head = what.method;
  head.append(" ").append(to.target).append(" HTTP/1.1\r\n");
  add_line(head, "Host", to.authority());
  if (find_header(what.headers, "user-agent") == nullptr && !user_agent.empty()) {
    add_line(head, "User-Agent", user_agent);
  }
  if (find_header(what.headers, "accept") == nullptr) add_line(head, "Accept", "*/*");
  for (const auto& [name, value] : what.headers) add_line(head, name, trimmed(value));
  const bool has_body =
      !what.body.empty() || what.method == "POST" || what.method == "PUT" || what.method == "PATCH";
  if (has_body) add_line(head, "Content-Length", std::to_string(what.body.size()));
  return head += "\r\n";
}

bool may_be_repeated(std::string_view method) noexcept {
  constexpr std::array<std::string_view, 5> these = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
  return std::find(these.begin(), these.end(), method) != these.end();
}

bool redirect(fetch& what, unsigned status, bool to_another_origin) {
  switch (status) {
    case 301:
    case 302:
      if (what.method != "POST") break;
      [[fallthrough]];
    case 303:
      if (what.method != "HEAD") what.method = "GET";
      what.body.clear();
      std::erase_if(what.headers,
                    [](const auto& each) { return lowered(each.first).starts_with("content-"); });
      break;
    case 307:
    case 308:
      break;
    default:
      return false;
  }
  if (to_another_origin) {
    std::erase_if(what.headers, [](const auto& each) {
      return equal_ignoring_case(each.first, "authorization") ||
             equal_ignoring_case(each.first, "cookie") ||
             equal_ignoring_case(each.first, "proxy-authorization");
    });
  }
  return true;
}

}  // namespace detail

std::string_view to_string(client_error what) noexcept {
  switch (what) {
    case client_error::none:
      return "none";
    case client_error::invalid:
      return "invalid";
    case client_error::not_allowed:
      return "not allowed";
    case client_error::overloaded:
      return "overloaded";
    case client_error::resolve:
      return "resolve";
    case client_error::connect:
      return "connect";
    case client_error::tls:
      return "tls";
    case client_error::timeout:
      return "timeout";
    case client_error::too_large:
      return "too large";
    case client_error::malformed:
      return "malformed";
    case client_error::closed:
      return "closed";
    case client_error::refused:
      return "refused";
    case client_error::redirects:
      return "redirects";
    case client_error::stopped:
      return "stopped";
  }
  return "unknown";
}

namespace {

std::size_t bytes_of(const header_list& headers) noexcept {
  std::size_t bytes = headers.capacity() * sizeof(headers[0]);
  for (const auto& [name, value] : headers) bytes += name.capacity() + value.capacity();
  return bytes;
}

}  // namespace

std::size_t fetch::owned_bytes() const noexcept {
  return method.capacity() + url.capacity() + body.capacity() + bytes_of(headers);
}

std::size_t connect_websocket::owned_bytes() const noexcept {
  std::size_t bytes = url.capacity() + bytes_of(headers);
  for (const std::string& each : protocols) bytes += each.capacity();
  return bytes;
}

std::size_t detail::bytes_of(const fetched& answer) noexcept {
  return sizeof(fetched) + answer.why.capacity() + http::bytes_of(answer.headers) +
         answer.body.capacity() + answer.url.capacity();
}

std::string_view fetched::header(std::string_view name) const noexcept {
  const std::string* const found = detail::find_header(headers, name);
  return found == nullptr ? std::string_view{} : std::string_view{*found};
}

std::optional<std::string> validate(const fetch& with) {
  if (!detail::is_token(with.method) || with.method.size() > 32) {
    return "the method must be a token of HTTP such as GET or POST";
  }
  if (with.method == "CONNECT") return "the method CONNECT is not supported: it is for proxies";
  const auto parsed = detail::parse_url(with.url, detail::scheme_kind::http);
  if (const auto* problem = std::get_if<std::string>(&parsed)) return *problem;
  return detail::wrong_headers(with.headers, false);
}

std::optional<std::string> validate(const connect_websocket& with) {
  const auto parsed = detail::parse_url(with.url, detail::scheme_kind::websocket);
  if (const auto* problem = std::get_if<std::string>(&parsed)) return *problem;
  for (const std::string& each : with.protocols) {
    if (!detail::is_token(each)) {
      return "the subprotocol '" + each +
             "' is not a token of HTTP: use letters, digits, '.' and '-'";
    }
  }
  return detail::wrong_headers(with.headers, true);
}

}  // namespace troupe::http
