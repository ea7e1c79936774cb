// SPDX-License-Identifier: Apache-2.0
//
// See pool.hpp. Some jobs fail their worker the first time; one fails it every time.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include <troupe/actor/trace.hpp>
#include <troupe/troupe.hpp>

#include "pool.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int jobs = 1'000;
constexpr int poisoned = 777;

// Simulates an external failure that is gone on the second attempt.
bool has_failed_at(int number) {
  static std::array<std::atomic<bool>, jobs> failed;
  return failed[static_cast<std::size_t>(number)].exchange(true);
}

void work(int number) {
  if (number == poisoned) throw std::runtime_error("no worker survives this job");
  if (number % 100 == 99 && !has_failed_at(number)) throw std::runtime_error("bad luck");
}

}  // namespace

int main() {
  troupe::system system({.on_failure =
                             [](const troupe::failure& f) {
                               if (f.trace % 100 == 99) return;  // it will be retried
                               std::printf("job %llu: %.*s\n",
                                           static_cast<unsigned long long>(f.trace),
                                           static_cast<int>(f.what.size()), f.what.data());
                             },
                         .traces = true});
  const pool::all it = pool::open(system, work);

  for (int i = 0; i < jobs; ++i) {
    const troupe::trace_scope scope(static_cast<troupe::trace_id>(i));
    it.hands.send(pool::job{i});
  }
  const int twice = it.boss.ask<pool::wait_for_all>(30s, jobs - 1).get().value();
  it.top.stop();
  it.top.join();
  std::printf("%d jobs done, %d of them twice; %llu restarts\n", jobs - 1, twice,
              static_cast<unsigned long long>(system.statistics().restarts));
  return twice;
}
