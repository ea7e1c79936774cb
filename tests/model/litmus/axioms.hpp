// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "program.hpp"

// All results that a small program may have, straight from the text of the C++20 standard and by
// brute force: every choice of the store that each operation reads, and every modification order,
// is enumerated and then judged. No code is shared with the checker, which builds executions step
// by step and drops those that it cannot extend.
//
// Section numbers are those of N4861: [intro.races] is 6.9.2.1, [atomics.order] 31.4.

namespace troupe::model::axioms {

/// The rules. A test can leave out each of them: if no result changes, the programs do not test the
/// rule.
struct rules {
  // [intro.races]/15 to 18
  bool write_write_coherence = true;
  bool read_read_coherence = true;
  bool read_write_coherence = true;
  bool write_read_coherence = true;
  // [atomics.order]/10: a read-modify-write reads the last value before its own.
  bool atomicity = true;
  // [atomics.order]/2, [intro.races]/5
  bool synchronization = true;
  bool release_sequences = true;
  // [atomics.order]/3 and 4
  bool s_after_happens_before = true;
  bool s_after_coherence = true;
  // S is consistent with the whole of happens-before, as in C++11 and in the checker. C++20
  // requires this of «strongly happens before» alone, which is weaker.
  bool s_after_all_that_happens_before = true;
  // In program order, no value is read before it is written. C++ does not require this.
  bool no_load_buffering = true;
};

class enumerator {
 public:
  explicit enumerator(const program& of, const rules& by = {}) : program_(of), rules_(by) {
    for (std::size_t l = 0; l < of.locations; ++l) {
      events_.push_back({.location = l, .writes = true, .is_known = true});
    }
    for (std::size_t t = 0; t < of.threads.size(); ++t) {
      for (const operation& each : of.threads[t]) {
        events_.push_back({.does = &each, .thread = t, .location = each.location});
      }
    }
    orders_.resize(of.locations);
  }

  /// The results of all executions that the rules permit.
  std::set<values> results() {
    choose_sources(0);
    return std::move(found_);
  }

 private:
  static constexpr std::size_t events_max = 16;

  struct event {
    const operation* does = nullptr;  // null: the construction of the location
    std::size_t thread = 0;
    std::size_t location = 0;
    bool writes = false;  // in this execution
    bool is_known = false;
    int value_read = 0;
    int value_written = 0;
    std::memory_order order = std::memory_order_relaxed;
    std::size_t source = 0;    // the event whose value this one reads
    std::size_t position = 0;  // in the modification order

    [[nodiscard]] bool reads() const noexcept { return does != nullptr && does->reads(); }
    [[nodiscard]] bool is_rmw() const noexcept { return reads() && writes; }
    [[nodiscard]] bool is_seq_cst() const noexcept {
      return does != nullptr && order == std::memory_order_seq_cst;
    }
    [[nodiscard]] bool is_release() const noexcept {
      return writes && (order == std::memory_order_release || order == std::memory_order_acq_rel ||
                        order == std::memory_order_seq_cst);
    }
    [[nodiscard]] bool is_acquire() const noexcept {
      return reads() && (order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
                         order == std::memory_order_seq_cst);
    }
  };

  // [a] holds a bit for each b that a is related to.
  struct relation {
    std::array<std::uint32_t, events_max> to{};

    void add(std::size_t a, std::size_t b) noexcept { to[a] |= std::uint32_t{1} << b; }
    void add(const relation& other) noexcept {
      for (std::size_t a = 0; a < events_max; ++a) to[a] |= other.to[a];
    }
    [[nodiscard]] bool has(std::size_t a, std::size_t b) const noexcept {
      return (to[a] >> b & 1) != 0;
    }
    void close() noexcept {
      for (std::size_t via = 0; via < events_max; ++via) {
        for (std::size_t a = 0; a < events_max; ++a) {
          if (has(a, via)) to[a] |= to[via];
        }
      }
    }
    [[nodiscard]] bool is_circular() const noexcept {
      for (std::size_t a = 0; a < events_max; ++a) {
        if (has(a, a)) return true;
      }
      return false;
    }
  };

  template <class Function>
  void for_each_pair(Function&& fn) const {
    for (std::size_t a = 0; a < events_.size(); ++a) {
      for (std::size_t b = 0; b < events_.size(); ++b) {
        if (a != b) fn(a, b);
      }
    }
  }

