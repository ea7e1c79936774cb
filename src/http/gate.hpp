// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

#include <troupe/net/listener.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/troupe.hpp>

#include "admission.hpp"
#include "connection.hpp"
#include "server_context.hpp"

namespace troupe::http::detail {

/// Admits connections, tracks all of them, and drains them.
///
/// It accepts the next connection from its listener when it is done with the previous one. A client
/// that cannot be admitted gets a response too, as long as not too many such responses are being
/// written at once.
///
/// A lack of memory costs a connection and not the gate: asking for the next one needs none, and
/// neither does the end of a connection. An actor that could not be monitored is monitored later.
///
/// Threads:   bound to the first loop.
/// Invariant: every connection is listed here from its spawn to its `down`. Once the gate drains or
///            cuts, it admits no more connections, and it stops when the last one and the listener
///            have ended: nothing listens any more, and another server may use the same port.
class gate : public actor {
 public:
  static constexpr std::size_t refusals_at_once_max = 64;

  gate(std::shared_ptr<const server_context> on, std::vector<net::loop*> loops,
       net::acceptor acceptor);

  /// Lets the connections complete.
  struct drain {};
  /// Closes the connections at once.
  struct cut {};

  void on_start();
  void on(net::accepted m);
  void on(const net::accept_paused&);
  void on(const down& m);
  void on(drain);
  void on(cut);

 private:
  /// A connection with or without TLS. All connections of one server are of the same kind.
  using guest = std::variant<ref<connection>, ref<secure_connection>>;
  struct visitor {
    std::uint64_t number;  // in the order of arrival
    guest who;
    admission::address from;
    entry as;
    bool is_proxy = false;  // a trusted one
    visitor* next_unwatched = nullptr;
  };

  void accept_next();
  void admit(net::accepted m);
  void watch_the_rest() noexcept;
  [[nodiscard]] bool is_too_frequent(const visitor& v);
  [[nodiscard]] guest spawn(net::accepted m, const visitor& v);
  bool give_place(visitor& v);
  void take_place_back(const visitor& v);
  void shut();
  void end_when_empty();
  [[nodiscard]] std::vector<guest> in_order() const;

  const std::shared_ptr<const server_context> on_;
  const std::vector<net::loop*> loops_;
  std::size_t next_loop_ = 0;
  net::accept_request next_;
  const ref<net::listener> listener_;
  bool is_listener_watched_ = false;
  bool has_listener_ended_ = false;
  std::unordered_map<address, visitor> visitors_;
  visitor* unwatched_ = nullptr;  // the newest of those that there was no memory to watch
  std::uint64_t came_ = 0;
  std::size_t refusals_ = 0;
  bool shut_ = false;
};

}  // namespace troupe::http::detail
