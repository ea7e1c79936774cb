// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/cycles_test_support.hpp"
#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ── What is collected ─────────────────────────────────────────────────────────────────────────

class watcher : public actor {
 public:
  watcher(journal& to, const ref<node>& other) : log_(to) { watch(other); }
  void on(const down& d) { log_.write(to_string(d.reason)); }

 private:
  journal& log_;
};

TEST(cycles, two_that_hold_each_other_end_as_unreachable) {
  journal log;
  quiet q;
  std::vector<ref<node>> ring = q.spawn_ring(2);
  const weak_ref<node> weak = ring[0];
  const ref<watcher> told = q.spawn<watcher>(log, ring[0]);
  ring.clear();
  q.play();
  EXPECT_EQ(q.alive(), 3u) << "nobody has searched";
  EXPECT_EQ(q.collect(), 2u);
  EXPECT_EQ(q.alive(), 1u);
  EXPECT_THAT(log.lines(), ElementsAre("unreachable"));
  EXPECT_FALSE(weak.lock());
  EXPECT_EQ(q.system.statistics().actors_collected, 2u);
  EXPECT_EQ(q.system.statistics().dead_letters, 0u);
  EXPECT_EQ(q.collect(), 0u);
}

TEST(cycles, a_ring_of_a_thousand_is_collected) {
  quiet q;
  q.spawn_ring(1'000).clear();
  q.play();
  EXPECT_EQ(q.collect(), 1'000u);
  EXPECT_EQ(q.alive(), 0u);
}

TEST(cycles, one_that_holds_itself_is_collected) {
  quiet q;
  q.spawn_ring(1).clear();
  q.play();
  EXPECT_EQ(q.collect(), 1u);
  EXPECT_EQ(q.alive(), 0u);
}

TEST(cycles, actors_that_are_reachable_from_a_referenced_ring_stay) {
  quiet q;
  auto one = q.spawn_ring(3);
  auto other = q.spawn_ring(4);
  one[0].send(hold{other[0]});
  q.play();
  ref<node> held = one[2];
  one.clear();
  other.clear();
  q.play();
  EXPECT_EQ(q.collect(), 0u);
  held = {};
  q.play();
  EXPECT_EQ(q.collect(), 7u);
  EXPECT_EQ(q.alive(), 0u);
}

TEST(cycles, an_actor_that_garbage_and_an_outside_ref_hold_stays) {
  quiet q;
  auto ring = q.spawn_ring(2);
  const ref<node> held = q.spawn<node>();
  ring[1].send(hold{held});
  ring.clear();
  q.play();
  EXPECT_EQ(q.collect(), 2u);
  EXPECT_EQ(q.alive(), 1u);
  EXPECT_EQ(held.send(act{}), delivery::accepted);
}

TEST(cycles, an_actor_that_lists_nothing_terminates_with_its_garbage_holder) {
  quiet q;
  auto ring = q.spawn_ring(2);
  ring[0].send(entrust{q.spawn<secretive>()});
  ring.clear();
  q.play();
  EXPECT_EQ(q.alive(), 3u);
  EXPECT_EQ(q.collect(), 2u);
  EXPECT_EQ(q.alive(), 0u);
}

TEST(cycles, actors_on_pumps_on_the_pool_and_on_threads_of_their_own_are_collected) {
  troupe::system all(searched_by_hand());
  pump here(all);
  std::vector<ref<node>> ring;
  ring.push_back(all.spawn<node>());
  ring.push_back(all.spawn<node>(spawn_options{.where = own_thread}));
  ring.push_back(all.spawn<node>(spawn_options{.where = bound_to(here)}));
  for (std::size_t i = 0; i < 3; ++i) ring[i].send(hold{ring[(i + 1) % 3]});
  ring.clear();
  std::size_t found = 0;
  EXPECT_TRUE(eventually([&] {
    here.drain();
    found += all.collect_cycles();
    return all.statistics().actors_alive == 0;
  }));
  EXPECT_EQ(found, 3u);
}

TEST(cycles, on_stop_of_collected_ones_runs_once_whatever_they_do_to_each_other) {
  journal log;
  quiet q;
  const auto stop_peers = [&log](node& me) {
    log.write("on_stop");
    for (const ref<node>& each : me.peers()) {
      each.stop_now();
      each.stop();
      (void)each.send(act{[&](node&) { log.write("handled"); }});
    }
  };
  journal reasons;
  auto ring = q.spawn_ring(3);
  std::vector<ref<watcher>> told;
  for (const auto& each : ring) {
    told.push_back(q.spawn<watcher>(reasons, each));
    each.send(act{[&](node& me) { me.at_stop = stop_peers; }});
  }
  ring.clear();
  q.play();
  EXPECT_EQ(q.collect(), 3u);
  EXPECT_EQ(q.alive(), 3u) << "who was told";
  EXPECT_THAT(log.lines(), ElementsAre("on_stop", "on_stop", "on_stop"));
  EXPECT_THAT(reasons.lines(), ElementsAre("unreachable", "unreachable", "unreachable"));
}

// ── What is listed ────────────────────────────────────────────────────────────────────────────

TEST(references, are_refs_recipients_and_ranges_and_optional_ones_of_them) {
  class several : public actor {
   public:
    void on(const ref<several>& peer) {
      one_ = peer;
      as_recipient_ = peer;
      maybe_ = peer;
      many_ = {{peer}, {peer, {}}};
    }
    void references(reference_visitor& visit) const {
      visit(one_);
      visit(empty_);
      visit(as_recipient_);
      visit(maybe_);
      visit(no_);
      visit(many_);
    }

   private:
    ref<several> one_, empty_;
    recipient<ref<several>> as_recipient_;
    std::optional<ref<several>> maybe_, no_;
    std::vector<std::vector<ref<several>>> many_;
  };
  quiet q;
  auto a = q.spawn<several>();
  auto b = q.spawn<several>();
  a.send(b);
  b.send(a);
  a = b = {};
  q.play();
  EXPECT_EQ(q.collect(), 2u);
  EXPECT_EQ(q.alive(), 0u);
}

TEST(references, that_are_listed_twice_count_once) {
  quiet q;
  const ref<node> held = q.spawn<node>();
  auto self_made = q.spawn<node>();
  self_made.send(hold{held});
  self_made.send(
      act{[](node& me) { me.at_listing = [&me](reference_visitor& v) { v(me.peers()); }; }});
  self_made.send(act{[](node& me) { me.hold_oneself(); }});
  self_made = {};
  q.play();
  EXPECT_EQ(q.collect(), 1u) << "of its own reference two are listed, and one is counted";
  EXPECT_EQ(held.send(act{}), delivery::accepted) << "it has two: this one, and had that one";
}

TEST(references, that_are_listed_too_often_do_not_collect_a_referenced_actor) {
  std::vector<ref<node>> of_nobody;
  quiet q;
  of_nobody.push_back(q.spawn<node>());
  const auto lie = [&](reference_visitor& v) { v(of_nobody); };
  for (int i = 0; i < 2; ++i) {
    auto liar = q.spawn<node>();
    liar.send(act{[&](node& me) {
      me.at_listing = lie;
      me.hold_oneself();
    }});
  }
  q.play();
  EXPECT_EQ(q.collect(), 2u) << "the liars";
  EXPECT_EQ(of_nobody[0].send(act{}), delivery::accepted);
}

TEST(references, that_are_listed_before_an_exception_count) {
  quiet q;
  auto ring = q.spawn_ring(2);
  ring[0].send(act{[](node& me) {
    me.at_listing = [](reference_visitor&) { throw std::runtime_error("no list"); };
  }});
  ring.clear();
  q.play();
  EXPECT_EQ(q.collect(), 2u);
  EXPECT_EQ(q.alive(), 0u);
}

// ── What holds ────────────────────────────────────────────────────────────────────────────────

TEST(cycles, a_ref_from_outside_holds_a_ring) {
  quiet q;
  auto ring = q.spawn_ring(5);
  ref<node> held = ring[3];
  ring.clear();
  EXPECT_EQ(q.collect(), 0u);
  held = {};
  EXPECT_EQ(q.collect(), 5u);
}

TEST(cycles, a_message_on_its_way_holds_a_ring) {
  quiet q;
  auto ring = q.spawn_ring(2);
  const ref<secretive> other = q.spawn<secretive>();
  q.play();
  other.send(hold{ring[1]});
  ring.clear();
  EXPECT_EQ(q.system.collect_cycles(), 0u) << "it carries a reference";
  q.play();
  EXPECT_EQ(q.collect(), 0u) << "who has received it holds the ring";
  other.send(hold{});
  EXPECT_EQ(q.collect(), 0u) << "a message of its own waits";
  EXPECT_EQ(q.collect(), 2u);
}

TEST(cycles, a_message_in_its_mailbox_holds_a_ring) {
  quiet q;
  auto ring = q.spawn_ring(2);
  bool is_handled = false;
  ring[0].send(act{[&](node&) { is_handled = true; }});
  ring.clear();
  EXPECT_EQ(q.system.collect_cycles(), 0u);
  EXPECT_FALSE(is_handled);
  q.play();
  EXPECT_TRUE(is_handled);
  EXPECT_EQ(q.collect(), 2u);
}

TEST(cycles, a_timer_holds_a_ring_until_it_is_cancelled) {
  quiet q;
  auto ring = q.spawn_ring(2);
  timer t = ring[0].send_after(1h, act{});
  const ref<secretive> other = q.spawn<secretive>();
  timer carries = other.send_after(1h, hold{ring[1]});
  ring.clear();
  EXPECT_EQ(q.collect(), 0u);
  EXPECT_TRUE(t.cancel());
  EXPECT_EQ(q.collect(), 0u);
  EXPECT_TRUE(carries.cancel());
  EXPECT_EQ(q.collect(), 2u);
}

TEST(cycles, a_suspended_handler_holds_a_ring_until_it_resumes) {
  quiet q;
  auto ring = q.spawn_ring(2);
  const ref<answerer> asked = q.spawn<answerer>();
  ring[0].send(ask_it{asked});
  ring.clear();
  q.play();
  EXPECT_EQ(q.collect(), 0u);
  asked.send(answerer::now{});
  q.play();
  EXPECT_EQ(q.collect(), 2u);
}

TEST(cycles, an_actor_that_a_weak_ref_locks_during_the_search_stays) {
  quiet q;
  auto ring = q.spawn_ring(3);
  ref<node> locked;
  const weak_ref<node> weak = ring[2];
  ring[0].send(act{[&](node& me) {
    me.at_listing = [&](reference_visitor& v) {
      v(me.peers());
      locked = weak.lock();
    };
  }});
  ring.clear();
  q.play();
  EXPECT_EQ(q.system.collect_cycles(), 0u);
  ASSERT_TRUE(locked);
  EXPECT_EQ(locked.send(act{}), delivery::accepted);
}

TEST(cycles, a_message_that_is_sent_during_the_search_is_handled_afterwards) {
  quiet q;
  auto ring = q.spawn_ring(2);
  bool is_handled = false;
  ring[0].send(act{[&](node& me) {
    me.at_listing = [&](reference_visitor& v) {
      v(me.peers());
      if (const auto peer = weak_ref<node>(me.peers()[0]).lock(); !is_handled) {
        peer.send(act{[&](node&) { is_handled = true; }});
      }
    };
  }});
  ring.clear();
  q.play();
  EXPECT_EQ(q.system.collect_cycles(), 0u);
  EXPECT_FALSE(is_handled) << "it had no turn";
  q.play();
  EXPECT_TRUE(is_handled);
  EXPECT_EQ(q.collect(), 2u);
}

// ── Suspects ──────────────────────────────────────────────────────────────────────────────────

TEST(unreachable_suspects, are_the_members_of_a_ring_that_cannot_be_collected) {
  quiet q;
  auto ring = q.spawn_ring(1);
  const auto middle = [&] {
    auto silent = q.spawn<secretive>();
    silent.send(hold{ring[0]});
    ring[0].send(entrust{silent});
    return weak_ref<secretive>(silent);
  }();
  const address first = ring[0];
  ring.clear();
  q.play();
  EXPECT_EQ(q.collect(), 0u);
  const auto those = q.system.unreachable_suspects();
  ASSERT_EQ(those.size(), 2u);
  for (const system::suspect& each : those) {
    const bool is_first = each.who == first;
    EXPECT_TRUE(is_first || each.who == middle.address());
    EXPECT_EQ(each.lists, is_first);
    EXPECT_EQ(each.references, is_first ? 2u : 1u);
    EXPECT_THAT(each.name, HasSubstr(is_first ? "node" : "secretive"));
  }
}

TEST(unreachable_suspects, exclude_garbage_and_busy_actors_and_actors_that_they_hold) {
  quiet q;
  q.spawn_ring(3).clear();
  const ref<node> busy = q.spawn<node>();
  const ref<node> held = q.spawn<node>();
  busy.send(hold{held});
  const ref<secretive> timed = q.spawn<secretive>();
  (void)timed.send_after(1h, hold{});
  q.play();
  timer other = busy.send_after(1h, act{});
  EXPECT_THAT(q.system.unreachable_suspects(), IsEmpty());
  EXPECT_TRUE(other.cancel());
  EXPECT_THAT(q.system.unreachable_suspects(), SizeIs(2)) << "the test holds them";
}

TEST(unreachable_suspects, include_actors_whose_timers_have_been_handled) {
  quiet q;
  const ref<secretive> one = q.spawn<secretive>();
  q.play();
  const auto before = q.system.statistics().messages_accepted;
  (void)one.send_after(0s, hold{});
  ASSERT_TRUE(eventually([&] { return q.system.statistics().messages_accepted > before; }));
  q.play();
  EXPECT_THAT(q.system.unreachable_suspects(), SizeIs(1));
}

// ── When ──────────────────────────────────────────────────────────────────────────────────────

TEST(cycles, are_found_without_being_searched_for) {
  system_options options = searched_by_hand();
  options.cycle_search = 1ms;
  troupe::system all(options);
  for (int round = 0; round < 3; ++round) {
    {
      const ref<node> one = all.spawn<node>();
      const ref<node> other = all.spawn<node>();
      one.send(hold{other});
      other.send(hold{one});
    }
    EXPECT_TRUE(eventually([&] { return all.statistics().actors_alive == 0; }));
  }
  // They are counted when all of them have been told to end.
  EXPECT_TRUE(eventually([&] { return all.statistics().actors_collected >= 6; }));
  EXPECT_EQ(all.statistics().actors_collected, 6u);
}

TEST(cycles, cannot_be_searched_for_within_a_handler) {
  quiet q;
  const ref<node> one = q.spawn<node>();
  int errors = 0;
  one.send(act{[&](node&) {
    try {
      (void)q.system.collect_cycles();
    } catch (const std::logic_error&) {
      ++errors;
    }
    try {
      (void)q.system.unreachable_suspects();
    } catch (const std::logic_error&) {
      ++errors;
    }
  }});
  q.play();
  EXPECT_EQ(errors, 2);
}

}  // namespace
}  // namespace troupe::test
