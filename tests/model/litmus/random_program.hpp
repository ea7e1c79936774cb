// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>
#include <vector>

#include "program.hpp"

namespace troupe::model::axioms {

inline constexpr std::size_t locations_max = 3;
inline constexpr std::size_t threads_most = 4;
inline constexpr std::size_t operations_max = 3;  // for each thread
inline constexpr std::size_t operations_of_all = 7;

/// Generates the same program from the same seed, with any compiler.
class random_program {
 public:
  explicit random_program(std::uint64_t seed) : random_(seed) {}

  program make() {
    percent_changes_ = pick({0u, 20u, 40u, 80u});
    percent_seq_cst_ = pick({0u, 30u, 60u, 100u});
    percent_relaxed_ = pick({0u, 20u, 50u});
    program fresh;
    if (happens(50)) {
      fresh.threads.resize(pick({2u, 3u, 3u, 4u}));
      place_in_a_ring(fresh);
    } else {
      fresh.threads.resize(pick({2u, 3u}));
      place_anywhere(fresh);
    }
    for (std::vector<operation>& each : fresh.threads) {
      for (operation& it : each) fill(it);
      avoid_a_third_read(each);
    }
    for (std::vector<operation>& each : fresh.threads) {
      for (operation& it : each) it.expected = make_expected(fresh, it.location);
    }
    return fresh;
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  bool happens(std::size_t percent) { return below(100) < percent; }
  template <class T>
  T pick(std::initializer_list<T> among) {
    return std::data(among)[below(among.size())];
  }

  void place_anywhere(program& fresh) {
    fresh.locations = pick({1u, 2u, 2u, 3u});
    std::size_t left = operations_of_all - fresh.threads.size();
    for (std::vector<operation>& each : fresh.threads) {
      const std::size_t more = std::min(below(operations_max), left);
      left -= more;
      for (std::size_t i = 0; i <= more; ++i) each.push_back({.location = below(fresh.locations)});
    }
  }

  // Each thread shares one location with the next, and the last one with the first: the results
  // that a memory model forbids are cycles (Alglave, Maranget, Tautschnig, «Herding Cats», 2014). A
  // thread with two operations goes from one location to the next; one with a single operation
  // stays.
  void place_in_a_ring(program& fresh) {
    std::vector<bool> stays;
    std::size_t moves = 0;
    for (std::size_t t = 0; t < fresh.threads.size(); ++t) {
      stays.push_back(moves == locations_max || happens(30));
      moves += stays[t] ? 0 : 1;
    }
    fresh.locations = std::max<std::size_t>(moves, 1);
    std::size_t location = 0;
    for (std::size_t t = 0; t < fresh.threads.size(); ++t) {
      fresh.threads[t].push_back({.location = location});
      if (stays[t]) continue;
      location = (location + 1) % fresh.locations;
      fresh.threads[t].push_back({.location = location});
    }
    if (fresh.threads.size() + moves == operations_of_all || !happens(30)) return;
    fresh.threads[below(fresh.threads.size())].push_back({.location = below(fresh.locations)});
  }

  void fill(operation& one) {
    one.what = happens(percent_changes_)
                   ? pick({action::add, action::exchange, action::compare_exchange})
                   : pick({action::load, action::store});
    one.value = one.what == action::add ? 10 : ++last_value_;
    one.order = make_order(one.what);
    one.failing = make_order(action::load);
  }

  std::memory_order make_order(action what) {
    if (happens(percent_seq_cst_)) return std::memory_order_seq_cst;
    if (happens(percent_relaxed_)) return std::memory_order_relaxed;
    if (what == action::load) return std::memory_order_acquire;
    if (what == action::store) return std::memory_order_release;
    return pick({std::memory_order_acquire, std::memory_order_release, std::memory_order_acq_rel});
  }

  // The checker does not read the same stale value a third time.
  static void avoid_a_third_read(std::vector<operation>& thread) {
    std::array<std::size_t, locations_max> reads{};
    for (operation& each : thread) {
      if (!each.reads() || ++reads[each.location] < 3) continue;
      each.what = action::store;
      each.order = std::memory_order_seq_cst;
    }
  }

  // A value that a compare-exchange may find: the initial value, or one that a thread stores there.
  int make_expected(const program& of, std::size_t location) {
    std::vector<int> some{0, 0};
    for (const std::vector<operation>& each : of.threads) {
      for (const operation& it : each) {
        if (it.what != action::load && it.location == location) some.push_back(it.value);
      }
    }
    return some[below(some.size())];
  }

  std::mt19937_64 random_;
  std::size_t percent_changes_ = 0;
  std::size_t percent_seq_cst_ = 0;
  std::size_t percent_relaxed_ = 0;
  int last_value_ = 0;
};

}  // namespace troupe::model::axioms
