// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <troupe/http/client_options.hpp>

#include "text.hpp"

namespace troupe::http {
namespace {

[[noreturn]] void refuse(const std::string& which, std::string_view why) {
  throw std::invalid_argument("\"" + which + "\" " + std::string(why) +
                              ": write \"example.org:443\", \"example.org\", \"*.example.org\", "
                              "\"10.0.0.7:80\" or \"[::1]:80\"");
}

std::uint16_t port_of(const std::string& whole, std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port == 0) {
    refuse(whole, "has an invalid port; allowed are 1 to 65535");
  }
  return port;
}

bool is_of_host(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_of_ipv6(char c) noexcept {
  return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

}  // namespace

allowed_hosts allowed_hosts::only(const std::vector<std::string>& these) {
  allowed_hosts result(false);
  result.given_ = these;
  for (const std::string& each : these) {
    pattern its;
    std::string_view rest = each;
    const bool is_ipv6 = rest.starts_with('[');
    if (is_ipv6) {
      const std::size_t end = rest.find(']');
      if (end == std::string_view::npos) refuse(each, "has no ']'");
      its.host = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
      if (!rest.empty() && !rest.starts_with(':')) refuse(each, "has unexpected text after ']'");
    } else {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      its.host = rest.substr(0, colon);
      rest.remove_prefix(colon);
    }
    if (!rest.empty()) its.port = port_of(each, rest.substr(1));
    std::transform(its.host.begin(), its.host.end(), its.host.begin(), detail::to_lower);
    if (!is_ipv6 && its.host.starts_with("*.")) its.host.erase(0, 1);
    const bool is_host = its.host.size() > 1 || (its.host.size() == 1 && its.host != ".");
    if (!is_host ||
        !std::all_of(its.host.begin(), its.host.end(), is_ipv6 ? is_of_ipv6 : is_of_host)) {
      refuse(each, "is not a valid host");
    }
    result.patterns_.push_back(std::move(its));
  }
  return result;
}

bool allowed_hosts::allow(std::string_view host, std::uint16_t port) const noexcept {
  if (all_) return true;
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const pattern& p) {
    if (p.port != 0 && p.port != port) return false;
    if (!p.host.starts_with('.')) return detail::equal_ignoring_case(p.host, host);
    return host.size() > p.host.size() &&
           detail::equal_ignoring_case(host.substr(host.size() - p.host.size()), p.host);
  });
}

}  // namespace troupe::http
