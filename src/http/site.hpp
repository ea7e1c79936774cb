// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <troupe/http/options.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/troupe.hpp>

#include "origin.hpp"
#include "router.hpp"
#include "tally.hpp"

namespace troupe::http::detail {

/// What all connections of one server share.
///
/// Threads: the server's thread fills it before the first connection; then any. Only counts and
///          draining still change.
struct site {
  site(troupe::system& on, http::options opts)
      : system(on),
        options(std::move(opts)),
        origins(options.check_origin, options.allowed_origins) {}

  [[nodiscard]] const http::limits& limits() const noexcept { return options.limits; }

  troupe::system& system;
  const http::options options;
  const origin_policy origins;
  router routes;
  mutable tally counts;
  atomic<bool> draining{false};  // for health checks
};

}  // namespace troupe::http::detail
