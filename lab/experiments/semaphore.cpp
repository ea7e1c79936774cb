// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <troupe/detail/base/cache_line.hpp>
#include <vector>

#include "lab/frame/experiment.hpp"
#include "lab/frame/stopwatch.hpp"
#include "lab/waiting/host_probe.hpp"
#include "lab/waiting/sample.hpp"
#include "lab/waiting/semaphores.hpp"

// One thread posts and many wait: as fast as possible, at intervals, and never.

namespace troupe::lab::experiments {

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Threads that wait on a semaphore and count the permits that they take.
template <class Semaphore>
class crowd {
 public:
  /// `taken(thread)` is called for each permit, on the thread that took it.
  template <class Taken>
  crowd(std::uint64_t threads, Taken taken) : counts_(threads) {
    for (std::uint64_t t = 0; t < threads; ++t) {
      threads_.emplace_back([this, t, taken] {
        for (std::uint64_t mine = 0;;) {
          permits.wait();
          if (over_.load(acquire)) return;  // [over] acquire: this post is the end
          taken(t);
          counts_[t].value.store(++mine, relaxed);  // [taken] relaxed: only counted
        }
      });
    }
  }

  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

  ~crowd() {
    over_.store(true, release);  // [over] release
    for (std::size_t i = 0; i < threads_.size(); ++i) permits.post();
    threads_.clear();
  }

  [[nodiscard]] std::uint64_t taken() const {
    std::uint64_t sum = 0;
    for (const count& each : counts_) sum += each.value.load(relaxed);  // [taken] relaxed: a count
    return sum;
  }

  /// Returns the permits that each thread has taken.
  [[nodiscard]] std::vector<double> taken_by_each() const {
    std::vector<double> all;
    for (const count& each : counts_) {
      all.push_back(static_cast<double>(each.value.load(relaxed)));  // [taken] relaxed: a count
    }
    return all;
  }

  Semaphore permits;

 private:
  struct alignas(cache_line_bytes) count {
    atomic<std::uint64_t> value{0};
  };

