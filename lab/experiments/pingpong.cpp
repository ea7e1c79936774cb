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
      .peers = {{""}},
      .means =
          "One message at a time is the worst case for any runtime: nothing can run in parallel or "
          "in batches. Use this figure as the cost of each step in a chain of actors that wait for "
          "each other.",
  };
}

}  // namespace troupe::lab::experiments
