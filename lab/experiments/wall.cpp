// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

// The sizes are those of the published test of acto, which also started and stopped everything 50
// times.
experiment wall() {
  return {
      .asks = "How fast is an actor that receives from all others?",
      .options = {workloads::workers,
                  {"actors", "players, with a ball each", 50'000, 500, 1, most_by_default, 50'000},
                  {"messages", "messages in total", 10'000'000, 100'000, 2, most_by_default,
                   10'000'000}},
      .variants = {{"troupe", "", workloads::wall}},
      .figures = {{"acto", "", "rate", 400e3, "2007, Core Duo"},
                  {"acto", "mailbox with a mutex", "rate", 730e3, "2009, Core 2 Duo"},
                  {"acto", "mailbox of two stacks", "rate", 830e3, "2009, Core 2 Duo"},
                  {"caf", "", "rate", 1.27e6, workloads::measured_2026},
                  {"sobjectizer", "", "rate", 1.49e6, workloads::measured_2026},
                  {"acto", "", "rate", 1.98e6, workloads::measured_2026},
                  {"tokio", "", "rate", 4.21e6, workloads::measured_2026},
                  {"go", "", "rate", 2.66e6, workloads::measured_2026}},
      .peers = {{""}},
      .means =
          "An actor that receives from all others runs on one worker at a time, whatever the "
          "number of cores. If it becomes the bottleneck, split its state, or let it only forward "
          "messages.",
  };
}

}  // namespace troupe::lab::experiments
