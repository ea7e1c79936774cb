// SPDX-License-Identifier: Apache-2.0
// Two actors send one message back and forth while others run long handlers. How long does a hop
// take?
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/troupe.hpp>

#include "lab/frame/experiment.hpp"

namespace troupe::lab::experiments {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

double in_microseconds(duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

double percentile(std::vector<duration>& sorted, double part) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return in_microseconds(sorted[static_cast<std::size_t>(part * last)]);
}

void report(trial& t, std::vector<duration>& hops) {
  std::sort(hops.begin(), hops.end());
  t.report("hop_p50", "us", percentile(hops, 0.5));
  t.report("hop_p99", "us", percentile(hops, 0.99));
  t.report("hop_max", "us", percentile(hops, 1));
}

struct ball {
  time_point sent;
};
struct meet {
  recipient<ball> other;
};

/// Returns the ball at once, and records how long it was in flight.
class player : public actor {
 public:
  player(std::vector<duration>& hops, std::size_t most, std::binary_semaphore& over)
      : hops_(hops), most_(most), over_(over) {}

  void on(const meet& m) { other_ = m.other; }
  void on(const ball& b) {
    const time_point now = clock::now();
    hops_.push_back(now - b.sent);
    if (hops_.size() < most_) {
      other_.send(ball{clock::now()});
    } else if (!std::exchange(is_over_, true)) {
      over_.release();
    }
  }

 private:
  std::vector<duration>& hops_;
  const std::size_t most_;
  std::binary_semaphore& over_;
  recipient<ball> other_;
  bool is_over_ = false;
};

struct work {};

/// Is in a handler almost all the time.
class neighbour : public actor {
 public:
  neighbour(duration takes, bool computes) : takes_(takes), computes_(computes) {}
  void on(work) {
    self(this).send(work{});
    if (!computes_) return std::this_thread::sleep_for(takes_);
    const time_point until = clock::now() + takes_;
    while (clock::now() < until) {
    }
  }

 private:
  duration takes_;
  bool computes_;
};

// Ends after `seconds`, or after that number of hops.
void beside(trial& t, duration takes, bool computes) {
  std::vector<duration> hops;
  const auto most = static_cast<std::size_t>(t["hops"]);
  hops.reserve(most + 1);
  std::binary_semaphore over{0};
  {
    troupe::system system({.workers = static_cast<unsigned>(t["workers"])});
    std::vector<ref<neighbour>> busy;
    for (std::uint64_t i = 0; i < t["neighbours"]; ++i) {
      busy.push_back(system.spawn<neighbour>(takes, computes));
      busy.back().send(work{});
    }
    const auto one = system.spawn<player>(hops, most, over);
    const auto other = system.spawn<player>(hops, most, over);
    one.send(meet{recipient<ball>(other)});
    other.send(meet{recipient<ball>(one)});
    one.send(ball{clock::now()});
    (void)over.try_acquire_for(std::chrono::seconds(t["seconds"]));
    for (const auto& each : busy) each.stop_now();
    one.stop_now();
    other.stop_now();
    t.report("threads", "1", static_cast<double>(system.statistics().pool_threads));
  }
  if (hops.empty()) throw std::runtime_error("no message was handled within the measured time");
  report(t, hops);
}

void alone(trial& t) {
  std::vector<duration> hops;
  hops.reserve(static_cast<std::size_t>(t["hops"]) + 1);
  std::binary_semaphore over{0};
  {
    troupe::system system({.workers = static_cast<unsigned>(t["workers"])});
    const auto one = system.spawn<player>(hops, static_cast<std::size_t>(t["hops"]), over);
    const auto other = system.spawn<player>(hops, static_cast<std::size_t>(t["hops"]), over);
    one.send(meet{recipient<ball>(other)});
    other.send(meet{recipient<ball>(one)});
    one.send(ball{clock::now()});
    over.acquire();
    one.stop_now();
    other.stop_now();
  }
  report(t, hops);
}

void computing_short(trial& t) { beside(t, microseconds(900), true); }
void computing_long(trial& t) { beside(t, milliseconds(50), true); }
void blocking_short(trial& t) { beside(t, microseconds(900), false); }
void blocking_long(trial& t) { beside(t, milliseconds(50), false); }

/// Reports when it has received its message.
class witness : public actor {
 public:
  explicit witness(std::binary_semaphore& told) : told_(told) {}
  void on(work) { told_.release(); }

 private:
  std::binary_semaphore& told_;
};

/// Blocks until it is released.
class sleeper : public actor {
 public:
  sleeper(std::counting_semaphore<>& begun, std::counting_semaphore<>& go_on)
      : begun_(begun), go_on_(go_on) {}
  void on(work) {
    begun_.release();
    go_on_.acquire();
  }

 private:
  std::counting_semaphore<>& begun_;
  std::counting_semaphore<>& go_on_;
};

// All workers block at once. Measures how long it takes until another actor runs.
void all_block(trial& t) {
  std::vector<duration> times;
  for (std::uint64_t round = 0; round < t["rounds"]; ++round) {
    std::counting_semaphore<> begun{0};
    std::counting_semaphore<> go_on{0};
    std::binary_semaphore told{0};
    const auto workers = static_cast<unsigned>(t["workers"]);
    troupe::system system({.workers = workers});
    const auto other = system.spawn<witness>(told);
    for (unsigned i = 0; i < workers; ++i) system.spawn<sleeper>(begun, go_on).send(work{});
    for (unsigned i = 0; i < workers; ++i) begun.acquire();
    const time_point asked = clock::now();
    other.send(work{});
    told.acquire();
    times.push_back(clock::now() - asked);
    go_on.release(workers);
  }
  report(t, times);
}

}  // namespace

experiment neighbours() {
  return {
      .asks =
          "How long does a message between two actors take while other actors run long handlers?",
      .options = {{"workers", "of the pool", 2, 2, 1, 1'024},
                  {"neighbours", "actors that are always in a handler", 1, 1, 1, 65'536},
                  {"hops", "of the ball, at most", 5'000'000, 2'000},
                  {"seconds", "at most, with neighbours", 5, 1},
                  {"rounds", "in which all workers block", 50, 2}},
      .variants = {{"troupe", "alone", alone},
                   {"troupe", "computing 0.9 ms", computing_short},
                   {"troupe", "computing 50 ms", computing_long},
                   {"troupe", "blocking 0.9 ms", blocking_short},
                   {"troupe", "blocking 50 ms", blocking_long},
                   {"troupe", "all workers block", all_block}},
      .means =
          "A long handler does not delay other actors, because a replacement thread takes over its "
          "worker. Mark blocking code with troupe::blocking(): unmarked blocking is detected only "
          "after a while.",
  };
}

}  // namespace troupe::lab::experiments