  atomic<bool> over_{false};
  std::vector<count> counts_;
  std::vector<std::jthread> threads_;
};

template <class Semaphore>
void flood(trial& t) {
  crowd<Semaphore> all(t["waiters"], [](std::uint64_t) {});
  const stopwatch watch;
  const double cpu = cpu_ns();
  const double most_s = static_cast<double>(t["flood_ms"]) * 1e-3;
  std::uint64_t posted = 0;
  while (posted < t["posts"] && (posted % 1'024 != 0 || watch.wall_s() < most_s)) {
    all.permits.post();
    ++posted;
  }
  while (all.taken() < posted) std::this_thread::sleep_for(std::chrono::microseconds{200});
  const auto count = static_cast<double>(posted);
  t.report("rate", "posts/s", count / watch.wall_s());
  t.report("cpu", "ns", (cpu_ns() - cpu) / count);
  watch.report(t);
  // A thread that found a permit without sleeping counts as woken too, as in the publication.
  const std::vector<double> each = all.taken_by_each();
  t.report("wakes_per_thread", "1", count / static_cast<double>(each.size()));
  t.report("wakes_least", "1", *std::min_element(each.begin(), each.end()));
  t.report("wakes_most", "1", *std::max_element(each.begin(), each.end()));
}

template <class Semaphore>
void idle(trial& t) {
  crowd<Semaphore> all(t["waiters"], [](std::uint64_t) {});
  std::this_thread::sleep_for(milliseconds{2});
  const stopwatch watch;
  const double cpu = cpu_ns();
  std::this_thread::sleep_for(milliseconds{t["idle_ms"]});
  t.report("idle_cpu", "us/s", (cpu_ns() - cpu) * 1e-3 / watch.wall_s());
  // Separately, because the probe itself takes CPU time.
  report_responsiveness(t, [&] { std::this_thread::sleep_for(milliseconds{t["idle_ms"]}); });
}

// Measures the time from before the post until the woken thread runs.
template <class Semaphore>
void rare(trial& t, std::uint64_t a_second, std::uint64_t events) {
  std::vector<steady_clock::time_point> posted(events);
  std::vector<sample> late(t["waiters"], sample(events));
  atomic<std::uint64_t> next{0};
  const auto take = [&](std::uint64_t thread) {
    const auto now = steady_clock::now();
    const std::uint64_t which = next.fetch_add(1, relaxed);  // [next] relaxed: the permit orders it
    late[thread].add(duration<double, std::nano>(now - posted[which]).count());
  };
  const std::string name = "rare_" + std::to_string(a_second);
  double cpu = 0;
  double wall = 0;
  {
    crowd<Semaphore> all(t["waiters"], take);
    std::this_thread::sleep_for(milliseconds{2});
    const stopwatch watch;
    cpu = cpu_ns();
    auto at = steady_clock::now();
    for (auto& when : posted) {
      at += std::chrono::nanoseconds{1'000'000'000 / a_second};
      std::this_thread::sleep_until(at);
      when = steady_clock::now();
      all.permits.post();
    }
    while (all.taken() < events) std::this_thread::sleep_for(std::chrono::microseconds{200});
    wall = watch.wall_s();
    cpu = cpu_ns() - cpu;
  }
  sample of_all(events);
  for (const sample& each : late) of_all.add(each);
  t.report(name + "_p50", "ns", of_all.percentile(0.5));
  if (events >= 100) t.report(name + "_p99", "ns", of_all.percentile(0.99));
  t.report(name + "_cpu", "us/s", cpu * 1e-3 / wall);
}

template <class Semaphore>
void run(trial& t) {
  flood<Semaphore>(t);
  idle<Semaphore>(t);
  const std::uint64_t events = t["events"];
  rare<Semaphore>(t, 1'000, events);
  rare<Semaphore>(t, 100, std::max<std::uint64_t>(1, events / 5));
  if (t["seconds"] > 0) rare<Semaphore>(t, 1, t["seconds"]);
}

constexpr const char* published_2018 = "2018, 10 M posts, 20 wait";

}  // namespace

experiment semaphore() {
  std::vector<variant> variants{
      {"troupe", "", run<troupe_semaphore>},
      {"posix", "sem_t", run<posix_semaphore>},
      {"std", "counting_semaphore", run<standard_semaphore>},
      {"std", "mutex + condition_variable", run<semaphore_of_mutex>},
      {"atomic", "polled, sched_yield", run<polled_semaphore<by_sched_yield>>},
      {"atomic", "polled, nanosleep 4 ns", run<polled_semaphore<by_nanosleep<4>>>},
      {"atomic", "polled, nanosleep 1 us", run<polled_semaphore<by_nanosleep<1'000>>>},
      {"atomic", "polled, nanosleep 100 us", run<polled_semaphore<by_nanosleep<100'000>>>},
      {"atomic", "polled, nanosleep 1 ms", run<polled_semaphore<by_nanosleep<1'000'000>>>},
  };
#if defined(TROUPE_LAB_MOODYCAMEL) && !defined(__SANITIZE_THREAD__)
  variants.push_back({"moodycamel", "LightweightSemaphore", run<moodycamel_semaphore>});
#endif
  return {
      .asks = "What does it cost to wait for events, and how late does a waiting thread wake?",
      .options = {{"posts", "posts, as fast as one thread can", 10'000'000, 20'000},
                  {"waiters", "threads that wait", 20, 4, 1, 1'024},
                  {"flood_ms", "the time limit for these; the remaining events are skipped", 3'000,
                   200},
                  {"idle_ms", "how long they wait without an event", 300, 5},
                  {"events", "events at 1,000 a second, five times those at 100", 500, 5, 1,
                   60'000},
                  {"seconds", "events at one a second; 0: none", 2, 0, 0, 3'600}},
      .variants = std::move(variants),
      .figures = {{"posix", "sem_t", "rate", 10e6 / 9.924, published_2018},
                  {"posix", "sem_t", "wakes_per_thread", 497'797, published_2018, 502'755},
                  {"atomic", "polled, nanosleep 4 ns", "rate", 10e6 / 0.341, published_2018},
                  {"atomic", "polled, nanosleep 4 ns", "wakes_per_thread", 454'759, published_2018,
                   608'086}},
      .means =
          "Polling looks good under constant load, and wastes CPU time while nothing happens. Use "
          "a semaphore that spins briefly and then sleeps, and compare at the event rate of your "
          "program.",
  };
}

}  // namespace troupe::lab::experiments