  // ── Open choices ────────────────────────────────────────────────────────────────────────────
  void choose_sources(std::size_t next) {
    while (next < events_.size() && !events_[next].reads()) ++next;
    if (next == events_.size()) return judge_sources();
    for (std::size_t from = 0; from < events_.size(); ++from) {
      const event& w = events_[from];
      const bool may_write = w.does == nullptr || w.does->what != action::load;
      if (from == next || w.location != events_[next].location || !may_write) continue;
      events_[next].source = from;
      choose_sources(next + 1);
    }
  }

  void judge_sources() {
    if (!find_values()) return;
    if (rules_.no_load_buffering) {
      relation before = sequenced_before();
      for (std::size_t b = 0; b < events_.size(); ++b) {
        if (events_[b].reads()) before.add(events_[b].source, b);
      }
      before.close();
      if (before.is_circular()) return;
    }
    for (auto& each : orders_) each.clear();
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (events_[e].writes) orders_[events_[e].location].push_back(e);
    }
    choose_orders(0);
  }

  // The construction comes first, because it happens before all else. The others come in any order.
  void choose_orders(std::size_t location) {
    if (location == orders_.size()) return judge();
    std::vector<std::size_t>& order = orders_[location];
    std::sort(order.begin(), order.end());
    do {
      for (std::size_t p = 0; p < order.size(); ++p) events_[order[p]].position = p;
      if (is_atomic(order)) choose_orders(location + 1);
    } while (std::next_permutation(order.begin() + 1, order.end()));
  }

  // Values flow from stores to loads. A value that depends on itself, or that was never written, is
  // not possible.
  bool find_values() {
    std::size_t unknown = 0;
    for (event& each : events_) {
      each.is_known = each.does == nullptr;
      unknown += each.is_known ? 0 : 1;
    }
    for (std::size_t round = 0; unknown > 0; ++round) {
      if (round == events_.size()) return false;
      for (event& each : events_) {
        if (each.is_known) continue;
        if (each.reads()) {
          const event& from = events_[each.source];
          if (!from.is_known) continue;
          if (!from.writes) return false;
          each.value_read = from.value_written;
        }
        act(each);
        each.is_known = true;
        --unknown;
      }
    }
    return true;
  }

  static void act(event& one) {
    const operation& does = *one.does;
    one.order = does.order;
    one.writes = does.what != action::load;
    one.value_written = does.value;
    if (does.what == action::add) one.value_written += one.value_read;
    if (does.what == action::compare_exchange && one.value_read != does.expected) {
      one.writes = false;
      one.order = does.failing;
    }
  }

  // ── Permitted executions ────────────────────────────────────────────────────────────────────
  void judge() {
    const relation synchronizes = synchronizes_with();
    relation happens_before = sequenced_before();
    happens_before.add(synchronizes);
    happens_before.close();
    if (happens_before.is_circular() || !is_coherent(happens_before)) return;
    const relation& in_s = rules_.s_after_all_that_happens_before
                               ? happens_before
                               : strongly_happens_before(happens_before, synchronizes);
    if (!has_s(in_s)) return;
    values result;
    for (const event& each : events_) {
      if (each.reads()) result.push_back(each.value_read);
    }
    for (const auto& order : orders_) result.push_back(events_[order.back()].value_written);
    found_.insert(std::move(result));
  }

  [[nodiscard]] bool is_atomic(const std::vector<std::size_t>& order) const {
    return !rules_.atomicity || std::all_of(order.begin(), order.end(), [&](std::size_t e) {
      return !events_[e].is_rmw() || events_[events_[e].source].position + 1 == events_[e].position;
    });
  }

  // Locations are constructed before the threads start.
  [[nodiscard]] relation sequenced_before() const {
    relation before;
    for_each_pair([&](std::size_t a, std::size_t b) {
      const bool is_first = events_[a].does == nullptr && events_[b].does != nullptr;
      const bool is_earlier = events_[a].does != nullptr && events_[b].does != nullptr &&
                              events_[a].thread == events_[b].thread && a < b;
      if (is_first || is_earlier) before.add(a, b);
    });
    return before;
  }

