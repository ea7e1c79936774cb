// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment spawn() {
  return {
      .asks = "How many actors can start, reply to one message and terminate per second?",
      .options = {workloads::workers,
                  {"actors", "actors", 1'000'000, 10'000, 1, most_by_default, 1'000'000},
                  {"batch", "actors that are spawned in a turn", 64, 64, 1, most_by_default, 64}},
      .variants = {{"troupe", "", workloads::second_run<workloads::spawn>}},
      .peers = {{""}},
      .means =
          "Actors are cheap enough to create one for each job and let it terminate with the job. A "
          "pool of actors is seldom worth its complexity.",
  };
}

}  // namespace troupe::lab::experiments
