// SPDX-License-Identifier: Apache-2.0
#include "lab/pipeline/measured.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <troupe/detail/sync/thread.hpp>

#include "lab/frame/stopwatch.hpp"

namespace troupe::lab::pipeline {

namespace {

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// The computation of the requests [from, to) on a number of threads, each of which has its fixed
/// part.
class calibration {
 public:
  void add(const requests& all, std::size_t from, std::size_t to, std::uint64_t cores) {
    std::vector<std::uint64_t> sums(cores);
    const stopwatch watch;
    {
      std::vector<jthread> threads;
      for (std::size_t t = 0; t < cores; ++t) {
        threads.emplace_back([&, t] {
          std::uint64_t sum = 0;
          for (std::size_t i = from + t; i < to; i += cores) {
            computation one(all[i]);
            while (!one.is_over()) one.next_part();
            sum += one.result();
          }
          sums[t] = sum;
        });
      }
    }
    wall_s_ += watch.wall_s();
    for (const std::uint64_t each : sums) sum_ += each;
  }

  double wall_s() const { return wall_s_; }
  std::uint64_t sum() const { return sum_; }

 private:
  double wall_s_ = 0;
  std::uint64_t sum_ = 0;
};

struct bounds {
  double any_order;  // the larger of the total computation and the longest request
  double in_order;   // if no request begins before all earlier ones have been computed
};

bounds bounds_of(const requests& all, double computing_s, std::uint64_t cores) {
  double rounds = 0;
  for (const request& each : all) rounds += each.rounds;
  const double of_round = computing_s / rounds;  // of all cores together
  bounds result{computing_s, computing_s};
  double before = 0;
  for (const request& each : all) {
    const double alone = seconds(each.sleep) + each.rounds * of_round * static_cast<double>(cores);
    result.any_order = std::max(result.any_order, alone);
    result.in_order = std::max(result.in_order, before * of_round + alone);
    before += each.rounds;
  }
  return result;
}

requests requests_of(const trial& t) {
  if (!t.input().empty()) return read_requests(t.input());
  return generate(t["count"], std::chrono::milliseconds(t["longest"]));
}

}  // namespace

void measure(trial& t, processed (*process)(const trial& t, const requests& all)) {
  const requests all = requests_of(t);
  const std::uint64_t cores = t["cores"];
  calibration computing;
  computing.add(all, 0, all.size() / 2, cores);
  const stopwatch watch;
  const processed done = process(t, all);
  const double wall_s = watch.wall_s();
  trial used = t;
  watch.report(used);
  computing.add(all, all.size() / 2, all.size(), cores);
  if (done.sum != computing.sum()) {
    throw std::runtime_error("the control sum is " + std::to_string(done.sum) + " instead of " +
                             std::to_string(computing.sum()) +
                             ": results were lost, duplicated or wrong");
  }
  const bounds least = bounds_of(all, computing.wall_s(), cores);
  t.report("rate", "requests/s", static_cast<double>(all.size()) / wall_s);
  t.report("share_of_bound", "1", least.any_order / wall_s);
  t.report("share_of_bound_in_order", "1", least.in_order / wall_s);
  t.report("bound_s", "s", least.any_order);
  t.report("threads_most", "1", done.threads_most);
  if (done.threads_share > 0) t.report("cpu_share_of_threads", "1", done.threads_share);
  for (const figure& each : used.figures()) t.report(each.metric, each.unit, each.value);
}

}  // namespace troupe::lab::pipeline
