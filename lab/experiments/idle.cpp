// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

experiment idle() {
  return {
      .asks = "How much memory does an actor take that waits for messages?",
      .options = {workloads::workers,
                  {"actors", "actors with 16 bytes of state", 1'000'000, 10'000, 1, most_by_default,
                   1'000'000}},
      .variants = {{"troupe", "", workloads::idle}},
      .figures = {{"caf", "", "bytes_per_actor", 1328, workloads::measured_2026},
                  {"sobjectizer", "", "bytes_per_actor", 1952, workloads::measured_2026},
                  {"acto", "", "bytes_per_actor", 483, workloads::measured_2026},
                  {"tokio", "", "bytes_per_actor", 1288, workloads::measured_2026},
                  {"go", "", "bytes_per_actor", 2886, workloads::measured_2026}},
      .peers = {{""}},
      .means =
          "Count on this much memory for each actor that waits, beside your own state, when "
          "you ask how many a machine can hold.",
  };
}

}  // namespace troupe::lab::experiments
