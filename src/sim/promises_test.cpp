// SPDX-License-Identifier: Apache-2.0
// The promises of the runtime in random programs over many seeds: accepted messages are handled
// once and in order for each sender, a watch has one `down`, nothing runs after an actor's end,
// each request has one result, restart limits hold, and a shutdown completes.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/serial_group.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/sim/explore.hpp>
#include <troupe/supervision/supervisor.hpp>

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// The events of one run, recorded by its actors, which run on one thread.
struct ledger {
  std::map<std::pair<int, int>, int> last;  // number of the last message, by sender and receiver
  std::uint64_t sent = 0;
  std::uint64_t handled = 0;
  std::uint64_t dead = 0;
  std::uint64_t refused = 0;  // no memory to suspend a sender
  std::uint64_t failed = 0;   // handlers that failed by an injected fault
  std::string broken = {};    // a promise that an actor found broken
  std::uint64_t watches = 0;
  std::uint64_t downs = 0;
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;  // includes replies that report an error
  std::uint64_t given_up = 0;  // the requester terminated meanwhile, or failed to ask
  std::vector<int> objects;    // live incarnations per actor
};

struct numbered {
  int sender;
  int number;
};
struct act {};
struct question {
  int value;
};

class player : public actor {
 public:
  player(int me, ledger& into, std::uint64_t seed)
      : me_(me),
        into_(into),
        numbers_(static_cast<std::mt19937::result_type>(seed) + static_cast<unsigned>(me)) {
    require(++into_.objects[std::size_t(me_)] == 1, "one object at a time");
  }
  ~player() { --into_.objects[std::size_t(me_)]; }

  static inline std::vector<ref<player>>* everybody = nullptr;

