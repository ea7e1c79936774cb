// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <troupe/http/websocket.hpp>

#include "version.hpp"

namespace troupe::lua::detail {

// The messages to an instance. Those of a connection come from its session, in their order.

struct client_opened {
  std::uint64_t id = 0;
  http::websocket socket;
};

/// A text or binary message. It occupies its place in the connection's window until it is
/// destroyed. A client whose messages wait for something is therefore not read from.
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

// Messages of a WebSocket that the instance's scripts have connected.

struct connection_opened {
  std::uint64_t id = 0;
  http::websocket socket;
};

/// Holds its place as client_said does.
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

/// A time for which a script waits has come.
struct wake {
  std::uint64_t what = 0;
};

/// Something happened to what applications share: see notifier.
struct news {
  std::uint64_t what = 0;
};

/// Asks an instance to run on_stop. The reply comes when on_stop has ended.
struct wind_up {};

// ── Upgrades, in this order ───────────────────────────────────────────────────────────────────

/// The result of an upgrade. `why_not` is empty if it succeeded.
struct upgraded {
  std::string why_not;

  [[nodiscard]] std::size_t owned_bytes() const noexcept { return why_not.capacity(); }
};

/// Asks an instance to start and test another version beside the current one. The reply comes when
/// that has ended.
struct prepare {
  std::shared_ptr<const application_version> version;
};
/// Asks the instance to let that version take over.
struct take_over {
  time_point until;  // it does not take over later than this
};
/// Tells the instance to discard that version.
struct abandon {};
/// The handlers that still wait in an earlier version have exceeded their time.
struct overdue {
  unsigned version = 0;
};

}  // namespace troupe::lua::detail
