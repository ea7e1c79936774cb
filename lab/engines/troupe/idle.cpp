// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"

namespace troupe::lab::workloads {

namespace {

struct number {
  std::uint64_t value;
};

class idler : public actor {
 public:
  void on(number n) { state_[0] += n.value; }

 private:
  std::uint64_t state_[2] = {};
};

}  // namespace

void idle(trial& t) {
  const std::size_t count = t["actors"];
  class system system(system_of(t));
  std::vector<ref<idler>> all;
  const std::size_t before = rss_bytes();
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(system.spawn<idler>());
  t.report("bytes_per_actor", "bytes",
           static_cast<double>(rss_bytes() - before) / static_cast<double>(count));
}

}  // namespace troupe::lab::workloads