  void on(const numbered& m) {
    alive();
    int& last = into_.last[{m.sender, me_}];
    require(m.number > last, "the messages of one sender come in order, each once");
    last = m.number;
    ++into_.handled;
  }
  int on(question q) {
    alive();
    if (up_to(40) == 0) throw std::runtime_error("on purpose");
    return q.value + 1;
  }
  task<> on(act) {
    alive();
    switch (up_to(12)) {
      case 0:
        if (up_to(8) == 0) stop();
        co_return;
      case 1:
        if (up_to(8) == 0) throw std::runtime_error("on purpose");
        co_return;
      case 2: {
        const auto whom = somebody();
        if (!whom || up_to(3) != 0) co_return;
        ++into_.watches;
        watch(whom);
        co_return;
      }
      case 3: {
        const auto whom = somebody();
        if (!whom) co_return;
        ++into_.asked;
        struct count {
          ledger& into;
          bool over = false;
          ~count() { ++(over ? into.answered : into.given_up); }
        } counted{into_};
        const int value = up_to(100);
        const auto got =
            co_await whom.ask<question>(std::chrono::milliseconds(1 + up_to(20)), value);
        counted.over = true;
        require(!got || *got == value + 1, "the answer belongs to the question");
        co_return;
      }
      case 4:
        co_await sleep_for(std::chrono::microseconds(up_to(3'000)));
        alive();
        tell();
        co_return;
      default:
        tell();
    }
  }
  void on(const down& d) {
    alive();
    ++into_.downs;
    (void)d;
  }

 private:
  int up_to(int n) { return static_cast<int>(numbers_() % static_cast<unsigned>(n)); }
  void alive() const {
    require(into_.objects[std::size_t(me_)] == 1, "nothing runs after its end");
  }
  [[nodiscard]] ref<player> somebody() {
    return everybody->empty() ? ref<player>()
                              : (*everybody)[std::size_t(up_to(int(everybody->size())))];
  }
  void tell() {
    const auto whom = somebody();
    if (!whom) return;
    for (int i = up_to(4); i >= 0; --i) {
      (void)whom.send(numbered{me_, ++sent_});
      ++into_.sent;  // counted only if memory was available
    }
  }

  const int me_;
  ledger& into_;
  std::mt19937 numbers_;
  int sent_ = 0;
};

bool is_numbered(std::string_view message) {
  return message.find("numbered") != std::string_view::npos;
}

// A program of players in all kinds of placements that act until they are stopped.
void play(simulation& sim, const faults& what_goes_wrong = {}) {
  constexpr int players = 8;
  constexpr int acts = 60;
  ledger all;
  all.objects.resize(players);
  std::vector<ref<player>> everybody;
  player::everybody = &everybody;
  {
    troupe::system system({.on_failure =
                               [&](const failure& f) {
                                 if (f.what == "a fault of the simulation") {
                                   if (is_numbered(f.message)) ++all.failed;
                                 } else if (f.what != "on purpose" && f.what != "std::bad_alloc") {
                                   all.broken = f.what;
                                 }
                               },
                           .on_dead_letter =
                               [&](const dead_letter& d) {
                                 if (is_numbered(d.message)) ++all.dead;
                               },
                           .on_overload =
                               [&](const overload_event& e) {
                                 if (!is_numbered(e.message)) return;
                                 if (e.what == overload_event::kind::refused ||
                                     e.what == overload_event::kind::dropped)
                                   ++all.refused;
                               }});
    serial_group group(system);
    for (int i = 0; i < players; ++i) {
      spawn_options options;
      if (i % 4 == 1) options.where = own_thread;
      if (i % 4 == 2) options.group = group;
      if (i % 4 == 3) options.max_messages = 4;
      everybody.push_back(system.spawn<player>(options, i, all, sim.seed()));
    }
    sim.inject(what_goes_wrong);
    for (int i = 0; i < acts; ++i) {
      for (const auto& each : everybody) {
        if (i % 3 == 0) {
          each.send_after(std::chrono::microseconds(i * 100), act{});
        } else {
          (void)each.send(act{});
        }
      }
      if (i % 10 == 9) sim.advance(1ms);
    }
    sim.advance(100ms);
    sim.end_faults();
    // Checked before the players are stopped: a request of a stopped player ends with it, so a
    // missing result would not be noticed.
    sim.eventually(
        "each question is over", [&] { return all.asked == all.answered + all.given_up; }, 10s);
    const std::vector<ref<player>> those = std::exchange(everybody, {});
    for (const auto& each : those) each.stop();
    const shutdown_report report = system.shutdown(10s);
    require(report.complete(), "a shutdown ends");
    require(system.statistics().actors_alive == 0, "nobody is left");
  }
  require(all.broken.empty(), all.broken.c_str());
  require(all.refused == 0 || what_goes_wrong.failed_allocations_one_in != 0,
          "a full mailbox refuses nothing");
  require(all.sent == all.handled + all.dead + all.refused + all.failed,
          "what was sent is handled, a dead letter, or refused for lack of memory");
  require(all.asked == all.answered + all.given_up, "each question has one end");
  require(all.downs <= all.watches, "a watch has one `down` at the most");
  for (const int each : all.objects) require(each == 0, "all objects are destroyed");
}

TEST(promises, hold_in_random_programs) {
  const explored all =
      explore({.seeds = 2'000, .shrinks = 100}, [](simulation& sim) { play(sim); });
  EXPECT_TRUE(all) << all.text();
  EXPECT_EQ(all.runs, 2'000u);
}

TEST(promises, hold_despite_injected_faults) {
  const explored all = explore({.seeds = 1'000, .shrinks = 100}, [](simulation& sim) {
    play(sim, {.failures_one_in = 200,
               .full_mailboxes_one_in = 50,
               .pauses_one_in = 20,
               .pause_max = 10ms,
               .late_timers_one_in = 10,
               .timer_late_max = 5ms,
               .failed_allocations_one_in = 500});
  });
  EXPECT_TRUE(all) << all.text();
  EXPECT_EQ(all.runs, 1'000u);
}

TEST(promises, the_same_seed_makes_the_same_run_of_a_random_program) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    std::array<std::uint64_t, 2> hashes{};
    for (std::uint64_t& each : hashes) {
      simulation sim(seed);
      play(sim);
      each = sim.trace_hash();
    }
    EXPECT_EQ(hashes[0], hashes[1]);
  }
}

// The trace is the same for every compiler and all options. It changes if the runtime does
// something else or in another order, or if the trace format changes.
// The trace contains the names of types, which the compiler shows in "(anonymous namespace)".
TEST(promises, a_random_program_has_the_same_trace_everywhere) {
  simulation sim(1);
  play(sim);
  EXPECT_EQ(sim.trace_hash(), 15'052'813'931'845'136'951u) << sim.trace();
}

// ── Watches ───────────────────────────────────────────────────────────────────────────────────

class watcher : public actor {
 public:
  watcher(const std::vector<ref<player>>& whom, std::map<std::uint64_t, int>& downs)
      : whom_(whom), downs_(downs) {}
  void on_start() {
    for (std::size_t i = 0; i < whom_.size(); ++i) known_[i] = watch(whom_[i]);
  }
  void on(const down& d) {
    for (const auto& [which, one] : known_) {
      if (one == d.monitor) ++downs_[which];
    }
  }

 private:
  const std::vector<ref<player>> whom_;
  std::map<std::uint64_t, int>& downs_;
  std::map<std::uint64_t, monitor> known_;
};

TEST(promises, each_watch_yields_exactly_one_down_in_every_order) {
  const explored all = explore({.seeds = 1'000}, [](simulation& sim) {
    ledger into;
    into.objects.resize(4);
    std::vector<ref<player>> nobody;
    player::everybody = &nobody;
    std::map<std::uint64_t, int> downs;
    troupe::system system({.on_failure = [](const failure&) {}});
    std::vector<ref<player>> whom;
    for (int i = 0; i < 4; ++i) whom.push_back(system.spawn<player>(i, into, sim.seed()));
    whom[0].stop();
    const auto by = system.spawn<watcher>(whom, downs);
    whom[1].stop();
    whom[2].stop_now();
    sim.run_until_idle();
    whom[3].stop();
    sim.run_until_idle();
    for (std::uint64_t i = 0; i < 4; ++i) require(downs[i] == 1, "one `down` for each watch");
    require(system.statistics().actors_alive == 1, "who watches goes on");
    by.stop();
  });
  EXPECT_TRUE(all) << all.text();
}

// ── Restarts ──────────────────────────────────────────────────────────────────────────────────

TEST(promises, a_child_is_restarted_so_often_and_then_its_supervisor_fails) {
  const explored all = explore({.seeds = 500}, [](simulation& sim) {
    static int made = 0;
    made = 0;
    struct fall {};
    class fragile : public actor {
     public:
      fragile() { ++made; }
      void on(fall) { throw std::runtime_error("on purpose"); }
    };
    troupe::system system({.on_failure = [](const failure&) {}});
    const auto boss = system.spawn<supervisor>(
        supervision{.max_restarts = 3, .within = 1h, .min_backoff = 1ms}, child<fragile>("it"));
    const auto it = *boss.ask<find_child<fragile>>(1s, "it").get();
    for (int i = 0; i < 10; ++i) it.send_after(std::chrono::seconds(i * 20), fall{});
    require(boss.join() == exit_reason::failed, "its supervisor gives up");
    require(made == 4, "once, and three times again");
    (void)sim;
  });
  EXPECT_TRUE(all) << all.text();
}

}  // namespace
}  // namespace troupe::sim
