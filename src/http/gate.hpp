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
#include "site.hpp"

namespace troupe::http::detail {

/// How the server's own actors are spawned: what they are sent is bounded by the connections that there
/// are, and none of it may be refused.
[[nodiscard]] inline spawn_options without_limits(pump& on) {
  return {.where = bound_to(on), .max_messages = no_limit, .max_bytes = no_limit};
}

/// Lets connections in, knows all of them, and sees them out.
///
/// It takes the next connection from its listener when it is done with the one before. Whom it has
/// no room for gets an answer too, as long as not too many are being told so at once.
///
/// Threads:   bound to the first loop.
/// Invariant: every connection is here from its spawn to its `down`. Once it drains or cuts, nobody
///            comes in any more, and it ends with the last connection.
class gate : public actor {
 public:
  static constexpr std::size_t refusals_at_once_max = 64;

  gate(std::shared_ptr<const site> on, std::vector<net::loop*> loops, net::acceptor acceptor);

  /// Let them finish.
  struct drain {};
  /// Let them go at once.
  struct cut {};

  void on_start();
  void on(net::accepted m);
  void on(const net::accept_paused&);
  void on(const down& m);
  void on(drain);
  void on(cut);

 private:
  /// A connection that is secured, or one that is not: all of a server are alike.
  using guest = std::variant<ref<connection>, ref<secure_connection>>;
  struct visitor {
    std::uint64_t number;  // in the order in which they came
    guest who;
    admission::address from;
    entry as;
  };

  void accept_next();
  void admit(net::accepted m);
  [[nodiscard]] guest spawn(net::accepted m, const visitor& v);
  bool give_place(visitor& v);
  void take_place_back(const visitor& v);
  void shut();
  void end_when_empty();
  [[nodiscard]] std::vector<guest> in_order() const;

  const std::shared_ptr<const site> on_;
  const std::vector<net::loop*> loops_;
  std::size_t next_loop_ = 0;
  net::acceptor acceptor_;  // until on_start
  ref<net::listener> listener_;
  admission admission_;
  std::unordered_map<address, visitor> visitors_;
  std::uint64_t came_ = 0;
  std::size_t refusals_ = 0;
  bool shut_ = false;
};

}  // namespace troupe::http::detail
