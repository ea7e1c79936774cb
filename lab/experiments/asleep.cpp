// SPDX-License-Identifier: Apache-2.0
// A system that is idle, and then receives a message.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <troupe/troupe.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/waiting/sample.hpp"

namespace troupe::lab::experiments {

namespace {

struct note {
  time_point sent;
};

/// Reports how long the message took to arrive.
class idler : public actor {
 public:
  explicit idler(atomic<std::int64_t>& took) : took_(took) {}
  void on(const note& n) {
    const auto on_its_way = std::chrono::nanoseconds(clock::now() - n.sent).count();
    took_.store(std::max<std::int64_t>(on_its_way, 1), release);  // [took] release: the duration
  }

 private:
  atomic<std::int64_t>& took_;
};

void run(trial& t) {
  const std::uint64_t count = t["actors"];
  const std::uint64_t wakes = t["wakes"];
  const std::chrono::milliseconds idle(t["ms"]);
  const std::chrono::microseconds pause(t["pause"]);
  atomic<std::int64_t> took{0};
  class system system({.workers = static_cast<unsigned>(t["workers"])});
  std::vector<ref<idler>> all;
  all.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(system.spawn<idler>(took));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until all workers have parked

  const double before = cpu_ns();
  std::this_thread::sleep_for(idle);
  t.report("idle_cpu", "us/s",
           (cpu_ns() - before) / 1e3 / std::chrono::duration<double>(idle).count());

  sample late(wakes);
  const double begin = cpu_ns();
  double waiting = 0;  // of this thread, which spins while it waits for the result
  for (std::uint64_t i = 0; i < wakes; ++i) {
    std::this_thread::sleep_for(pause);
    all[i % count].send(note{clock::now()});
    const double sent = thread_cpu_ns();
    std::int64_t each = 0;
    while ((each = took.exchange(0, acquire)) == 0) {  // [took] acquire
      std::this_thread::yield();
    }
    waiting += thread_cpu_ns() - sent;
    late.add(static_cast<double>(each) / 1e3);
  }
  t.report("wake_p50", "us", late.percentile(0.5));
  t.report("wake_p99", "us", late.percentile(0.99));
  t.report("wake_cpu", "us", (cpu_ns() - begin - waiting) / 1e3 / static_cast<double>(wakes));
}

}  // namespace

experiment asleep() {
  return {
      .asks = "What does an idle system cost, and how fast does it wake?",
      .options = {{"workers", "worker threads", 2, 2, 1, 1'024},
                  {"actors", "that wait for messages", 1'000'000, 10'000},
                  {"ms", "milliseconds without a message", 2'000, 100},
                  {"wakes", "messages from outside, one at a time", 5'000, 100},
                  {"pause", "microseconds before each of them", 200, 200}},
      .variants = {{"troupe", "", run}},
      .means =
          "Waiting actors cost memory and almost no CPU time, so a system may be mostly idle. The "
          "first message after a pause also pays for waking a thread.",
  };
}

}  // namespace troupe::lab::experiments
