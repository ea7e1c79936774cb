// SPDX-License-Identifier: Apache-2.0
// Actors that hold each other, while the system searches for cycles and other events affect them.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <chrono>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::require;
using model::varies;

// Holds another actor. The spawning thread sets it before this one is idle.
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

  // A weak reference to the first actor, once both are idle or about to be.
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

TEST(cycles, terminate_once_while_a_message_is_sent_to_one_member) {
  expect_holds({.random = 3'000}, [] {
    ring two;
    int sent = 0;
    {
      troupe::system all{searched_by_hand()};
      const weak_ref<member> weak = two.spawn_in(all);
      {
        jthread visitor([&] {
          const ref<member> one = weak.lock();
          if (!varies(static_cast<bool>(one), "it has not ended")) return;
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

TEST(cycles, terminate_after_the_last_external_reference_is_released) {
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

TEST(cycles, terminate_once_while_one_member_is_stopped) {
  expect_holds({.random = 3'000}, [] {
    ring two;
    {
      troupe::system all{searched_by_hand()};
      const weak_ref<member> weak = two.spawn_in(all);
      jthread visitor([&] {
        const ref<member> one = weak.lock();
        if (varies(static_cast<bool>(one), "it has not ended")) one.stop();
      });
      // Once one of them is stopped, the other one terminates because no reference to it is left.
      (void)all.collect_cycles();
      visitor.join();
      (void)all.collect_cycles();
      (void)all.collect_cycles();
      two.first_ended.park();
      two.second_ended.park();
    }
    require(two.first.ends == 1 && two.second.ends == 1, "each ends once");
  });
}

TEST(cycles, end_once_while_the_system_shuts_down) {
  expect_holds({.random = 2'000}, [] {
    ring two;
    {
      troupe::system all{searched_by_hand()};
      (void)two.spawn_in(all);
      jthread searcher([&] { varies(all.collect_cycles() != 0, "the search ends them"); });
      (void)all.shutdown(duration::max());
    }
    require(two.first.ends == 1 && two.second.ends == 1, "each ends once");
  });
}

// ── Events while the search has not decided ─────────────────────────────────────────────────
//
// The search has marked the first actor. Then both get a message, and the search finds that the
// second one has work to do. So both live, and handle their messages.

struct number_wanted {
  using reply = int;
};
class responder : public actor {
 public:
  int on(number_wanted) { return 1; }
};

// Short enough to pass in some of the executions: the clock is the real one.
constexpr std::chrono::microseconds soon{100};

// One of two actors that hold each other, and that get messages from actors that hold no reference
// to them.
class listener : public actor {
 public:
  struct holds {
    ref<listener> other;
  };
  struct watches {
    address who;
  };
  struct links {
    address who;
  };
  struct seeks {};
  struct arms {};
  struct tick {};
  struct asks {
    ref<responder> whom;
  };
  listener(record& done, parker& ready, parker& ended)
      : done_(done), ready_(ready), ended_(ended) {}
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  ~listener() {
    done_.ends = done_.ends + 1;
    ended_.notify();
  }
  void on(const holds& m) { other_ = m.other; }
  void on(const watches& m) {
    watch(m.who);
    ready_.notify();
  }
  void on(const links& m) {
    link(m.who);
    ready_.notify();
  }
  void on(seeks) {
    registry(system()).notify_on_register("it", self(this));
    ready_.notify();
  }
  void on(arms) { (void)self(this).send_after(soon, tick{}); }
  task<> on(asks m) {
    const auto answer = co_await m.whom.ask<number_wanted>(soon);
    require(answer || answer.error() == ask_error::timeout, "one of the two");
    hears();
    ready_.notify();
  }
  void on(tick) {
    hears();
    ready_.notify();
  }
  void on(const down&) { hears(); }
  void on(const link_down&) { hears(); }
  void on(const name_registered&) { hears(); }
  void references(reference_visitor& visit) const { visit(other_); }

 private:
  void hears() {
    done_.sum = done_.sum + 1;
    require(static_cast<bool>(other_), "it holds the other one");
    require(other_.send(holds{self(this)}) == delivery::accepted, "whom it holds has not ended");
  }

  record& done_;
  parker& ready_;
  parker& ended_;
  ref<listener> other_;
};

struct listening_ring {
  record first, second;
  parker first_ready, second_ready, first_ended, second_ended;

  template <class Message>
  void spawn_in(troupe::system& all, const Message& begin) {
    const auto one = all.spawn<listener>(first, first_ready, first_ended);
    const auto other = all.spawn<listener>(second, second_ready, second_ended);
    one.send(listener::holds{other});
    other.send(listener::holds{one});
    one.send(begin);
    other.send(begin);
  }
  void wait() {
    first_ready.park();
    second_ready.park();
  }
  void collect_from(troupe::system& all) {
    while (all.collect_cycles() == 0) cpu_relax();
    first_ended.park();
    second_ended.park();
  }
  void check() {
    require(first.ends == 1 && second.ends == 1, "each ends once");
    require(first.sum <= 1 && second.sum <= 1, "each is told once at most");
  }
};

TEST(cycles, that_watch_an_actor_are_notified_or_terminate) {
  expect_holds({.random = 1'500}, [] {
    record watched;
    listening_ring two;
    {
      troupe::system all{searched_by_hand()};
      const auto z = all.spawn<counter>(watched);
      two.spawn_in(all, listener::watches{z.address()});
      two.wait();
      z.stop();
      two.collect_from(all);
    }
    two.check();
    varies(two.first.sum == 1, "it hears of the end");
  });
}

TEST(cycles, that_are_linked_to_an_actor_are_notified_or_terminate) {
  expect_holds({.random = 1'500}, [] {
    record linked;
    listening_ring two;
    {
      troupe::system all{searched_by_hand()};
      const auto z = all.spawn<counter>(linked);
      two.spawn_in(all, listener::links{z.address()});
      two.wait();
      z.stop();
      two.collect_from(all);
    }
    two.check();
    varies(two.first.sum == 1, "it hears of the end");
  });
}

TEST(cycles, that_have_armed_a_timer_end_after_it_has_fired) {
  expect_holds({.random = 1'500}, [] {
    listening_ring two;
    {
      troupe::system all{searched_by_hand()};
      two.spawn_in(all, listener::arms{});
      const bool are_ending = all.collect_cycles() != 0;  // the timers have fired already
      two.wait();
      if (!are_ending) two.collect_from(all);
    }
    two.check();
    require(two.first.sum == 1 && two.second.sum == 1, "each has had its message");
  });
}

// The remains of a request are an alarm, which references no actor, or a reply that comes too late.
TEST(cycles, with_a_pending_request_terminate_whatever_remains_of_it) {
  expect_holds({.random = 1'500}, [] {
    listening_ring two;
    {
      troupe::system all{searched_by_hand()};
      {
        const auto r = all.spawn<responder>();
        two.spawn_in(all, listener::asks{r});
      }
      two.wait();
      two.collect_from(all);
    }
    two.check();
  });
}

TEST(cycles, that_wait_for_a_name_are_notified_or_terminate) {
  expect_holds({.random = 1'000}, [] {
    record named;
    listening_ring two;
    {
      troupe::system all{searched_by_hand()};
      two.spawn_in(all, listener::seeks{});
      two.wait();
      {
        const auto z = all.spawn<counter>(named);
        jthread other(
            [&] { require(static_cast<bool>(registry(all).add("it", z)), "it is free"); });
        two.collect_from(all);
      }
    }
    two.check();
    varies(two.first.sum == 1, "it is told of the name");
  });
}

}  // namespace
}  // namespace troupe
