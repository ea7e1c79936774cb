// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include <troupe/http/limits.hpp>
#include <troupe/sync/mutex.hpp>

#include "client_address.hpp"

namespace troupe::http::detail {

/// Counts connections, in all and by where they come from.
///
/// The connection of a trusted proxy belongs to no client. It counts for a client while it serves a
/// request or a WebSocket of that client.
///
/// Threads:   any.
/// Invariant: every leave() was preceded by an enter() of the same address that said yes. The same
///            holds for leave_proxy() and leave_client().
class admission {
 public:
  enum class verdict : std::uint8_t { yes, full, too_many_from_there };
  using address = ip_address;

  explicit admission(const limits& bounds)
      : all_max_(bounds.connections_max), each_max_(bounds.connections_per_address_max) {}

  verdict enter(const address& from);
  void leave(const address& from) noexcept;

  /// The connection of a trusted proxy.
  verdict enter_proxy();
  void leave_proxy() noexcept;

  /// A client on such a connection. False: it has too many.
  [[nodiscard]] bool enter_client(const client_key& who);
  void leave_client(const client_key& who) noexcept;

  [[nodiscard]] std::size_t inside() const;

 private:
  [[nodiscard]] bool enter_each(const client_key& who);
  void leave_each(const client_key& who) noexcept;

  const std::size_t all_max_;
  const std::size_t each_max_;
  mutable mutex mutex_;  // guards what follows
  std::size_t all_ = 0;
  std::unordered_map<client_key, std::size_t, client_key_hash> each_;  // none is 0
};

/// The place of a client on the connection of a trusted proxy, until this is destroyed.
///
/// Threads: one at a time.
class client_place {
 public:
  client_place() = default;
  client_place(client_place&& other) noexcept
      : in_(std::exchange(other.in_, nullptr)), who_(other.who_) {}
  client_place& operator=(client_place&& other) noexcept {
    leave();
    in_ = std::exchange(other.in_, nullptr);
    who_ = other.who_;
    return *this;
  }
  ~client_place() { leave(); }

  /// False: the client has too many places. `in` must outlive this.
  [[nodiscard]] bool enter(admission& in, const client_key& who) {
    leave();
    if (!in.enter_client(who)) return false;
    in_ = &in;
    who_ = who;
    return true;
  }
  void leave() noexcept {
    if (in_ != nullptr) std::exchange(in_, nullptr)->leave_client(who_);
  }

 private:
  admission* in_ = nullptr;
  client_key who_;
};

}  // namespace troupe::http::detail
