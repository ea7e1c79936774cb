// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <troupe/http/handler.hpp>
#include <troupe/http/middleware.hpp>

namespace troupe::http::detail {

/// The middleware of one route, the outermost first, and its handler.
struct middleware_chain {
  std::vector<middleware> around;
  handler inside;
};

/// Returns the handler with the middleware around it; itself if there is no middleware.
[[nodiscard]] handler wrapped(const std::vector<middleware>& around, const handler& inside);

}  // namespace troupe::http::detail
