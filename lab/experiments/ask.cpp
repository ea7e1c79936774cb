// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment ask() {
  return {
      .asks = "How long does a request between two actors take until its reply arrives?",
      .options = {workloads::workers,
                  {"messages", "requests, one at a time", 1'000'000, 10'000, 1, most_by_default,
                   1'000'000}},
      .variants = {{"troupe", "", workloads::second_run<workloads::ask>}},
      .peers = {{""}},
      .means =
          "A request costs two messages and a time limit, and no thread. Use ask() where you need "
          "the reply; otherwise, a plain message is cheaper. An asking thread must be woken by the "
          "operating system, which takes far longer.",
  };
}

}  // namespace troupe::lab::experiments
