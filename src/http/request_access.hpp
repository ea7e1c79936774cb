// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <troupe/http/request.hpp>

#include "beast.hpp"

namespace troupe::http::detail {

/// Makes requests of what Beast has parsed.
struct request_access {
  /// Takes the body out of `from`. Nothing if the target is none that can be served.
  [[nodiscard]] static std::optional<request> make(parsed_request& from, std::string_view peer,
                                                   bool secure);
};

}  // namespace troupe::http::detail
