// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <troupe/detail/sync/thread.hpp>

#include "lab/frame/thread_timeline.hpp"
#include "lab/pipeline/handle.hpp"
#include "lab/pipeline/measured.hpp"
#include "lab/pipeline/stages.hpp"
#include "lab/waiting/sample.hpp"

// The published variants, with the standard library.

namespace troupe::lab::pipeline {

namespace {

// Processes a request, and records when this thread sleeps and when it computes.
std::uint64_t handle_in(thread_timeline& lanes, std::size_t lane, const request& one) {
  if (one.sleep.count() != 0) {
    lanes.waiting(lane, "asleep in a request", [&] { std::this_thread::sleep_for(one.sleep); });
  }
  return lanes.running(lane, "computing", [&] { return compute(one); });
}

processed one_after_the_other(const trial&, const requests& all) {
  thread_timeline lanes(1);
  processed done;
  for (const request& each : all) done.sum += handle_in(lanes, 0, each);
  return done;
}

constexpr std::size_t batch = 100;

processed by_batches(const trial&, const requests& all) {
  processed done;
  done.threads_most = static_cast<unsigned>(std::min(batch, all.size()));
  thread_timeline lanes(done.threads_most + 1);
  const std::size_t creator = done.threads_most;
  std::vector<std::uint64_t> results(batch);
  std::vector<double> used_ns(batch);
  const double before = cpu_ns();
  double in_requests = 0;
  for (std::size_t from = 0; from < all.size(); from += batch) {
    const std::size_t count = std::min(batch, all.size() - from);
    {
      std::vector<jthread> threads;
      lanes.running(creator, "creating threads", [&] {
        for (std::size_t i = 0; i < count; ++i) {
          threads.emplace_back([&, i] {
            const double began = thread_cpu_ns();
            results[i] = handle_in(lanes, i, all[from + i]);
            used_ns[i] = thread_cpu_ns() - began;
          });
        }
      });
      lanes.waiting(creator, "joining threads", [&] { threads.clear(); });
    }
    for (std::size_t i = 0; i < count; ++i) {
      done.sum += results[i];
      in_requests += used_ns[i];
    }
  }
  done.threads_share = 1 - in_requests / (cpu_ns() - before);
  return done;
}

/// One queue for all threads, behind a mutex.
class request_queue {
 public:
  void push(const request& one) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(&one);
    }
    changed_.notify_one();
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }
  /// Returns null when it is closed and empty.
  const request* pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return nullptr;
    const request* const one = waiting_.front();
    waiting_.pop_front();
    return one;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<const request*> waiting_;
  bool closed_ = false;
};

processed on_pool(const requests& all, std::uint64_t size) {
  request_queue queue;
  thread_timeline lanes(size);
  std::vector<std::uint64_t> sums(size);
  {
    std::vector<jthread> threads;
    for (std::size_t t = 0; t < size; ++t) {
      threads.emplace_back([&, t] {
        std::uint64_t sum = 0;
        const auto next = [&] {
          return lanes.waiting(t, "waiting for a request", [&] { return queue.pop(); });
        };
        while (const request* const one = next()) sum += handle_in(lanes, t, *one);
        sums[t] = sum;
      });
    }
    for (const request& each : all) queue.push(each);
    queue.close();
  }
  processed done{.threads_most = static_cast<unsigned>(size)};
  for (const std::uint64_t each : sums) done.sum += each;
  return done;
}

}  // namespace

void sequential(trial& t) { measure(t, one_after_the_other); }
void thread_each(trial& t) { measure(t, by_batches); }
void pool_of_cores(trial& t) {
  measure(t, [](const trial& sizes, const requests& all) { return on_pool(all, sizes["cores"]); });
}
void pool_of_threads(trial& t) {
  measure(t,
          [](const trial& sizes, const requests& all) { return on_pool(all, sizes["threads"]); });
}

}  // namespace troupe::lab::pipeline
