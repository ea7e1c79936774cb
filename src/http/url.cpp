// SPDX-License-Identifier: Apache-2.0

#include "url.hpp"

#include <algorithm>
#include <array>

// Compiles Boost.URL here, so that nothing has to be linked.
#define BOOST_URL_NO_LIB
#include <boost/url/src.hpp>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

namespace urls = boost::urls;

constexpr std::size_t url_bytes_max = 8 * 1024;

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  return lower;
}

std::string_view plain(urls::string_view of) { return {of.data(), of.size()}; }

// The characters of a DNS name, and those that occur in host names in practice.
bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 200;
  std::string result = "'";
  for (const char c : text.substr(0, most)) result += c < 0x20 || c == 0x7f ? '?' : c;
  return result += text.size() > most ? "…'" : "'";
}

url_or_problem taken_apart(const urls::url_view_base& of, std::string_view text, scheme_kind kind) {
  const auto wrong = [&](std::string_view why) {
    return std::string("the URL ") + shown(text) + " " + std::string(why);
  };
  const bool is_http = kind == scheme_kind::http;
  const std::string scheme = lowered(plain(of.scheme()));
  url result;
  result.is_secure = scheme == (is_http ? "https" : "wss");
  if (!result.is_secure && scheme != (is_http ? "http" : "ws")) {
    return wrong(is_http ? "must begin with http:// or https://"
                         : "must begin with ws:// or wss://");
  }
  if (of.has_userinfo()) {
    return wrong("contains a user name: use the Authorization header instead");
  }
  switch (of.host_type()) {
    case urls::host_type::ipv6:
      result.host = lowered(plain(of.host_address()));
      break;
    case urls::host_type::ipv4:
      result.host = plain(of.encoded_host());
      break;
    default:
      result.host = lowered(plain(of.encoded_host()));
      if (!is_host_name(result.host)) {
        return wrong(
            "has an invalid host; write a name such as 'example.org', and other letters as "
            "'xn--…'");
      }
  }
  result.port = result.is_secure ? 443 : 80;
  if (of.has_port() && !of.port().empty()) {
    if (of.port_number() == 0) return wrong("has an invalid port; allowed are 1 to 65535");
    result.port = of.port_number();
  }
  result.target = plain(of.encoded_path());
  if (result.target.empty()) result.target = "/";
  if (of.has_query()) result.target.append("?").append(plain(of.encoded_query()));
  return result;
}

}  // namespace

std::string url::authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (is_secure ? 443 : 80)) text.append(":").append(std::to_string(port));
  return text;
}

std::string url::origin() const {
  std::string text = is_secure ? "https://" : "http://";
  text += host.find(':') == std::string::npos ? host : "[" + host + "]";
  return text.append(":").append(std::to_string(port));
}

std::string url::text() const {
  std::string text = is_secure ? "https://" : "http://";
  return text.append(authority()).append(target);
}

url_or_problem parse_url(std::string_view text, scheme_kind of) {
  if (text.size() > url_bytes_max) return std::string("the URL is longer than 8192 bytes");
  const auto parsed = urls::parse_uri(urls::string_view(text.data(), text.size()));
  if (!parsed) {
    return "the URL " + shown(text) +
           " is invalid: other characters must be percent-encoded, for example a space as %20";
  }
  if (!parsed->has_authority()) return "the URL " + shown(text) + " has no host";
  return taken_apart(*parsed, text, of);
}

url_or_problem redirected(const url& from, std::string_view location) {
  if (location.size() > url_bytes_max) return std::string("the URL is longer than 8192 bytes");
  const std::string text = from.text();
  const auto base = urls::parse_uri(urls::string_view(text.data(), text.size()));
  const auto to = urls::parse_uri_reference(urls::string_view(location.data(), location.size()));
  if (!base || !to) return "the URL " + shown(location) + " is invalid";
  urls::url result;
  if (!urls::resolve(*base, *to, result))
    return "the URL " + shown(location) + " cannot be resolved";
  if (!result.has_authority()) return "the URL " + shown(location) + " has no host";
  return taken_apart(result, location, scheme_kind::http);
}

}  // namespace troupe::http::detail
