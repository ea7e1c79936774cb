// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment pingpong() {
  return {
      .asks = "How long does one message take between two actors?",
      .options = {{"workers", "worker threads", 2, 2, 1, 1024},
                  {"actors", "actors, in pairs with one message each", 2, 2, 2},
                  {"messages", "messages in all", 4'000'000, 40'000}},
      .variants = {{"troupe", "", workloads::pingpong}},
      .peers = {{""}},
  };
}

}  // namespace troupe::lab::experiments
