// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <troupe/http/options.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/troupe.hpp>

#include "origin.hpp"
#include "router.hpp"
#include "tally.hpp"
#include "tls_context.hpp"

namespace troupe::http::detail {

/// What all connections of one server share.
///
/// Threads: the server's thread fills it before the first connection; then any. Only counts,
///          the certificate and draining still change.
struct site {
  site(troupe::system& on, http::options opts)
      : system(on),
        options(std::move(opts)),
        is_secure(options.tls.is_set()),
        origins(options.check_origin, options.allowed_origins, is_secure) {
    if (is_secure) tls.set(tls_context::for_server(options.tls));
  }

  [[nodiscard]] const http::limits& limits() const noexcept { return options.limits; }

  troupe::system& system;
  const http::options options;
  const bool is_secure;
  const origin_policy origins;
  router routes;
  mutable tally counts;
  current_tls tls;               // if it is secure
  atomic<bool> draining{false};  // for health checks
};

}  // namespace troupe::http::detail
