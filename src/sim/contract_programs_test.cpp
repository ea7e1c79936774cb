// SPDX-License-Identifier: Apache-2.0
// The cells of the contract's table (ARCHITECTURE.md, "The states of an actor") as random programs:
// a seed determines one cell and the other activity around it.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <troupe/sim/explore.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;

enum class state : std::uint8_t { starting, running, paused, restarting, stopping, ended };
constexpr std::array<const char*, 6> states{"starting",   "running",  "paused",
                                            "restarting", "stopping", "ended"};

enum class operation : std::uint8_t {
  send,
  send_after,
  cancel,
  stop,
  stop_now,
  watch,
  lock,
  join,
  ask
};
constexpr std::array<const char*, 9> operations{"send",  "send_after", "cancel", "stop", "stop_now",
                                                "watch", "lock",       "join",   "ask"};

// How a restarting actor terminates is up to its supervisor, and a stopping actor cannot wait for
// itself.
bool is_a_cell(state in, operation what) {
  if (in == state::restarting) {
    return what == operation::send || what == operation::send_after || what == operation::lock ||
           what == operation::ask || what == operation::cancel;
  }
  return in != state::stopping || (what != operation::join && what != operation::ask);
}

struct work {};   // sent as the tested operation
struct noise {};  // sent by other actors meanwhile
struct question {};
struct overfill {};  // makes the actor send more messages than fit
struct fall {};
struct filler {};

struct course {
  state in;
  std::function<void()> act = {};  // runs within the actor while it starts or stops
  bool is_paused = false;
  bool has_fallen = false;
  int handled = 0;
  int dead = 0;
  int downs = 0;
  std::optional<exit_reason> why = {};  // the reason in the `down`
};

class sink : public actor {
 public:
  void on(filler) {}
};

class subject : public actor {
 public:
  subject(course& of, ref<sink> full) : of_(of), full_(std::move(full)) {}
  void on_start() {
    if (of_.in == state::starting && of_.act) std::exchange(of_.act, nullptr)();
  }
  void on(work) { ++of_.handled; }
  void on(noise) {}
  int on(question) { return 42; }
  void on(fall) {
    of_.has_fallen = true;
    throw std::runtime_error("on purpose");
  }
  void on(overfill) {
    for (int i = 0; i < 8; ++i) (void)full_.send(filler{});
    of_.is_paused = true;
  }
  void on_stop() {
    if (of_.in == state::stopping && of_.act) std::exchange(of_.act, nullptr)();
  }

 private:
  course& of_;
  const ref<sink> full_;
};

class onlooker : public actor {
 public:
  explicit onlooker(course& of) : of_(of) {}
  void on(ref<subject> whom) { watch(whom); }
  void on(const down& d) {
    ++of_.downs;
    of_.why = d.reason;
  }

