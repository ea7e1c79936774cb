// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"
#include "lab/frame/stopwatch.hpp"

namespace troupe::lab::experiments {

namespace {

constexpr std::uint64_t starts = 50;
constexpr std::uint64_t exchanges = 50;

// As the published test of acto: everything starts and stops 50 times, with 50 messages for each
// player in between. The time includes the starts and the stops.
void start_and_stop(trial& t) {
  const std::uint64_t messages = std::min(exchanges * t["actors"], t["messages"]);
  sizes each_time;
  each_time.set("workers", t["workers"]);
  each_time.set("actors", t["actors"]);
  each_time.set("messages", messages);
  const stopwatch watch;
  double exchanging_s = 0;
  for (std::uint64_t i = 0; i < starts; ++i) {
    trial one(each_time);
    workloads::wall(one);
    exchanging_s += static_cast<double>(messages) / one.figures().front().value;
  }
  const double all_s = watch.wall_s();
  t.report("rate", "messages/s", static_cast<double>(starts * messages) / all_s);
  t.report("start_and_stop", "ms", 1e3 * (all_s - exchanging_s) / static_cast<double>(starts));
}

}  // namespace

// The sizes are those of the published test of acto.
experiment wall() {
  return {
      .asks = "How fast is an actor that receives from all others?",
      .options = {workloads::workers,
                  {"actors", "players, with a ball each", 50'000, 500, 1, most_by_default, 5'000},
                  {"messages", "messages in total", 10'000'000, 100'000, 2, most_by_default,
                   1'000'000}},
      .variants = {{"troupe", "", workloads::second_run<workloads::wall>},
                   {"troupe", "50 starts and stops", start_and_stop}},
      .figures = {{"acto", "50 starts and stops", "rate", 400e3, "2007, Core Duo"},
                  {"acto", "mailbox with a mutex", "rate", 730e3, "2009, Core 2 Duo"},
                  {"acto", "mailbox of two stacks", "rate", 830e3, "2009, Core 2 Duo"}},
      .peers = {{""}},
      .means =
          "An actor that receives from all others runs on one worker at a time, whatever the "
          "number of cores. If it becomes the bottleneck, split its state, or let it only forward "
          "messages.",
  };
}

}  // namespace troupe::lab::experiments
