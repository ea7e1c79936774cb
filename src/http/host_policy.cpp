// SPDX-License-Identifier: Apache-2.0

#include "host_policy.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <stdexcept>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

std::string lower(std::string_view s) {
  std::string result{s};
  std::transform(result.begin(), result.end(), result.begin(), to_lower);
  return result;
}

// Without brackets and port.
std::string_view host_of(std::string_view authority) {
  const bool is_bracketed = authority.starts_with('[');
  const std::size_t end = is_bracketed ? authority.find(']') : authority.find(':');
  return authority.substr(is_bracketed ? 1 : 0, end - (is_bracketed ? 1 : 0));
}

bool is_host_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

bool is_safe_from_rebinding(std::string_view authority, std::string_view own_name) {
  const std::string host(host_of(authority));
  if (host == "localhost" || host.ends_with(".localhost") || host == own_name) return true;
  boost::system::error_code is_none;
  (void)boost::asio::ip::make_address(host, is_none);
  return !is_none;
}

host_policy::host_policy(bool check, const std::vector<std::string>& names,
                         std::string_view listens_on)
    : check_(check), listens_on_(lower(listens_on)) {
  for (const std::string& each : names) {
    names_.push_back(lower(each));
    if (is_host_name(names_.back())) continue;
    throw std::invalid_argument("host name \"" + each +
                                "\": write a name without scheme and port, as \"admin.internal\"");
  }
}

bool host_policy::allows(std::string_view host) const {
  if (!check_ || host.empty()) return true;
  const std::string authority = lower(host);
  return is_safe_from_rebinding(authority, listens_on_) ||
         std::find(names_.begin(), names_.end(), host_of(authority)) != names_.end();
}

}  // namespace troupe::http::detail