 private:
  course& of_;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

void play(simulation& sim, state in, operation what) {
  const auto has = [&](bool holds, const char* promise) {
    require(holds, std::string(operations[std::size_t(what)]) + " to one that is " +
                       states[std::size_t(in)] + ": " + promise);
  };
  course of{.in = in};
  const auto is_work = [](std::string_view message) {
    return message.find("work") != std::string_view::npos;
  };
  troupe::system system({.on_failure = [](const failure&) {},
                         .on_dead_letter =
                             [&](const dead_letter& d) {
                               if (is_work(d.message)) ++of.dead;
                             }});
  const auto full = system.spawn<sink>({.max_messages = 1});
  const auto watcher = system.spawn<onlooker>(of);
  sim.inject(full, {.pauses_one_in = 1, .pause_max = 5ms});
  sim.inject(
      {.pauses_one_in = static_cast<unsigned>(sim.choose(4, "how often others pause") * 3),
       .pause_max = 2ms,
       .late_timers_one_in = static_cast<unsigned>(sim.choose(3, "how often timers are late") * 2),
       .timer_late_max = 2ms});

  ref<supervisor> top;
  ref<subject> it;
  if (in == state::restarting) {
    top = system.spawn<supervisor>(supervision{.min_backoff = 20ms, .max_backoff = 20ms},
                                   child<subject>("it", std::ref(of), full));
    it = top.ask<find_child<subject>>(1s, "it").get().value();
  } else {
    it = system.spawn<subject>(of, full);
  }
  const auto make_noise = [&] {
    for (std::size_t i = sim.choose(4, "noise"); i > 0; --i) (void)it.send(noise{});
  };
  make_noise();

  // ── The operation ───────────────────────────────────────────────────────────────────────────
  delivery sent = delivery::accepted;
  bool locked = false;
  bool cancelled = false;
  std::optional<exit_reason> joined;
  weak_ref<subject> weak = it;
  timer armed;
  const auto act = [&] {
    switch (what) {
      case operation::send:
        sent = it.send(work{});
        break;
      case operation::send_after:
        armed = it.send_after(1ms, work{});
        break;
      case operation::cancel:
        cancelled = armed.cancel();
        break;
      case operation::stop:
        sent = it.send(work{});  // sent before stop(), so it is handled
        it.stop();
        break;
      case operation::stop_now:
        it.stop_now();
        break;
      case operation::watch:
        (void)watcher.send(it);
        break;
      case operation::lock:
        locked = static_cast<bool>(weak.lock());
        break;
      case operation::join:
        it.stop();
        joined = it.join();
        break;
      case operation::ask: {
        const auto answer = it.ask<question>(10s).get();
        if (in == state::ended) {
          has(!answer && answer.error() == ask_error::stopped, "it has stopped");
        } else {
          has(answer && *answer == 42, "its answer");
        }
        break;
      }
    }
  };
  if (what == operation::cancel) armed = it.send_after(1h, work{});

  // ── Entering the state ──────────────────────────────────────────────────────────────────────
  switch (in) {
    case state::starting:
      // Before the first turn, or within it.
      if (what == operation::ask || what == operation::join || sim.choose(2, "from within") == 0) {
        act();
      } else {
        of.act = act;
      }
      break;
    case state::running:
      sim.advance(10ms);
      make_noise();
      act();
      break;
    case state::paused:
      (void)it.send(overfill{});
      has(sim.run_until([&] { return of.is_paused; }, 1s), "it is there");
      make_noise();
      act();
      break;
    case state::restarting:
      (void)it.send(fall{});
      has(sim.run_until([&] { return of.has_fallen; }, 1s), "it is there");
      make_noise();
      act();
      break;
    case state::stopping:
      of.act = act;
      it.stop();
      break;
    case state::ended:
      it.stop();
      it.join();
      act();
      break;
  }
  make_noise();
  sim.advance(1s);

  // ── The result ──────────────────────────────────────────────────────────────────────────────
  const bool lives_on = in != state::stopping && in != state::ended;
  switch (what) {
    case operation::send:
      has(sent == (in == state::ended ? delivery::refused : delivery::accepted),
          "what send() says");
      has(of.handled == (lives_on ? 1 : 0), "handled once, by one that lives on");
      has(of.dead == (lives_on ? 0 : 1), "a dead letter, to one that ends");
      break;
    case operation::send_after:
      has(of.handled == (lives_on ? 1 : 0), "its tick comes to one that lives on");
      has(of.dead == (in == state::ended ? 1 : 0), "a dead letter, if it has ended");
      break;
    case operation::cancel:
      has(cancelled == (in != state::ended), "whether it was armed still");
      has(of.handled == 0, "nothing of it arrives");
      break;
    case operation::stop:
      has(it.join() == exit_reason::stopped, "it stops");
      has(of.handled == (lives_on ? 1 : 0), "behind what was sent before");
      break;
    case operation::stop_now:
      has(it.join() == (lives_on ? exit_reason::stopped_now : exit_reason::stopped),
          "it ends, or has ended otherwise");
      break;
    case operation::watch:
      it.stop();
      it.join();
      sim.advance(1s);  // the monitoring actor may be paused
      has(of.downs == 1, "one `down`");
      has(of.why == exit_reason::stopped, "and its reason");
      break;
    case operation::lock:
      has(locked == lives_on, "a reference, or none");
      break;
    case operation::join:
      has(joined == exit_reason::stopped, "the reason");
      break;
    case operation::ask:
      break;
  }
  sim.end_faults();
  it = {};
  weak = {};
  has(system.shutdown(10s).complete(), "and a shutdown ends");
}

TEST(contract_programs, each_combination_of_state_and_operation_keeps_the_contract) {
  std::vector<std::pair<state, operation>> cells;
  for (std::size_t s = 0; s < states.size(); ++s) {
    for (std::size_t o = 0; o < operations.size(); ++o) {
      if (is_a_cell(state(s), operation(o))) cells.emplace_back(state(s), operation(o));
    }
  }
  EXPECT_EQ(cells.size(), 48u);
  const explored all = explore({.seeds = cells.size() * 40}, [&](simulation& sim) {
    const auto [in, what] = cells[sim.seed() % cells.size()];
    play(sim, in, what);
  });
  EXPECT_TRUE(all) << all.text();
  EXPECT_EQ(all.runs, cells.size() * 40);
}

}  // namespace
}  // namespace troupe::sim
