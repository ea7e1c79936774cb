// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <troupe/http/websocket.hpp>

#include "version.hpp"

namespace troupe::lua::detail {

// What an instance is told. A connection's come from its session, in their order.

struct client_opened {
  std::uint64_t id = 0;
  http::websocket socket;
};

/// A text or a binary message. Until it is destroyed it has its place in the connection's window: a client is not
/// read whose messages wait for something.
struct client_said {
  std::uint64_t id = 0;
  bool is_text = true;
  http::text message;

  [[nodiscard]] std::size_t owned_bytes() const noexcept { return message.owned_bytes(); }
};

struct client_closed {
  std::uint64_t id = 0;
  std::uint16_t code = 0;
  std::string reason;
};

// Of a WebSocket that its scripts have connected.

struct connection_opened {
  std::uint64_t id = 0;
  http::websocket socket;
};

/// As client_said.
struct connection_said {
  std::uint64_t id = 0;
  bool is_text = true;
  http::text message;

  [[nodiscard]] std::size_t owned_bytes() const noexcept { return message.owned_bytes(); }
};

struct connection_closed {
  std::uint64_t id = 0;
  std::uint16_t code = 0;
  std::string reason;
};

/// What a script has waited for by time.
struct wake {
  std::uint64_t what = 0;
};

/// Of what applications share: see teller.
struct news {
  std::uint64_t what = 0;
};

/// Asks an instance to run on_stop: the answer comes when that has ended.
struct wind_up {};

// ── Upgrades, in this order ───────────────────────────────────────────────────────────────────

/// What has become of it. `why_not` is empty if all is well.
struct upgraded {
  std::string why_not;

  [[nodiscard]] std::size_t owned_bytes() const noexcept { return why_not.capacity(); }
};

/// Asks an instance to start and test another version beside the one that runs: the answer comes when that has ended.
struct prepare {
  std::shared_ptr<const application_version> version;
};
/// Asks it to let that one take over.
struct take_over {
  time_point until;  // later it does not
};
/// Tells it not to.
struct abandon {};
/// What still waits in an earlier version has waited long enough.
struct overdue {
  unsigned version = 0;
};

}  // namespace troupe::lua::detail
