// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment pingpong() {
  return {
      .asks = "How long does one message take between two actors?",
      .options = {workloads::workers,
                  {"actors", "actors, in pairs with one message each", 2, 2, 2},
                  {"messages", "messages in total", 4'000'000, 40'000, 1, most_by_default,
                   4'000'000}},
      .variants = {{"troupe", "", workloads::second_run<workloads::pingpong>}},
      .figures = {{"caf", "", "rate", 4.1e6, workloads::measured_2026},
                  {"sobjectizer", "", "rate", 1.2e6, workloads::measured_2026},
                  {"acto", "", "rate", 2.9e6, workloads::measured_2026},
                  {"tokio", "", "rate", 8.4e6, workloads::measured_2026},
                  {"go", "", "rate", 6.2e6, workloads::measured_2026}},
      .peers = {{""}},
      .means =
          "One message at a time is the worst case for any runtime: nothing can run in parallel or "
          "in batches. Use this figure as the cost of each step in a chain of actors that wait for "
          "each other.",
  };
}

}  // namespace troupe::lab::experiments
