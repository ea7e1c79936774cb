// SPDX-License-Identifier: Apache-2.0
// The same kinds of work with other settings of the runtime. `troupe lab advise` compares the
// results.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <latch>
#include <string_view>

#include <troupe/sync/event.hpp>
#include <troupe/troupe.hpp>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"
#include "lab/waiting/sample.hpp"

namespace troupe::lab::experiments {

namespace {

// One of the workloads that compare libraries, with the given number of actors and a part of the
// messages.
template <void (*Workload)(trial&), std::uint64_t Actors, std::uint64_t Part>
void run(trial& t) {
  sizes chosen;
  for (const std::string_view each : {"workers", "turn_messages", "spin_rounds", "max_messages"}) {
    chosen.set(each, t[each]);
  }
  chosen.set("actors", Actors);
  chosen.set("messages", std::max(t["messages"] / Part, 2 * Actors));
  trial one(chosen);
  Workload(one);
  for (const figure& each : one.figures()) t.report(each.metric, each.unit, each.value);
}

void compute(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

class computing : public actor {
 public:
  computing(std::uint64_t times, std::latch& done) : left_(times), done_(done) {}

  struct go_on {};
  void on(go_on) {
    for (volatile std::uint32_t i = 0; i < 2'000;) i = i + 1;
    if (--left_ == 0) return done_.count_down();
    self(this).send(go_on{});
  }

 private:
  std::uint64_t left_;
  std::latch& done_;
};

void run_computing(trial& t) {
  constexpr std::uint64_t actors = 16;
  const std::uint64_t times = std::max<std::uint64_t>(t["messages"] / 40 / actors, 1);
  std::latch done(actors);
  class system system(workloads::system_of(t));
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < actors; ++i) {
    system.spawn<computing>(times, done).send(computing::go_on{});
  }
  done.wait();
  t.report("rate", "messages/s",
           static_cast<double>(actors * times) / workloads::seconds_since(began));
}

class bell : public actor {
 public:
  void on(event* rung) { rung->set(); }
};

// A thread that makes requests at intervals, and does other work in between.
void run_now_and_then(trial& t) {
  const std::uint64_t times = std::max<std::uint64_t>(t["messages"] / 200, 10);
  sample took(times);
  class system system(workloads::system_of(t));
  const auto one = system.spawn<bell>();
  for (std::uint64_t i = 0; i < times; ++i) {
    compute(std::chrono::microseconds(i % 50));
    event rung;
    const auto began = std::chrono::steady_clock::now();
    one.send(&rung);
    rung.wait();
    took.add(1e9 * workloads::seconds_since(began));
  }
  t.report("rate", "messages/s", 1e9 / took.percentile(0.5));
  t.report("round_trip_p99", "ns", took.percentile(0.99));
}

}  // namespace

experiment settings() {
  const system_options usual;
  return {
      .asks = "What do the runtime settings gain or cost with different kinds of work?",
      .options = {workloads::workers,
                  {"turn_messages", "messages after which a turn ends", usual.turn_messages,
                   usual.turn_messages, 1, 1'000'000},
                  {"spin_rounds", "searches for work before a worker sleeps", usual.spin_rounds,
                   usual.spin_rounds, 1, 1'000'000},
                  {"max_messages", "of a mailbox", usual.max_messages, usual.max_messages, 1,
                   131'071},
                  {"messages", "messages; fewer where each takes longer", 4'000'000, 4'000, 1'000,
                   1'000'000'000}},
      .variants = {{"troupe", "pairs", run<workloads::pairs, 1'000, 1>},
                   {"troupe", "wall", run<workloads::wall, 1'000, 2>},
                   {"troupe", "many to one", run<workloads::fanin_by_default, 4, 1>},
                   {"troupe", "actors that compute", run_computing},
                   {"troupe", "now and then", run_now_and_then}},
      .means =
          "The defaults suit most hosts. Measure other values with troupe lab advise before you "
          "change them: most apparent gains are noise.",
  };
}

}  // namespace troupe::lab::experiments
