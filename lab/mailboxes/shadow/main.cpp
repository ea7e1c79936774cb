// SPDX-License-Identifier: Apache-2.0
//
// The actor workloads on whatever mailbox this was compiled with:
//
//   actors_on_<mailbox> WORKLOAD [SIZE VALUE]…
//
// Prints the figures as `METRIC UNIT VALUE`, a line for each.

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/trial.hpp"

namespace {

struct workload {
  std::string_view name;
  void (*run)(troupe::lab::trial&);
};

namespace workloads = troupe::lab::workloads;

constexpr std::array all{
    workload{"pingpong", workloads::pingpong},
    workload{"pairs", workloads::pairs},
    workload{"ring", workloads::ring},
    workload{"wall", workloads::wall},
    workload{"fanin", workloads::fanin_unbounded},
    workload{"spawn", workloads::spawn},
};

}  // namespace

int main(int count, char** arguments) {
  try {
    troupe::lab::sizes chosen;
    for (int i = 2; i + 1 < count; i += 2) chosen.set(arguments[i], std::stoull(arguments[i + 1]));
    for (const workload& each : all) {
      if (count < 2 || each.name != arguments[1]) continue;
      troupe::lab::trial one(std::move(chosen));
      each.run(one);
      for (const auto& f : one.figures()) {
        std::printf("%s %s %.17g\n", f.metric.c_str(), f.unit.c_str(), f.value);
      }
      return 0;
    }
    std::fprintf(stderr, "usage: %s pingpong|pairs|ring|wall|fanin|spawn [SIZE VALUE]…\n",
                 arguments[0]);
  } catch (const std::exception& why) {
    std::fprintf(stderr, "%s\n", why.what());
  }
  return 1;
}
