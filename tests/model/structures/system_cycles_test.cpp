// SPDX-License-Identifier: Apache-2.0
// Actors that hold each other, while somebody searches for them.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::require;

// Holds another one, which the one who spawns it sets before it is idle.
class member : public counter {
 public:
  struct holds {
    ref<member> other;
  };
  struct passed_on {};
  member(record& done, parker& ended) : counter(done), ended_(ended) {}
  ~member() { ended_.notify(); }
  void on(const holds& m) { other_ = m.other; }
  void on(add m) {
    counter::on(m);
    if (!other_) return;
    require(other_.send(passed_on{}) == delivery::accepted, "whom it holds has not ended");
  }
  void on(passed_on) {}
  void references(reference_visitor& visit) const { visit(other_); }

 private:
  ref<member> other_;
  parker& ended_;
};

system_options searched_by_hand() {
  system_options options = small();
  options.cycle_search = duration::zero();
  return options;
}

struct ring {
  record first, second;
  parker first_ended, second_ended;

  // A weak reference to the first one, once both are idle or about to be.
  weak_ref<member> spawn_in(troupe::system& all) {
    const auto one = all.spawn<member>(first, first_ended);
    const auto other = all.spawn<member>(second, second_ended);
    one.send(member::holds{other});
    other.send(member::holds{one});
    return one;
  }
  void collect_from(troupe::system& all) {
    while (all.collect_cycles() == 0) cpu_relax();
    first_ended.park();
    second_ended.park();
  }
};

TEST(cycles, end_once_while_somebody_sends_to_one_of_them) {
  expect_holds({.random = 3'000}, [] {
    ring two;
    int sent = 0;
    {
      troupe::system all{searched_by_hand()};
      const weak_ref<member> weak = two.spawn_in(all);
      {
        jthread visitor([&] {
          const ref<member> one = weak.lock();
          if (!one) return;
          require(one.send(add{1}) == delivery::accepted, "who holds it reaches it");
          ++sent;
        });
        two.collect_from(all);
      }
    }
    require(two.first.ends == 1 && two.second.ends == 1, "each ends once");
    require(two.first.sum == sent, "after all that it was sent");
  });
}

TEST(cycles, end_after_the_last_reference_from_outside_has_gone) {
  expect_holds({.random = 3'000}, [] {
    ring two;
    {
      troupe::system all{searched_by_hand()};
      ref<member> held = two.spawn_in(all).lock();
      require(static_cast<bool>(held), "they hold each other");
      jthread other([&] {
        held.send(add{1});
        held = {};
      });
      two.collect_from(all);
    }
    require(two.first.sum == 1, "after all that it was sent");
    require(two.first.ends == 1 && two.second.ends == 1, "each ends once");
  });
}

TEST(cycles, end_once_while_the_system_shuts_down) {
  expect_holds({.random = 2'000}, [] {
    ring two;
    {
      troupe::system all{searched_by_hand()};
      (void)two.spawn_in(all);
      jthread searcher([&] { (void)all.collect_cycles(); });
      (void)all.shutdown(duration::max());
    }
    require(two.first.ends == 1 && two.second.ends == 1, "each ends once");
  });
}

}  // namespace
}  // namespace troupe
