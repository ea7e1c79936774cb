// SPDX-License-Identifier: Apache-2.0
// Two tasks alternate on one processor: one of them stops in the middle and the other continues.
#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <coroutine>
#include <cstdint>
#include <latch>
#include <stdexcept>
#include <thread>

#include <troupe/troupe.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/lightness/cycles.hpp"
#include "lab/lightness/processes.hpp"
#include "lab/lightness/routine.hpp"
#include "lab/lightness/streams.hpp"

namespace troupe::lab::experiments {

namespace {

void report(trial& t, std::uint64_t began, double switches) {
  const double all = static_cast<double>(cycles() - began);
  t.report("switch", "cycles", all / switches);
  t.report("switch_ns", "ns", 1e3 * all / switches / cycles_per_us());
  report_counter(t);
}

// ── By sched_yield(), as published ────────────────────────────────────────────────────────────

// The scheduler need not switch to the other task, so the switches that happened are counted, not
// the calls.
double switches_so_far() {
  rusage mine{};
  rusage childrens{};
  ::getrusage(RUSAGE_SELF, &mine);
  ::getrusage(RUSAGE_CHILDREN, &childrens);
  return static_cast<double>(mine.ru_nvcsw + mine.ru_nivcsw + childrens.ru_nvcsw +
                             childrens.ru_nivcsw);
}

void yield(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) ::sched_yield();
}

// The child runs `theirs`, and this process runs `ours`.
template <class Ours, class Theirs>
void beside_a_process(Ours&& ours, Theirs&& theirs) {
  const pid_t child = make_process(theirs);
  ours();
  wait_for_process(child);
}

template <class Both>
void report_yields(trial& t, std::uint64_t times, Both&& both) {
  stay_on_one_processor();
  const double before = switches_so_far();
  const std::uint64_t began = cycles();
  both();
  const double switches = switches_so_far() - before;
  report(t, began, switches);
  t.report("switches_per_yield", "1", switches / (2 * static_cast<double>(times)));
}

void run_processes_that_yield(trial& t) {
  const std::uint64_t times = t["times"];
  report_yields(t, times, [&] { beside_a_process([&] { yield(times); }, [&] { yield(times); }); });
}

void run_threads_that_yield(trial& t) {
  const std::uint64_t times = t["times"];
  report_yields(t, times, [&] {
    std::jthread other([&] { yield(times); });
    yield(times);
  });
}

// ── By a byte in a pipe: neither can continue before the other ────────────────────────────────

void begin(const two_pipes& with, std::uint64_t times) {
  const auto mine = with.first();
  for (char byte = 'x'; times > 0; --times) {
    mine.send(byte);
    mine.receive(byte);
  }
}

void reply(const two_pipes& with, std::uint64_t times) {
  const auto mine = with.second();
  for (char byte = 'x'; times > 0; --times) {
    mine.receive(byte);
    mine.send(byte);
  }
}

void run_processes_with_pipes(trial& t) {
  stay_on_one_processor();
  const std::uint64_t times = t["times"];
  const two_pipes between;
  const std::uint64_t began = cycles();
  beside_a_process([&] { begin(between, times); }, [&] { reply(between, times); });
  report(t, began, 2 * static_cast<double>(times));
}

void run_threads_with_pipes(trial& t) {
  stay_on_one_processor();
  const std::uint64_t times = t["times"];
  const two_pipes between;
  const std::uint64_t began = cycles();
  {
    std::jthread other([&] { reply(between, times); });
    begin(between, times);
  }
  report(t, began, 2 * static_cast<double>(times));
}

// ── In user space ─────────────────────────────────────────────────────────────────────────────

// Returns to its resumer, which is a loop: a direct switch is not a tail call with every compiler.
routine count(std::uint64_t& turns) {
  for (;;) {
    ++turns;
    co_await std::suspend_always{};
  }
}

void run_coroutines(trial& t) {
  const std::uint64_t times = t["times"];
  std::uint64_t turns = 0;
  const routine one = count(turns);
  const routine other = count(turns);
  const std::uint64_t began = cycles();
  for (std::uint64_t i = 0; i < times; ++i) {
    one.handle.resume();
    other.handle.resume();
  }
  report(t, began, 2 * static_cast<double>(times));
  one.handle.destroy();
  other.handle.destroy();
  if (turns != 2 * times)
    throw std::runtime_error("a coroutine was not resumed as often as required");
}

struct ball {
  std::uint64_t left;
};

class hitter : public actor {
 public:
  explicit hitter(std::latch& done) : done_(done) {}
  void on(const ref<hitter>& other) { other_ = other; }
  void on(ball b) {
    if (b.left == 0) {
      other_ = {};
      return done_.count_down();
    }
    other_.send(ball{b.left - 1});
    if (b.left == 1) other_ = {};
  }

 private:
  std::latch& done_;
  ref<hitter> other_;
};

void run_actors(trial& t) {
  const std::uint64_t times = t["times"];
  std::latch done(1);
  class system system({.workers = 1});
  const auto one = system.spawn<hitter>(done);
  const auto other = system.spawn<hitter>(done);
  one.send(other);
  other.send(one);
  const std::uint64_t began = cycles();
  one.send(ball{2 * times});
  done.wait();
  report(t, began, 2 * static_cast<double>(times));
}

constexpr const char* qnx = "QNX 6.2.1, 535 MHz";

}  // namespace

experiment switching() {
  return {
      .asks =
          "What does it cost to switch between threads, processes, coroutines or actors on one "
          "CPU?",
      .options = {{"times", "switches from each of the two to the other", 300'000, 500, 1,
                   1'000'000'000}},
      .variants = {{"processes", "sched_yield", run_processes_that_yield},
                   {"processes", "pipe", run_processes_with_pipes},
                   {"threads", "sched_yield", run_threads_that_yield},
                   {"threads", "pipe", run_threads_with_pipes},
                   {"coroutines", "", run_coroutines},
                   {"troupe", "actors", run_actors}},
      .figures = {{"processes", "sched_yield", "switch", 617, qnx},
                  {"threads", "sched_yield", "switch", 374, qnx}},
      .means =
          "Switching between actors takes a function call and a queue operation; threads and "
          "processes go through the kernel. Use threads for blocking code, and actors for the "
          "rest.",
  };
}

}  // namespace troupe::lab::experiments
