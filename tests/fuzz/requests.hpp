// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/http/request.hpp>

namespace troupe::fuzz {

using headers = std::vector<std::pair<std::string_view, std::string_view>>;

/// A request as a connection creates it from the bytes it has read. Nothing if the target is
/// invalid. The method is GET, and the peer "peer".
[[nodiscard]] std::optional<http::request> make_request(std::string_view target,
                                                        const headers& all = {},
                                                        std::string body = {});

}  // namespace troupe::fuzz
