// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <troupe/http/options.hpp>
#include <troupe/http/request.hpp>

#include "client_address.hpp"
#include "trusted_proxies.hpp"

// The client's address in a request that came through proxies: Forwarded (RFC 7239) and
// X-Forwarded-For. Each proxy adds the address that it was connected from at the end of the list,
// so the list is read from its end. It is believed as far as trusted proxies have written it: the
// first address that is not trusted is the client's, and what is before it is not read.
//
// A proxy may hide the address: "unknown", an identifier as "_hidden", or no "for" at all. The
// client then counts as that proxy.

namespace troupe::http::detail {

/// The lines of one header, in order. `peer` is the trusted proxy that the connection came from.
/// Nothing if a part that is to be believed is malformed.
///
/// Cost: linear in the lines that are read.
[[nodiscard]] std::optional<ip_address> client_in_forwarded(std::span<const std::string_view> lines,
                                                            const ip_address& peer,
                                                            const trusted_proxies& by);
[[nodiscard]] std::optional<ip_address> client_in_x_forwarded_for(
    std::span<const std::string_view> lines, const ip_address& peer, const trusted_proxies& by);

/// The client of a request that came from the trusted proxy `peer`. Without these headers it is the
/// proxy itself. Nothing if a header is malformed, or if both are there and disagree: then one of
/// them may be the client's own.
[[nodiscard]] std::optional<ip_address> client_of(const request& asked, const ip_address& peer,
                                                  const trusted_proxies& by, proxy_header which);

}  // namespace troupe::http::detail