  // «A synchronizes with an atomic operation B that performs an acquire operation on M and takes
  // its value from any side effect in the release sequence headed by A.»
  [[nodiscard]] relation synchronizes_with() const {
    relation with;
    if (!rules_.synchronization) return with;
    for_each_pair([&](std::size_t a, std::size_t b) {
      if (events_[a].is_release() && events_[b].is_acquire() &&
          is_in_release_sequence(a, events_[b].source)) {
        with.add(a, b);
      }
    });
    return with;
  }

  // «A maximal contiguous sub-sequence of side effects in the modification order of M, where the
  // first operation is A, and every subsequent operation is an atomic read-modify-write operation.»
  [[nodiscard]] bool is_in_release_sequence(std::size_t head, std::size_t e) const {
    if (head == e) return true;
    if (!rules_.release_sequences) return false;
    if (events_[head].location != events_[e].location) return false;
    const std::vector<std::size_t>& order = orders_[events_[head].location];
    for (std::size_t p = events_[head].position + 1; p < order.size(); ++p) {
      if (!events_[order[p]].is_rmw()) return false;
      if (order[p] == e) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_coherent(const relation& happens_before) const {
    bool holds = true;
    for_each_pair([&](std::size_t a, std::size_t b) {
      const event& first = events_[a];
      const event& then = events_[b];
      // [intro.races]/14: a read store does not happen after the load.
      if (then.reads() && then.source == a && happens_before.has(b, a)) holds = false;
      if (first.location != then.location || !happens_before.has(a, b)) return;
      const auto reads_at = [&](const event& e) { return events_[e.source].position; };
      if (rules_.write_write_coherence && first.writes && then.writes &&
          first.position >= then.position) {
        holds = false;
      }
      if (rules_.read_read_coherence && first.reads() && then.reads() &&
          reads_at(first) > reads_at(then)) {
        holds = false;
      }
      if (rules_.read_write_coherence && first.reads() && then.writes &&
          reads_at(first) >= then.position) {
        holds = false;
      }
      if (rules_.write_read_coherence && first.writes && then.reads() &&
          first.position > reads_at(then)) {
        holds = false;
      }
    });
    return holds;
  }

  // [atomics.order]/3
  [[nodiscard]] relation coherence_ordered_before() const {
    relation before;
    for_each_pair([&](std::size_t a, std::size_t b) {
      const event& first = events_[a];
      const event& then = events_[b];
      if (first.location != then.location) return;
      const bool is_read = first.writes && then.reads() && then.source == a;
      const bool is_earlier = first.writes && then.writes && first.position < then.position;
      const bool is_overwritten =
          first.reads() && then.writes && events_[first.source].position < then.position;
      if (is_read || is_earlier || is_overwritten) before.add(a, b);
    });
    before.close();
    return before;
  }

  // [intro.races]/12; without consume, «simply happens before» is happens before.
  [[nodiscard]] relation strongly_happens_before(const relation& happens_before,
                                                 const relation& synchronizes) const {
    const relation sequenced = sequenced_before();
    relation strongly = sequenced;
    for_each_pair([&](std::size_t a, std::size_t d) {
      if (synchronizes.has(a, d) && events_[a].is_seq_cst() && events_[d].is_seq_cst()) {
        strongly.add(a, d);
      }
      for_each_pair([&](std::size_t b, std::size_t c) {
        if (sequenced.has(a, b) && happens_before.has(b, c) && sequenced.has(c, d)) {
          strongly.add(a, d);
        }
      });
    });
    strongly.close();
    return strongly;
  }

  // [atomics.order]/4: whether an order S exists. It is built step by step: next comes any
  // operation that no remaining operation has to precede.
  [[nodiscard]] bool has_s(const relation& before) const {
    const relation coherence = coherence_ordered_before();
    std::vector<std::size_t> left;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (events_[e].is_seq_cst()) left.push_back(e);
    }
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), [&](std::size_t b) {
        return std::none_of(left.begin(), left.end(), [&](std::size_t a) {
          return (rules_.s_after_happens_before && before.has(a, b)) ||
                 (rules_.s_after_coherence && coherence.has(a, b));
        });
      });
      if (next == left.end()) return false;
      left.erase(next);
    }
    return true;
  }

  const program& program_;
  const rules rules_;
  std::vector<event> events_;                     // the locations' constructions come first
  std::vector<std::vector<std::size_t>> orders_;  // the modification order of each location
  std::set<values> found_;
};

}  // namespace troupe::model::axioms
