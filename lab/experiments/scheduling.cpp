// SPDX-License-Identifier: Apache-2.0
// Several tasks do the same work on one processor, whose clock ticks faster and faster. None of
// them waits, so the time beyond the work itself is the cost of switching between them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/troupe.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/lightness/cycles.hpp"
#include "lab/lightness/processes.hpp"
#include "lab/lightness/ticker.hpp"

namespace troupe::lab::experiments {

namespace {

using microseconds = std::chrono::microseconds;

struct task_list {
  std::uint64_t branches;
  std::uint64_t loops;  // of each branch
};

// Makes no system call, so it does not yield the processor. It uses the same instructions for every
// caller, and registers only, because the location of a stack may change the time by a factor of
// two.
[[gnu::noinline]] void work(std::uint64_t loops) {
  for (std::uint64_t i = 0; i < loops; ++i) {
    for (std::uint32_t k = 0; k < 1'000; ++k) asm volatile("" : "+r"(k));
  }
}

// ── Kinds of tasks ────────────────────────────────────────────────────────────────────────────

void in_one_thread(const task_list& all) { work(all.branches * all.loops); }

void in_threads(const task_list& all) {
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 0; i < all.branches; ++i) {
    threads.emplace_back([&] { work(all.loops); });
  }
}

void in_processes(const task_list& all) {
  std::vector<pid_t> processes;
  for (std::uint64_t i = 0; i < all.branches; ++i) {
    processes.push_back(make_process([&] { work(all.loops); }));
  }
  for (const pid_t each : processes) wait_for_process(each);
}

// Splits its work into the given number of turns, so that the others have theirs in between.
class worker : public actor {
 public:
  struct go_on {};

  worker(std::uint64_t loops, std::uint64_t turns, std::latch& done)
      : loops_(loops), turns_(turns), done_(done) {}

  void on(go_on) {
    work(loops_ / turns_);
    if (++worked_ < turns_) return static_cast<void>(self(this).send(go_on{}));
    work(loops_ % turns_);
    done_.count_down();
  }

