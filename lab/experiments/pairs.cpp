// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment pairs() {
  return {
      .asks = "What does a message cost when many actors communicate at the same time?",
      .options = {workloads::workers,
                  {"actors", "actors, in pairs with two messages each", 50'000, 500, 2,
                   most_by_default, 50'000},
                  {"messages", "messages in total", 10'000'000, 100'000, 1, most_by_default,
                   10'000'000}},
      .variants = {{"troupe", "", workloads::second_run<workloads::pairs>}},
      .peers = {{""}},
      .means =
          "Many actors that communicate in pairs use the workers well: messages that stay on one "
          "worker are cheap, and more cores help.",
  };
}

}  // namespace troupe::lab::experiments
