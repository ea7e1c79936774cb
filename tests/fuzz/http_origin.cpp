// SPDX-License-Identifier: Apache-2.0

// The origins from which a browser may open a WebSocket. An input has a line each for the header
// Origin, the header Host and an allowed origin.

#include "http/origin.hpp"

#include <stdexcept>

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using troupe::http::detail::origin_policy;

// A second implementation: by all hosts with the same meaning.
bool is_same_host(std::string_view origin, std::string_view host) {
  const std::size_t at = origin.find("://");
  if (at == std::string_view::npos || at == 0) return false;
  const std::string scheme = lower(origin.substr(0, at));
  const std::string authority = lower(origin.substr(at + 3));
  const std::string port = scheme == "https" || scheme == "wss" ? ":443" : ":80";
  const std::string asked = lower(host);
  return authority == asked || authority + port == asked || authority == asked + port;
}

void check_own_host(std::string_view origin, std::string_view host) {
  const origin_policy policy{true, {}};
  const bool allowed = policy.allows(origin, host);
  require(policy.allows(upper(origin), upper(host)) == allowed, "capitals make no difference");
  require((origin_policy{false, {}}.allows(origin, host)), "switched off it lets all pass");
  const bool allowed_with_tls = origin_policy{true, {}, true}.allows(origin, host);
  if (origin.empty()) {
    return require(allowed && allowed_with_tls, "who sends no origin is no browser");
  }
  const std::string_view name = origin.substr(std::min(origin.size(), origin.find("://") + 3));
  const bool is_plain = !lower(origin).starts_with("https://");
  if (is_plain && allowed) {
    // "localhost", "x.localhost", "127.0.0.1", "[::1]": names that an attacker cannot control.
    require(name.starts_with('[') || lower(name).find("localhost") != std::string::npos ||
                name.find_first_not_of("0123456789.:") == std::string_view::npos,
            "without TLS a name counts only if nobody can have it resolve to the server");
  }
  if (!allowed) return require(!allowed_with_tls, "with TLS, no other host may either");
  require(allowed_with_tls == lower(origin).starts_with("https://"), "with TLS, by https alone");
  require(is_same_host(origin, host), "another host may not");
  const std::string_view authority = origin.substr(origin.find("://") + 3);
  require(!authority.empty() && authority.front() != ':', "an origin has a host");
  require(authority.find_first_of("/?#@ ") == std::string_view::npos,
          "an origin is nothing but scheme, host and port");
}

void check_allowed(std::string_view origin, std::string_view host, const std::string& listed) {
  try {
    const origin_policy policy{true, {listed}};
    require(policy.allows(listed, ""), "what is listed may, whatever host it asks");
    require(policy.allows(upper(listed), host), "in capitals too");
    require(!policy.allows("null", "null"), "a page without an origin may not");
    if ((origin_policy{true, {}}.allows(origin, host))) {
      require(policy.allows(origin, host), "a list forbids nothing");
    }
  } catch (const std::invalid_argument& why) {
    require(std::string_view{why.what()}.find(listed.c_str()) != std::string_view::npos,
            "the error says what was listed");
    const std::size_t at = listed.find("://");
    if (listed.empty() || at == std::string::npos) return;
    require(!(origin_policy{true, {}}.allows(listed, listed.substr(at + 3))),
            "what cannot be listed is no origin");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = text_of(data, size);
  const std::string_view origin = take_line(rest);
  const std::string_view host = take_line(rest);
  check_own_host(origin, host);
  check_allowed(origin, host, std::string{rest});
  return 0;
}
