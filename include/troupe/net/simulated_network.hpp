// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <troupe/base/clock.hpp>

namespace troupe::net {

struct simulated_network_options {
  /// How long a byte is on its way: something between these, chosen for each piece that is written; what is
  /// written later does not come before.
  duration latency_min = std::chrono::microseconds(50);
  duration latency_max = std::chrono::milliseconds(5);

  /// What is on its way and not read yet, of each direction; then writing waits.
  std::size_t socket_bytes = 64 * 1024;

  // What may happen, once in so many times; 0: never. By choice, as all in a simulation.

  /// A piece arrives in two.
  unsigned splits_one_in = 4;
  /// Who connects is refused, as if nobody listened.
  unsigned refuses_one_in = 0;
  /// Instead of a piece, the connection is reset.
  unsigned resets_one_in = 0;
  /// Behind a piece of who has connected, he sends nothing any more, and reads on.
  unsigned half_closes_one_in = 0;
  /// Who connects reads slowly, as long as the connection is there.
  unsigned slow_readers_one_in = 0;
  std::size_t slow_bytes_per_second = 1024;
};

struct simulated_network_statistics {
  std::uint64_t connected = 0;
  std::uint64_t refused = 0;
  std::uint64_t resets = 0;  // chosen by the simulation, not by a program that closed hard
  std::uint64_t half_closes = 0;
  std::uint64_t slow_readers = 0;
  std::uint64_t splits = 0;
  std::uint64_t bytes = 0;
};

/// As long as there is one, the sockets that are made in this thread's simulation are of this network and no other:
/// what listens (net::listen(), http::server::start()) is reached by what connects (net::socket::async_connect()),
/// whatever the addresses are, by its port. Nothing leaves the process.
///
///   sim::simulation sim(seed);
///   net::simulated_network network({.resets_one_in = 1000});
///   system …; http::server …
///
/// Like TCP: bytes arrive in order, in pieces of any size; an end of one direction is an end of the stream; who
/// closes and has not read everything, or is written to, resets the connection; a reset may overtake what was sent.
///
/// Threads: the simulation's.
/// Invariant: made after the simulation, ends before it, and after the io_contexts that its sockets are on.
/// Errors:  std::logic_error if the thread has no simulation, or has a network already.
/// Cost:    what is written is copied once; a choice or two for each piece, and some memory until it arrives.
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
