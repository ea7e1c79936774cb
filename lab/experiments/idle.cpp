// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment idle() {
  return {
      .asks = "How much memory does a waiting actor take?",
      .options = {workloads::workers,
                  {"actors", "actors with 16 bytes of state", 1'000'000, 10'000, 1, most_by_default,
                   1'000'000}},
      .variants = {{"troupe", "", workloads::idle}},
      .peers = {{""}},
      .means =
          "To estimate how many actors fit on a host, add this amount of memory for each waiting "
          "actor to the size of your own state.",
  };
}

}  // namespace troupe::lab::experiments
