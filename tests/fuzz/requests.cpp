// SPDX-License-Identifier: Apache-2.0

#include "requests.hpp"

#include "http/request_access.hpp"

namespace troupe::fuzz {

std::optional<http::request> make_request(std::string_view target, const headers& all,
                                          std::string body) {
  const std::vector<std::pair<std::string, std::string>> sent(all.begin(), all.end());
  http::request made = http::detail::request_access::make("GET", target, sent, "peer", false);
  if (made.path().empty()) return std::nullopt;
  http::detail::request_access::set_body(made, std::move(body));
  return made;
}

}  // namespace troupe::fuzz
