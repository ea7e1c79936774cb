// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment ring() {
  return {
      .asks = "How fast does one message pass around a ring of many actors?",
      .options = {workloads::workers,
                  {"actors", "actors", 10'000, 100, 1, most_by_default, 10'000},
                  {"messages", "hops in total", 10'000'000, 100'000, 1, most_by_default,
                   10'000'000}},
      .variants = {{"troupe", "", workloads::second_run<workloads::ring>}},
      .peers = {{""}},
      .means =
          "A hop through many actors costs about as much as a hop between two, as long as the "
          "actors fit into the cache: chains of small actors are fine.",
  };
}

}  // namespace troupe::lab::experiments
