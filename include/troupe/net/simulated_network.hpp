// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <troupe/base/clock.hpp>

namespace troupe::net {

struct simulated_network_options {
  /// The latency of a byte. The simulation chooses it between these values for each piece that is
  /// written. Later pieces do not overtake earlier ones.
  duration latency_min = std::chrono::microseconds(50);
  duration latency_max = std::chrono::milliseconds(5);

  /// The maximum number of bytes sent and not yet read, for each direction; if it is reached,
  /// writing waits.
  std::size_t socket_bytes = 64 * 1024;

  // Faults. Like everything in a simulation, each is a choice: it occurs with a probability of one
  // in the given number; 0: never.

  /// A piece arrives in two parts.
  unsigned splits_one_in = 4;
  /// A connection attempt is refused, as if the port were closed.
  unsigned refuses_one_in = 0;
  /// The connection is reset instead of sending a piece.
  unsigned resets_one_in = 0;
  /// After a piece, the connecting side closes its sending direction, and continues to read.
  unsigned half_closes_one_in = 0;
  /// The connecting side reads slowly, during the whole connection.
  unsigned slow_readers_one_in = 0;
  std::size_t slow_bytes_per_second = 1024;
};

struct simulated_network_statistics {
  std::uint64_t connected = 0;
  std::uint64_t refused = 0;
  std::uint64_t resets = 0;  // chosen by the simulation, not caused by the program
  std::uint64_t half_closes = 0;
  std::uint64_t slow_readers = 0;
  std::uint64_t splits = 0;
  std::uint64_t bytes = 0;
};

/// The network of a simulation. While it exists, sockets created in this thread's simulation belong
/// to it. A connecting socket (net::socket::async_connect()) reaches the listener (net::listen(),
/// http::server::start()) with its port, whatever the addresses are. No data leaves the process.
///
///   sim::simulation sim(seed);
///   net::simulated_network network({.resets_one_in = 1000});
///   system …; http::server …
///
/// It behaves like TCP: bytes arrive in order, in pieces of any size; closing one direction ends
/// the stream; closing with unread data, or receiving data after closing, resets the connection; a
/// reset may overtake data sent before.
///
/// Threads:   the simulation's.
/// Invariant: created after the simulation; destroyed before it, and after the io_contexts of its
///            sockets.
/// Errors:    std::logic_error if the thread has no simulation, or already has a network.
/// Cost:      written data is copied once. Each piece takes one or two choices, and some memory
///            until it arrives.
class simulated_network {
 public:
  explicit simulated_network(simulated_network_options options = {});
  simulated_network(const simulated_network&) = delete;
  simulated_network& operator=(const simulated_network&) = delete;
  ~simulated_network();

  [[nodiscard]] simulated_network_statistics statistics() const noexcept;

  class state;

 private:
  const std::unique_ptr<state> state_;
};

}  // namespace troupe::net
