// SPDX-License-Identifier: Apache-2.0

#include "requests.hpp"

#include "http/request_access.hpp"

namespace troupe::fuzz {

std::optional<http::request> make_request(std::string_view target, const headers& all,
                                          std::string body) {
  http::detail::parsed_request parsed;
  parsed.method_string("GET");
  parsed.target(target);
  for (const auto& [name, value] : all) parsed.insert(name, value);
  parsed.body() = std::move(body);
  return http::detail::request_access::make(parsed, "peer", false);
}

}  // namespace troupe::fuzz
