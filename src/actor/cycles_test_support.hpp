// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/placement.hpp>
#include <troupe/actor/pump.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/references.hpp>
#include <troupe/actor/reply.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>

#include "test_support.hpp"

// Actors that hold each other, and a system in which they do nothing until the test says so.

namespace troupe::test {

class node;
class secretive;
class answerer;

/// The receiver holds that actor from then on; if it is empty, none.
struct hold {
  ref<node> peer;
};
struct entrust {
  ref<secretive> held;
};
struct act {
  std::function<void(node&)> what;
};
struct ask_it {
  ref<answerer> other;
};

/// Replies when it is told to.
class answerer : public actor {
 public:
  struct question {};
  struct now {};
  void on(question, reply<int> owed) { owed_.push_back(std::move(owed)); }
  void on(now) {
    for (reply<int>& each : owed_) (void)each.set_value(1);
    owed_.clear();
  }

 private:
  std::vector<reply<int>> owed_;
};

/// Lists its references.
class node : public actor {
 public:
  void references(reference_visitor& visit) const {
    visit(peers_);
    if (at_listing) at_listing(visit);
  }
  void on_stop() {
    if (at_stop) at_stop(*this);
  }
  void on(const hold& m) { peers_.push_back(m.peer); }
  void on(const entrust& m) { entrusted_ = m.held; }
  void on(const act& m) {
    if (m.what) m.what(*this);
  }
  task<> on(ask_it m) { (void)co_await m.other.ask<answerer::question>(1h); }

  [[nodiscard]] const std::vector<ref<node>>& peers() const { return peers_; }
  void hold_oneself() { peers_.push_back(self(this)); }

  std::function<void(reference_visitor&)> at_listing;
  std::function<void(node&)> at_stop;

 private:
  std::vector<ref<node>> peers_;
  ref<secretive> entrusted_;  // not listed
};

/// Holds an actor without listing it.
class secretive : public actor {
 public:
  void on(const hold& m) { peer_ = m.peer; }

 private:
  ref<node> peer_;
};

inline system_options searched_by_hand() {
  system_options options;
  options.workers = 2;
  options.cycle_search = duration::zero();
  return options;
}

/// Everything happens on a pump of the test's thread.
struct quiet {
  quiet() : system(searched_by_hand()) {}

  template <class A, class... Arguments>
  ref<A> spawn(Arguments&&... arguments) {
    return system.spawn<A>(spawn_options{.where = bound_to(pump)},
                           std::forward<Arguments>(arguments)...);
  }
  std::vector<ref<node>> spawn_ring(std::size_t size) {
    std::vector<ref<node>> all;
    for (std::size_t i = 0; i < size; ++i) all.push_back(spawn<node>());
    for (std::size_t i = 0; i < size; ++i) all[i].send(hold{all[(i + 1) % size]});
    play();
    return all;
  }
  void play() { pump.run_until_idle(); }
  /// Afterwards the actors that were found have terminated.
  std::size_t collect() {
    const std::size_t found = system.collect_cycles();
    play();
    return found;
  }
  [[nodiscard]] std::uint64_t alive() const { return system.statistics().actors_alive; }

  troupe::system system;
  troupe::pump pump{system};
};

}  // namespace troupe::test
