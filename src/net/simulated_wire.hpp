// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/actor/conductor.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/net/simulated_network.hpp>
#include <troupe/sync/per_thread.hpp>

#include "simulated_network_access.hpp"

namespace troupe::net {

/// All connections, and the data in flight.
class simulated_network::state final : public troupe::detail::chore {
 public:
  explicit state(const simulated_network_options& options)
      : options_(options), by_(troupe::detail::conductor::here()) {
    if (by_ == nullptr) {
      throw std::logic_error(
          "troupe: a net::simulated_network needs a simulation on this thread: create the "
          "simulation first");
    }
    if (here() != nullptr) {
      throw std::logic_error(
          "troupe: this thread already has a net::simulated_network: use that one");
    }
    if (options_.latency_max < options_.latency_min || options_.latency_min < duration::zero()) {
      throw std::invalid_argument(
          "simulated_network_options: 0 <= latency_min <= latency_max must hold");
    }
    if (options_.socket_bytes == 0 || options_.slow_bytes_per_second == 0) {
      throw std::invalid_argument(
          "simulated_network_options: socket_bytes and slow_bytes_per_second must be positive");
    }
    here() = this;
    by_->opened(*this);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    TROUPE_EXPECTS(sockets == 0,
                   "sockets outlive their net::simulated_network: destroy the sockets and their "
                   "io_contexts first");
    by_->closed(*this);
    here() = nullptr;
  }

  [[nodiscard]] static state*& here() noexcept {
    return per_thread<of_this_thread>::here().network;
  }

  /// Delivers, in order, what is due; returns when the next item is due.
  time_point look() noexcept override {
    const time_point now = clock::now();
    while (!due_.empty() && due_.begin()->first <= now) {
      const auto next = due_.extract(due_.begin());
      next.mapped()();
    }
    return due_.empty() ? time_point::max() : due_.begin()->first;
  }

  void at(time_point when, std::function<void()> what) { due_.emplace(when, std::move(what)); }

  [[nodiscard]] duration latency() {
    const auto chosen =
        static_cast<duration::rep>(by_->choose(latency_steps, "how long a piece is on its way"));
    return options_.latency_min + (options_.latency_max - options_.latency_min) * chosen /
                                      static_cast<duration::rep>(latency_steps - 1);
  }
  [[nodiscard]] bool fault_occurs(unsigned one_in, const char* of) {
    return by_->fault_occurs(one_in, of);
  }
  [[nodiscard]] std::size_t choose(std::size_t count, const char* of) {
    return by_->choose(count, of);
  }
  void note(std::uint64_t connection, std::string_view what) {
    by_->note("connection " + std::to_string(connection), what);
  }

  [[nodiscard]] const simulated_network_options& options() const noexcept { return options_; }

  /// Returns a port on which no socket listens.
  [[nodiscard]] std::uint16_t free_port() {
    do {
      last_port_ =
          last_port_ == 65535 ? first_port_chosen : static_cast<std::uint16_t>(last_port_ + 1);
    } while (listeners.contains(last_port_));
    return last_port_;
  }

  simulated_network_statistics counts;
  std::map<std::uint16_t, detail::listening*> listeners;
  std::size_t sockets = 0;  // including acceptors: the objects that refer to this

 private:
  struct of_this_thread {
    state* network = nullptr;
  };
  static constexpr std::size_t latency_steps = 16;
  static constexpr std::uint16_t first_port_chosen = 49152;

  const simulated_network_options options_;
  troupe::detail::conductor* const by_;
  std::multimap<time_point, std::function<void()>> due_;
  std::uint16_t last_port_ = first_port_chosen;
};

}  // namespace troupe::net