 private:
  const std::uint64_t loops_;
  const std::uint64_t turns_;
  std::uint64_t worked_ = 0;
  std::latch& done_;
};

template <std::uint64_t Turns>
void in_actors(const task_list& all) {
  std::latch done(static_cast<std::ptrdiff_t>(all.branches));
  class system system({.workers = 1});
  std::vector<ref<worker>> actors;
  for (std::uint64_t i = 0; i < all.branches; ++i) {
    actors.push_back(system.spawn<worker>(all.loops, Turns, done));
  }
  for (const auto& each : actors) each.send(worker::go_on{});
  done.wait();
}

// ── Measuring ─────────────────────────────────────────────────────────────────────────────────

double cycles_of(const auto& what) {
  const std::uint64_t began = cycles();
  what();
  return static_cast<double>(cycles() - began);
}

using way = void (*)(const task_list&);

struct ticked {
  double left = 1;   // the share of the processor that ticks leave
  double all = 0;    // cycles; 0: not measured
  double ticks = 0;  // meanwhile
};

// If ticks leave less of the processor than this, a run would take minutes, and is not measured.
constexpr double enough = 0.1;

// Returns which part of the processor is left for work, from 50 ms of it. If a tick takes longer
// than the interval between ticks, the kernel suspends them briefly from time to time. So the
// measurement begins with the first tick.
double left_for_work(std::uint64_t began, double cycles_of_loop) {
  constexpr std::uint64_t loops = 10;
  double worked = 0;
  double all = 0;
  while (all < 50e3 * cycles_per_us()) {
    work(loops);
    worked += cycles_of_loop * static_cast<double>(loops);
    all = static_cast<double>(cycles() - began);
  }
  return worked / all;
}

ticked measure_with_ticks(trial& t, way by, const task_list& what, microseconds tick,
                          double of_work) {
  const std::uint64_t first = cycles();
  const ticker clock(tick, t["real_time"] == 1);
  if (!clock.priority().empty()) t.note(clock.priority());
  const double left =
      left_for_work(first, of_work / static_cast<double>(what.branches * what.loops));
  if (left < enough) {
    t.not_measured("a tick of " + std::to_string(tick.count()) +
                   " us leaves less than a tenth of this CPU for the work");
    return {.left = left};
  }
  const std::uint64_t before = clock.ticks();
  const double all = cycles_of([&] { by(what); });
  return {.left = left, .all = all, .ticks = static_cast<double>(clock.ticks() - before)};
}

void measure(trial& t, way by, const task_list& what, microseconds tick) {
  stay_on_one_processor();
  const double per_us = cycles_per_us();
  // In the same process, before and after, because the speed of the host varies.
  const auto alone = [&] { work(what.loops); };
  const auto branches = static_cast<double>(what.branches);
  alone();
  const double before = cycles_of(alone);
  const ticked seen = tick.count() == 0 ? ticked{.all = cycles_of([&] { by(what); })}
                                        : measure_with_ticks(t, by, what, tick, before * branches);
  const double of_work = branches * (before + cycles_of(alone)) / 2;

  if (seen.all > 0) {
    t.report("all", "ms", seen.all / per_us / 1e3);
    t.report("each_branch", "ms", seen.all / per_us / 1e3 / branches);
    t.report("against_work_alone", "1", seen.all / of_work);
  }
  // With few ticks, the result would be noise.
  if (seen.all > 0 && tick.count() != 0 && tick < microseconds(100)) {
    t.report("tick_costs", "cycles",
             seen.ticks > 0 ? std::max(0.0, seen.all - of_work) / seen.ticks : 0);
  }
  if (tick.count() != 0) t.report("left_for_work", "1", seen.left);
  report_counter(t);
}

template <way By, unsigned Tick>
void run(trial& t) {
  measure(t, By, {t["branches"], t["work"]}, microseconds(Tick));
}

// A tenth of the work each, because there are many of them.
template <way By, unsigned Branches, unsigned Tick>
void run_branches(trial& t) {
  measure(t, By, {Branches, std::max<std::uint64_t>(t["work"] / 10, 1)}, microseconds(Tick));
}

template <way By>
void add(std::vector<variant>& to, const char* engine, const std::string& name = {}) {
  const std::string and_so = name.empty() ? name : name + ", ";
  to.push_back({engine, and_so + "no tick", run<By, 0>});
  to.push_back({engine, and_so + "1 ms", run<By, 1'000>});
  to.push_back({engine, and_so + "50 us", run<By, 50>});
  to.push_back({engine, and_so + "20 us", run<By, 20>});
  to.push_back({engine, and_so + "11 us", run<By, 11>});
  to.push_back({engine, and_so + "10 us", run<By, 10>});
}

template <way By, unsigned Branches>
void add_branches_of(std::vector<variant>& to, const char* engine) {
  const std::string name = std::to_string(Branches) + " branches, ";
  to.push_back({engine, name + "no tick", run_branches<By, Branches, 0>});
  to.push_back({engine, name + "50 us", run_branches<By, Branches, 50>});
  to.push_back({engine, name + "10 us", run_branches<By, Branches, 10>});
}

template <way By>
void add_branches(std::vector<variant>& to, const char* engine) {
  add_branches_of<By, 2>(to, engine);
  add_branches_of<By, 20>(to, engine);
  add_branches_of<By, 200>(to, engine);
}

// ── Known results ─────────────────────────────────────────────────────────────────────────────

constexpr const char* qnx = "QNX 6.2.1, 535 MHz";

std::vector<published> figures() {
  std::vector<published> all;
  const auto of = [&](const char* engine, const std::vector<double>& by_tick,
                      const std::vector<double>& by_branches) {
    const std::vector<const char*> ticks{"1 ms", "50 us", "20 us", "11 us", "10 us"};
    for (std::size_t i = 0; i < by_tick.size(); ++i) {
      all.push_back({engine, ticks[i], "all", by_tick[i], qnx});
    }
    const std::vector<const char*> branches{"2 branches, 10 us", "20 branches, 10 us",
                                            "200 branches, 10 us"};
    for (std::size_t i = 0; i < by_branches.size(); ++i) {
      all.push_back({engine, branches[i], "all", by_branches[i], qnx});
    }
  };
  of("single", {5'928.8, 6'427.33, 6'745.37, 7'517.74, 7'937}, {});
  of("threads", {5'919.82, 6'207.96, 6'762.69, 7'638.89, 8'136}, {1'555, 15'642, 161'112});
  of("processes", {5'962.21, 6'029.23, 6'647.42, 7'679, 8'172}, {1'623, 16'682, 173'398});
  all.push_back({"single", "10 us", "tick_costs", 1'256, qnx});
  return all;
}

std::string answer(const measurements& found) {
  // Returns 0 if one of them was not measured.
  const auto more = [&](const char* tick) {
    const double threads = found.median_of("threads", tick, "against_work_alone");
    return threads == 0 ? 0 : found.median_of("processes", tick, "against_work_alone") / threads;
  };
  if (more("no tick") == 0) return {};
  std::array<char, 300> text{};
  if (more("50 us") == 0) {
    std::snprintf(text.data(), text.size(),
                  "Compared with ten threads, ten processes take %+.1f %% without a tick; with a "
                  "tick of 50 us they were not measured.",
                  100 * (more("no tick") - 1));
  } else {
    std::snprintf(text.data(), text.size(),
                  "Compared with ten threads, ten processes take %+.1f %% without a tick and "
                  "%+.1f %% at a tick of 50 us; a tick costs a thread %.0f cycles.",
                  100 * (more("no tick") - 1), 100 * (more("50 us") - 1),
                  found.median_of("threads", "50 us", "tick_costs"));
  }
  return text.data();
}

}  // namespace

experiment scheduling() {
  std::vector<variant> variants;
  add<in_one_thread>(variants, "single");
  add<in_threads>(variants, "threads");
  add<in_processes>(variants, "processes");
  add<in_actors<1>>(variants, "troupe", "one turn");
  add<in_actors<100>>(variants, "troupe", "100 turns");
  add_branches<in_threads>(variants, "threads");
  add_branches<in_processes>(variants, "processes");
  add_branches<in_actors<1>>(variants, "troupe");
  return {
      .asks =
          "What does it cost to do the same work in many threads, processes or actors at different "
          "tick rates?",
      .options = {{"branches", "threads, processes or actors, if the name contains no number", 10,
                   2, 1, 1'000},
                  {"work", "of each, in thousands of loops", 40'000, 20, 1, 100'000'000},
                  {"real_time", "1: the tick has real-time priority, if that is allowed; 0: not", 1,
                   0, 0, 1, 1}},
      .variants = std::move(variants),
      .figures = figures(),
      .answer = answer,
      .means =
          "Dividing work among threads or among processes makes little difference as long as none "
          "of them waits: choose by the isolation that you need. The number of interruptions "
          "matters, so actors that share one thread lose nothing when the clock ticks fast.",
  };
}

}  // namespace troupe::lab::experiments
