// SPDX-License-Identifier: Apache-2.0

// Cookies: those of a request, and those that a response sets. An input has a line for the header
// Cookie, then one each for name, value, path and domain of a cookie. The last line has letters:
// 's' for secure, 'n' for same_site none, 'm' for a maximal age.

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <troupe/http/cookie.hpp>
#include <troupe/http/response.hpp>

#include "fuzz.hpp"
#include "http/text.hpp"
#include "requests.hpp"

namespace {

using namespace troupe::fuzz;
using troupe::http::request;
using troupe::http::response;
using troupe::http::set_cookie;
using troupe::http::detail::is_token;
using troupe::http::detail::trimmed;

bool is_octets(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto b = static_cast<unsigned char>(c);  // as RFC 6265 lists them
    return b == 0x21 || (b >= 0x23 && b <= 0x2b) || (b >= 0x2d && b <= 0x3a) ||
           (b >= 0x3c && b <= 0x5b) || (b >= 0x5d && b <= 0x7e);
  });
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    all.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return all;
}

// A second implementation.
std::optional<std::string_view> expected(std::string_view line, std::string_view name) {
  for (const std::string_view pair : split(line)) {
    if (!pair.starts_with(name) || !pair.substr(name.size()).starts_with('=')) continue;
    std::string_view value = pair.substr(name.size() + 1);
    const std::string_view sent = value;
    if (value.size() > 1 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    if (is_token(name) && is_octets(value)) return sent;
  }
  return std::nullopt;
}

void check_sent(const request& asked, std::string_view line, std::string_view name) {
  const auto found = asked.cookie(name);
  require(found == expected(line, name), "a cookie is the first valid pair of its name");
  if (found) {
    const std::string_view header = asked.header("Cookie");
    require(found->data() >= header.data() &&
                found->data() + found->size() <= header.data() + header.size(),
            "a cookie is a part of its header");
  }
}

void check_set(const set_cookie& one) {
  response r;
  try {
    one.add_to(r);
  } catch (const std::invalid_argument&) {
    require(r.headers.empty(), "a refused cookie leaves nothing behind");
    return;
  }
  require(r.headers.size() == 1 && r.headers.front().first == "Set-Cookie", "there is one header");
  const std::string& text = r.headers.front().second;
  require(std::none_of(text.begin(), text.end(), is_control), "a cookie is one line");
  // As a client reads it: RFC 6265, 5.2.
  const std::vector<std::string_view> parts = split(text);
  require(parts.front() == one.name + "=" + one.value, "name and value are the first part");
  const auto has = [&](const std::string& part) {
    return std::count(parts.begin(), parts.end(), std::string_view{part}) == 1;
  };
  require(has("Path=" + std::string{trimmed(one.path)}), "the path is there");
  require(one.domain.empty() || has("Domain=" + one.domain), "the domain is there");
  require(has("Secure") == one.secure && has("HttpOnly"), "the flags are there");
  const std::size_t count =
      4 + (one.domain.empty() ? 0u : 1u) + (one.secure ? 1u : 0u) + (one.max_age ? 1u : 0u);
  require(parts.size() == count, "nothing else is there");
  require(one.secure || one.site != set_cookie::same_site::none, "such a cookie would be ignored");
  const std::string name = lower(one.name);
  require(!name.starts_with("__secure-") || one.secure, "such a cookie would be ignored");
  require(!name.starts_with("__host-") || (one.secure && one.domain.empty() && one.path == "/"),
          "such a cookie would be ignored");
  // The client sends it back.
  const std::string line = "x=1; " + one.name + "=" + one.value;
  const auto asked = make_request("/", {{"Cookie", line}});
  require(asked && asked->cookie(one.name) == (one.name == "x" ? "1" : one.value),
          "a cookie that was set can be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = text_of(data, size);
  const std::string_view line = trimmed(take_line(rest));
  set_cookie one;
  one.name = take_line(rest);
  one.value = take_line(rest);
  one.path = take_line(rest);
  one.domain = take_line(rest);
  const std::string_view flags = take_line(rest);
  one.secure = flags.find('s') != std::string_view::npos;
  if (flags.find('n') != std::string_view::npos) one.site = set_cookie::same_site::none;
  if (flags.find('m') != std::string_view::npos) one.max_age = std::chrono::seconds(size);
  if (const auto asked = make_request("/", {{"Cookie", line}})) check_sent(*asked, line, one.name);
  check_set(one);
  return 0;
}
