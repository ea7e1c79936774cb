// SPDX-License-Identifier: Apache-2.0

#include "request_parser.hpp"

#include <algorithm>
#include <charconv>

#include "target.hpp"
#include "text.hpp"

namespace troupe::http::detail {
namespace {

// Slices have 32-bit offsets.
constexpr std::size_t bytes_max_of_all = std::size_t{1} << 30;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// A transfer coding of RFC 9110: "chunked", "gzip;level=9".
bool is_coding(std::string_view text) noexcept {
  return is_token(trimmed(text.substr(0, text.find(';'))));
}

}  // namespace

request_parser::request_parser(std::size_t bytes_max) noexcept
    : bytes_max_(std::min(bytes_max, bytes_max_of_all)) {}

request_parser::outcome request_parser::next(std::string_view& bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    // Checked on the first byte: a client that does not speak HTTP may never send a whole line.
    const char first = text().size() == line_ ? piece.front() : text()[line_];
    if (!in_fields_ && !is_token_character(first) && first != '\r' && first != '\n') {
      return fail(400, "the request line does not begin with a method");
    }
    if (piece.size() > bytes_max_ - used_) return too_large();
    used_ += piece.size();
    text() += piece;
    bytes.remove_prefix(piece.size());
    if (end == std::string_view::npos) return outcome::more;
    const outcome so_far = end_of_line();
    if (so_far != outcome::more) return so_far;
  }
  return outcome::more;
}

request_parser::outcome request_parser::fail(unsigned status, std::string_view why) {
  error_ = {status, why};
  return outcome::failed;
}

// RFC 9112, 3: a target that is too long has a status of its own.
request_parser::outcome request_parser::too_large() {
  return in_fields_ ? fail(431, "the headers are too large")
                    : fail(414, "the request line is too long");
}

request_parser::outcome request_parser::end_of_line() {
  std::string& all = text();
  if (all.size() - line_ < 2 || all[all.size() - 2] != '\r') {
    return fail(400, "each line must end with CR LF");
  }
  all.resize(all.size() - 2);
  const bool is_empty = all.size() == line_;
  outcome so_far = outcome::more;
  if (in_fields_) {
    so_far = is_empty ? end_of_head() : read_field();
  } else if (!is_empty) {  // RFC 9112, 2.2: empty lines before a request are skipped
    so_far = read_request_line();
  }
  line_ = text().size();
  return so_far;
}

request_parser::outcome request_parser::read_request_line() {
  const std::string_view line = std::string_view{text()}.substr(line_);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first || !is_token(line.substr(0, first))) {
    return fail(400, "the request line must be a method, a target and a version");
  }
  const std::string_view version = line.substr(last + 1);
  if (version.size() != 8 || !version.starts_with("HTTP/") || !is_digit(version[5]) ||
      version[6] != '.' || !is_digit(version[7])) {
    return fail(400, "the version must be HTTP/1.1 or HTTP/1.0");
  }
  const auto at = static_cast<std::uint32_t>(line_);
  request_access::set_line(
      head_.asked, {at, static_cast<std::uint32_t>(first)},
      {at + static_cast<std::uint32_t>(first) + 1, static_cast<std::uint32_t>(last - first - 1)});
  in_fields_ = true;
  if (version[5] != '1') return fail(505, "this server supports only HTTP/1.1");
  // RFC 9110, 2.5: a later minor version is understood as the latest known one.
  head_.version = version[7] == '0' ? 10 : 11;
  return outcome::more;
}

request_parser::outcome request_parser::read_field() {
  const std::string_view line = std::string_view{text()}.substr(line_);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return fail(400, "a header must be a name, a colon and a value on one line");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!std::all_of(value.begin(), value.end(), can_stand_in_field)) {
    return fail(400, "a header value contains control characters");
  }
  const auto at = static_cast<std::uint32_t>(line_);
  const auto begin =
      value.empty() ? colon + 1 : static_cast<std::size_t>(value.data() - line.data());
  request_access::add_field(
      head_.asked, {at, static_cast<std::uint32_t>(colon)},
      {at + static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(value.size())});
  return outcome::more;
}

request_parser::outcome request_parser::end_of_head() {
  const request& asked = head_.asked;
  const bool closes = request_access::lists(asked, "Connection", "close");
  head_.keep_alive =
      !closes && (head_.version >= 11 || request_access::lists(asked, "Connection", "keep-alive"));
  // RFC 9110, 10.1.1: HTTP/1.0 has no interim responses.
  head_.expects_continue =
      head_.version >= 11 && request_access::lists(asked, "Expect", "100-continue");
  const outcome so_far = check_host();
  return so_far == outcome::more ? check_body() : so_far;
}

// RFC 9112, 3.2: exactly one Host, or a proxy may have read another host than this server.
request_parser::outcome request_parser::check_host() {
  const request& asked = head_.asked;
  const std::size_t hosts = request_access::count(asked, "Host");
  if (hosts > 1 || (hosts == 0 && head_.version >= 11)) {
    return fail(400, "exactly one Host header is required");
  }
  if (!is_host(asked.header("Host"))) return fail(400, "the Host header is not a valid host");
  if (asked.method() == "CONNECT") {
    head_.form = request_head::target_form::authority;
    if (!is_host(asked.target())) return fail(400, "the target is not a valid host");
  } else if (asked.method() == "OPTIONS" && asked.target() == "*") {
    head_.form = request_head::target_form::asterisk;
  } else if (!request_access::set_path(head_.asked)) {
    return fail(400, "the target is not a valid path");
  }
  return outcome::more;
}

request_parser::outcome request_parser::check_body() {
  const outcome so_far = request_access::count(head_.asked, "Transfer-Encoding") > 0
                             ? check_encoding()
                             : check_length();
  return so_far == outcome::more ? outcome::done : so_far;
}

// RFC 9112, 6.1 and 6.3.
request_parser::outcome request_parser::check_encoding() {
  if (head_.version < 11) return fail(400, "Transfer-Encoding is not part of HTTP/1.0");
  if (head_.asked.has_header("Content-Length")) {
    return fail(400, "Transfer-Encoding and Content-Length must not be used together");
  }
  std::size_t codings = 0, chunked = 0;
  bool is_last = false, is_list = true;
  request_access::for_each_line(head_.asked, "Transfer-Encoding", [&](std::string_view line) {
    for_each_element(line, [&](std::string_view one) {
      ++codings;
      is_last = equal_ignoring_case(one, "chunked");
      if (is_last) ++chunked;
      is_list = is_list && is_coding(one);
    });
  });
  if (!is_list || !is_last || chunked != 1) {
    return fail(400, "Transfer-Encoding must end with chunked, once");
  }
  if (codings > 1) return fail(501, "chunked is the only supported transfer coding");
  head_.body = framing::chunked;
  return outcome::more;
}

request_parser::outcome request_parser::check_length() {
  const std::size_t lines = request_access::count(head_.asked, "Content-Length");
  if (lines == 0) return outcome::more;
  const std::string_view text = head_.asked.header("Content-Length");
  if (lines > 1 || text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) {
    return fail(400, "Content-Length must be one decimal number");
  }
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), head_.body_bytes);
  if (error != std::errc{}) return fail(413, "the body is too large");
  if (head_.body_bytes > 0) head_.body = framing::sized;
  return outcome::more;
}

}  // namespace troupe::http::detail
