// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment fanin() {
  return {
      .asks = "How fast can one actor receive from several?",
      .options = {workloads::workers,
                  {"actors", "producers", 4, 4, 1, 1024},
                  {"messages", "messages of 16 bytes in all", 10'000'000, 100'000, 1024,
                   most_by_default, 5'000'000}},
      .variants = {{"troupe", "unbounded", workloads::fanin_unbounded},
                   {"troupe", "the default", workloads::fanin_by_default},
                   {"troupe", "bounded 1024", workloads::fanin_bounded}},
      .figures = {{"caf", "unbounded", "rate", 5.2e6, workloads::measured_2026},
                  {"sobjectizer", "unbounded", "rate", 3.0e6, workloads::measured_2026},
                  {"acto", "unbounded", "rate", 4.8e6, workloads::measured_2026},
                  {"tokio", "unbounded", "rate", 5.5e6, workloads::measured_2026},
                  {"tokio", "bounded 1024", "rate", 8.4e6, workloads::measured_2026},
                  {"go", "bounded 1024", "rate", 18.2e6, workloads::measured_2026},
                  {"sobjectizer", "bounded 1024", "rate", 2.5e6, workloads::measured_2026}},
      .peers = {{"unbounded"}, {"bounded 1024", 1024}},
      .means =
          "A limit holds down the memory of an actor that many write to, and what stays in the "
          "cache is quicker: keep the default unless you know better. Without a limit the "
          "backlog grows as long as the writers are ahead.",
  };
}

}  // namespace troupe::lab::experiments
