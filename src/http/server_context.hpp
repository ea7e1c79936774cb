// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include <troupe/detail/sync/atomic.hpp>
#include <troupe/http/options.hpp>
#include <troupe/troupe.hpp>

#include "admission.hpp"
#include "body_budget.hpp"
#include "byte_share.hpp"
#include "host_policy.hpp"
#include "listen_address.hpp"
#include "origin.hpp"
#include "rate_limiter.hpp"
#include "router.hpp"
#include "tally.hpp"
#include "tls_context.hpp"
#include "trusted_proxies.hpp"
#include "unfinished_handlers.hpp"

namespace troupe::http::detail {

/// The state that all connections of one server share.
///
/// Threads: the server's thread fills it before the first connection; then any. Only counts,
///          places, rates, budget, the certificate and draining still change.
struct server_context {
  server_context(troupe::system& on, http::options opts)
      : system(on),
        options(std::move(opts)),
        is_secure(options.tls.is_set()),
        is_unix(is_unix_address(options.address)),
        origins(options.check_origin, options.allowed_origins, is_secure, options.address),
        hosts(options.check_host, options.host_names, options.address),
        proxies(options.trusted_proxies),
        places(options.limits),
        rates(options.limits, options.loops),
        bodies(std::max(options.limits.request_bodies_bytes, options.limits.body_bytes)),
        send_queues(std::make_shared<byte_gauge>(options.limits.send_queues_bytes)),
        partial_messages(std::make_shared<byte_gauge>(options.limits.partial_messages_bytes)),
        upgrade_requests(std::make_shared<byte_gauge>(options.limits.upgrade_requests_bytes)) {
    if (is_secure) tls.set(tls_context::for_server(options.tls));
  }

  [[nodiscard]] const http::limits& limits() const noexcept { return options.limits; }

  [[nodiscard]] statistics snapshot() const noexcept {
    statistics all = counts.snapshot();
    all.request_body_bytes = bodies.taken();
    all.upgrade_request_bytes = upgrade_requests->used();
    all.rate_addresses = rates.addresses();
    all.rate_addresses_evicted = rates.evicted();
    return all;
  }

  troupe::system& system;
  const http::options options;
  const bool is_secure;
  const bool is_unix;  // its clients have no addresses
  const origin_policy origins;
  const host_policy hosts;
  const trusted_proxies proxies;
  router routes;
  mutable tally counts;
  mutable admission places;  // of connections
  mutable rate_limiter rates;
  mutable body_budget bodies;                     // of requests
  const std::shared_ptr<byte_gauge> send_queues;  // of channels, which may outlive the server
  const std::shared_ptr<byte_gauge> partial_messages;
  const std::shared_ptr<byte_gauge> upgrade_requests;  // as long as their channels
  current_tls tls;                                     // if it is secure
  atomic<bool> draining{false};                        // for health checks
  mutable unfinished_handlers unfinished;              // of connections that have ended
  // [handlers] relaxed: an amount that publishes nothing.
  mutable atomic<std::size_t> handlers_alive{0};
};

}  // namespace troupe::http::detail
