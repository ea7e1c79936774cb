// SPDX-License-Identifier: Apache-2.0

#include "origin.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <optional>
#include <stdexcept>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

struct parts {
  std::string scheme;
  std::string authority;  // without the scheme's own port
};

std::string lower(std::string_view s) {
  std::string result{s};
  std::transform(result.begin(), result.end(), result.begin(), to_lower);
  return result;
}

// Browsers omit the scheme's own port from Origin and Host; other clients may write it.
std::string without_port(std::string_view authority, std::string_view scheme) {
  const std::string_view own = scheme == "https" || scheme == "wss" ? ":443" : ":80";
  if (authority.ends_with(own)) authority.remove_suffix(own.size());
  return std::string{authority};
}

std::optional<parts> parse(std::string_view origin) {
  constexpr std::string_view separator = "://";
  const std::size_t at = origin.find(separator);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view authority = origin.substr(at + separator.size());
  if (authority.empty() || authority.find_first_of("/?#@ ") != std::string_view::npos) {
    return std::nullopt;
  }
  std::string scheme = lower(origin.substr(0, at));
  std::string rest = without_port(lower(authority), scheme);
  if (rest.empty() || rest.front() == ':') return std::nullopt;
  return parts{std::move(scheme), std::move(rest)};
}

}  // namespace

origin_policy::origin_policy(bool check, const std::vector<std::string>& allowed, bool is_secure,
                             std::string_view listens_on)
    : check_(check), is_secure_(is_secure), listens_on_(lower(listens_on)) {
  for (const std::string& one : allowed) {
    const auto p = parse(one);
    if (!p)
      throw std::invalid_argument("allowed origin \"" + one + "\": write scheme://host[:port]");
    allowed_.push_back(p->scheme + "://" + p->authority);
  }
}

bool origin_policy::allows(std::string_view origin, std::string_view host) const {
  if (!check_ || origin.empty()) return true;
  const auto from = parse(origin);  // empty for "null", which a sandboxed page sends
  if (!from) return false;
  const bool may_be_own = from->scheme == "https" || (!is_secure_ && is_own(from->authority));
  if (may_be_own && from->authority == without_port(lower(host), from->scheme)) return true;
  return std::find(allowed_.begin(), allowed_.end(), from->scheme + "://" + from->authority) !=
         allowed_.end();
}

// Returns true if no attacker can make this name resolve to the server.
bool origin_policy::is_own(std::string_view authority) const {
  const bool is_bracketed = authority.starts_with('[');
  const std::size_t end = is_bracketed ? authority.find(']') : authority.find(':');
  const std::string name(authority.substr(is_bracketed ? 1 : 0, end - (is_bracketed ? 1 : 0)));
  if (name == "localhost" || name.ends_with(".localhost") || name == listens_on_) return true;
  boost::system::error_code is_none;
  (void)boost::asio::ip::make_address(name, is_none);
  return !is_none;
}

}  // namespace troupe::http::detail
