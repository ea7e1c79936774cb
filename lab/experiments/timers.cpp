// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <troupe/troupe.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/frame/stopwatch.hpp"

// One actor gets one message from each of many timers, which another thread arms as fast as it can.

namespace troupe::lab::experiments {

namespace {

struct tick {
  time_point due;
};

class receiver : public actor {
 public:
  receiver(std::uint64_t expected, std::vector<duration>& lateness, std::latch& done)
      : expected_(expected), lateness_(lateness), done_(done) {}

  void on(tick t) {
    lateness_.push_back(clock::now() - t.due);  // has capacity
    if (lateness_.size() == expected_) done_.count_down();
  }

 private:
  const std::uint64_t expected_;
  std::vector<duration>& lateness_;
  std::latch& done_;
};

double ms(duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

duration percentile(std::vector<duration>& all, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), all.begin() + at, all.end());
  return all[static_cast<std::size_t>(at)];
}

void run(trial& t) {
  const std::uint64_t count = t["timers"];
  const std::uint64_t longest_us = t["longest"] * 1'000;
  std::vector<duration> lateness;
  lateness.reserve(count);
  std::latch done(1);
  {
    class system system({.workers = static_cast<unsigned>(t["workers"])});
    const auto to = system.spawn<receiver>({.max_messages = no_limit, .max_bytes = no_limit}, count,
                                           lateness, done);
    std::mt19937_64 random;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::chrono::microseconds delay(1'000 + random() % (longest_us - 999));
      to.send_after(delay, tick{clock::now() + delay});
    }
    t.report("arming_s", "s", watch.wall_s());
    done.wait();
    watch.report(t);
  }
  const duration earliest = *std::min_element(lateness.begin(), lateness.end());
  if (earliest < duration::zero()) {
    throw std::runtime_error("a timer was " + std::to_string(-ms(earliest)) + " ms early");
  }
  t.report("late_p50", "ms", ms(percentile(lateness, 0.5)));
  t.report("late_p99", "ms", ms(percentile(lateness, 0.99)));
  t.report("late_max", "ms", ms(percentile(lateness, 1)));
}

}  // namespace

experiment timers() {
  return {
      .asks = "How late are a million timers, and what do they cost?",
      .options = {{"timers", "timers that fire once", 1'000'000, 20'000, 1, 100'000'000, 1'000'000},
                  {"longest", "milliseconds; they are spread evenly from 1 to this", 1'000, 50, 1,
                   3'600'000, 1'000},
                  {"workers", "worker threads", 2, 2, 1, 1'024}},
      .variants = {{"troupe", "", run}},
      .means =
          "Timers are cheap enough for each request and each time limit. Compare the 99th "
          "percentile: it tells more than the median when a burst expires.",
  };
}

}  // namespace troupe::lab::experiments
