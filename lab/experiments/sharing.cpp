// SPDX-License-Identifier: Apache-2.0
// The same work on one, two, three and sixteen workers. On two cores, more than two cannot help;
// the others show the cost of too many workers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <string>
#include <vector>

#include <troupe/troupe.hpp>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

namespace {

constexpr std::array<std::uint64_t, 4> worker_counts{1, 2, 3, 16};

double rate_of(void (*workload)(trial&), std::uint64_t actors, std::uint64_t messages,
               std::uint64_t steps, std::uint64_t workers) {
  sizes chosen;
  chosen.set("workers", workers);
  chosen.set("actors", actors);
  chosen.set("messages", messages);
  chosen.set("steps", steps);
  trial one(chosen);
  workload(one);
  return one.figures().front().value;
}

// Runs in rounds, so that other load on the host affects all of them.
void with_each(trial& t, void (*workload)(trial&), std::uint64_t actors, std::uint64_t messages) {
  constexpr std::uint64_t rounds = 4;
  std::array<double, worker_counts.size()> seconds{};
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < worker_counts.size(); ++i) {
      const std::uint64_t some = messages / rounds;
      seconds[i] +=
          static_cast<double>(some) / rate_of(workload, actors, some, t["steps"], worker_counts[i]);
    }
  }
  for (std::size_t i = 0; i < worker_counts.size(); ++i) {
    t.report("workers_" + std::to_string(worker_counts[i]), "messages/s",
             static_cast<double>(messages) / seconds[i]);
  }
  t.report("two_to_one", "1", seconds[0] / seconds[1]);
  t.report("sixteen_to_one", "1", seconds[0] / seconds[3]);
}

// ── Actors that compute ───────────────────────────────────────────────────────────────────────

struct go_on {};

// Sends itself the next message until none is left.
class computing : public actor {
 public:
  computing(std::uint64_t messages, std::uint64_t steps, std::latch& done)
      : left_(messages), steps_(steps), done_(done) {}

  void on(go_on m) {
    std::uint64_t value = left_;
    for (std::uint64_t i = 0; i < steps_; ++i) {  // each step depends on the one before
      value = value * 3 + 1;
      asm volatile("" : "+r"(value));
    }
    if (--left_ == 0) return done_.count_down();
    self(this).send(m);
  }

 private:
  std::uint64_t left_;
  const std::uint64_t steps_;
  std::latch& done_;
};

void compute(trial& t) {
  const std::uint64_t actors = t["actors"];
  const std::uint64_t each = t["messages"] / actors;
  std::latch done(static_cast<std::ptrdiff_t>(actors));
  class system system({.workers = static_cast<unsigned>(t["workers"])});
  std::vector<ref<computing>> all;
  for (std::uint64_t i = 0; i < actors; ++i) {
    all.push_back(system.spawn<computing>(each, t["steps"], done));
  }
  const auto began = std::chrono::steady_clock::now();
  for (const auto& each_one : all) each_one.send(go_on{});
  done.wait();
  t.report("rate", "messages/s",
           static_cast<double>(each * actors) / workloads::seconds_since(began));
}

// ── What is shared ────────────────────────────────────────────────────────────────────────────

void computing_actors(trial& t) { with_each(t, compute, 64, t["computed"]); }
void independent_pairs(trial& t) { with_each(t, workloads::pingpong, t["actors"], t["messages"]); }
void pairs(trial& t) { with_each(t, workloads::pairs, t["actors"], t["messages"]); }
void wall(trial& t) { with_each(t, workloads::wall, t["actors"], t["messages"]); }
void one_pair(trial& t) { with_each(t, workloads::pingpong, 2, t["messages"]); }

}  // namespace

experiment sharing() {
  return {
      .asks = "How much do more workers gain, and what do they cost where they gain nothing?",
      .options = {{"actors", "in pairs or around the wall", 50'000, 500, 2},
                  {"messages", "messages in total", 20'000'000, 100'000, 8},
                  {"computed", "messages in total to actors that compute", 400'000, 2'000, 256},
                  {"steps", "of computing for each of these, one nanosecond each", 5'000, 1'000}},
      .variants = {{"troupe", "actors that compute", computing_actors},
                   {"troupe", "pairs, one ball each", independent_pairs},
                   {"troupe", "pairs, two balls each", pairs},
                   {"troupe", "wall", wall},
                   {"troupe", "one pair", one_pair}},
      .means =
          "More workers help where actors compute or are independent of each other; a single chain "
          "of messages, or one actor that receives from all others, gains nothing. Keep the "
          "default: one worker per core.",
  };
}

}  // namespace troupe::lab::experiments
