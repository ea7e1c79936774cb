// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment fanin() {
  return {
      .asks = "How fast can one actor receive from several senders?",
      .options = {workloads::workers,
                  {"actors", "producers", 4, 4, 1, 1024},
                  {"messages", "messages of 16 bytes in total", 10'000'000, 100'000, 1024,
                   most_by_default, 5'000'000}},
      .variants = {{"troupe", "unbounded", workloads::second_run<workloads::fanin_unbounded>},
                   {"troupe", "the default", workloads::second_run<workloads::fanin_by_default>},
                   {"troupe", "bounded 1024", workloads::second_run<workloads::fanin_bounded>}},
      .peers = {{"unbounded"}, {"bounded 1024", 1024}},
      .means =
          "A limit bounds the memory of an actor with many senders, and messages that stay in the "
          "cache are faster: keep the default limit unless you measured a better one. Without a "
          "limit, the backlog grows as long as the senders are faster than the receiver.",
  };
}

}  // namespace troupe::lab::experiments
