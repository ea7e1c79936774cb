// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/sync/atomic.hpp>
#include <troupe/troupe.hpp>

#include "lab/pipeline/handle.hpp"
#include "lab/pipeline/measured.hpp"
#include "lab/pipeline/stages.hpp"

namespace troupe::lab::pipeline {

namespace {

struct arrival {};
struct work {
  computation of;
};
struct answer {
  std::uint64_t value;
};

// ── How to sleep ──────────────────────────────────────────────────────────────────────────────

struct unsaid {
  static void sleep(const request& one) {
    if (one.sleep.count() != 0) std::this_thread::sleep_for(one.sleep);
  }
};

struct said {
  static void sleep(const request& one) {
    if (one.sleep.count() == 0) return;
    blocking([&] { std::this_thread::sleep_for(one.sleep); });
  }
};

struct timers {};

// ── An actor for each request ─────────────────────────────────────────────────────────────────

template <class How>
class handler : public actor {
 public:
  handler(const request& of, recipient<answer> to) : of_(of), to_(std::move(to)) {}

  void on(arrival) {
    How::sleep(of_);
    to_.send(answer{compute(of_)});
  }

 private:
  const request& of_;
  const recipient<answer> to_;
};

template <>
class handler<timers> : public actor {
 public:
  handler(const request& of, recipient<answer> to) : of_(of), to_(std::move(to)) {}

  task<> on(arrival) {
    if (of_.sleep.count() != 0) co_await sleep_for(of_.sleep);
    to_.send(answer{compute(of_)});
  }

 private:
  const request& of_;
  const recipient<answer> to_;
};

// Takes the next request when one has been replied to, so that a fixed number is in flight.
template <class How>
class actor_each : public actor {
 public:
  actor_each(const requests& all, std::uint64_t in_flight, std::uint64_t& sum, std::latch& done)
      : all_(all), in_flight_(in_flight), sum_(sum), done_(done) {}

  void on(arrival) {
    while (taken_ < std::min<std::uint64_t>(in_flight_, all_.size())) take_next();
  }
  void on(answer a) {
    sum_ += a.value;
    if (taken_ < all_.size()) take_next();
    if (++answered_ == all_.size()) done_.count_down();
  }

 private:
  void take_next() {
    system().template spawn<handler<How>>(all_[taken_++], self(this)).send(arrival{});
  }

  const requests& all_;
  const std::uint64_t in_flight_;
  std::uint64_t& sum_;
  std::latch& done_;
  std::uint64_t taken_ = 0;
  std::uint64_t answered_ = 0;
};

// ── Sleeps first ──────────────────────────────────────────────────────────────────────────────

class collector : public actor {
 public:
  collector(std::uint64_t expected, std::uint64_t& sum, std::latch& done)
      : left_(expected), sum_(sum), done_(done) {}

  void on(answer a) {
    sum_ += a.value;
    if (--left_ == 0) done_.count_down();
  }

 private:
  std::uint64_t left_;
  std::uint64_t& sum_;
  std::latch& done_;
};

class computing : public actor {
 public:
  explicit computing(ref<collector> to) : to_(std::move(to)) {}

  // Computes one part, then lets the messages that have arrived meanwhile have their turn.
  void on(work w) {
    w.of.next_part();
    if (w.of.is_over()) {
      to_.send(answer{w.of.result()});
    } else {
      self(this).send(w);
    }
  }

 private:
  const ref<collector> to_;
};

template <class How>
class fetching : public actor {
 public:
  fetching(const request& of, ref<computing> to) : of_(of), to_(std::move(to)) {}

  void on(arrival) {
    How::sleep(of_);
    to_.send(work{computation(of_)});
  }

 private:
  const request& of_;
  const ref<computing> to_;
};

// Reads all requests, on a thread of its own, because the reader may block.
template <class How>
class sleeps_first : public actor {
 public:
  sleeps_first(const requests& all, const ref<collector>& to, std::uint64_t actors) : all_(all) {
    for (std::uint64_t i = 0; i < actors; ++i)
      computers_.push_back(system().template spawn<computing>(to));
  }

  void on(arrival) {
    for (const request& each : all_) {
      const ref<computing>& to = computers_[each.number % computers_.size()];
      if (each.sleep.count() == 0) {
        while (to.send(work{computation(each)}) == delivery::refused) {
        }
      } else if constexpr (std::is_same_v<How, timers>) {
        to.send_after(each.sleep, work{computation(each)});
      } else {
        system().template spawn<fetching<How>>(each, to).send(arrival{});
      }
    }
  }

 private:
  const requests& all_;
  std::vector<ref<computing>> computers_;
};

// ── Entry points ──────────────────────────────────────────────────────────────────────────────

// `begin` spawns the actors that begin; they count `done` down when all requests are processed.
template <class Begin>
processed serve(const trial& t, Begin begin) {
  const auto cores = static_cast<unsigned>(t["cores"]);
  atomic<unsigned> threads_most{cores};
  const auto count_threads = [&](const pool_event& e) {
    // [most] relaxed: read when the system has ended.
    unsigned most = threads_most.load(relaxed);
    while (e.threads > most &&
           !threads_most.compare_exchange_weak(most, e.threads, relaxed, relaxed)) {
    }
  };
  processed result;
  std::latch done(1);
  {
    class system system({.workers = cores, .on_pool = count_threads});
    begin(system, result.sum, done).send(arrival{});
    done.wait();
  }
  result.threads_most = threads_most.load(relaxed);  // [most]
  return result;
}

template <class How>
processed serve_by_actor_each(const trial& t, const requests& all) {
  return serve(t, [&](class system& system, std::uint64_t& sum, std::latch& done) {
    return system.spawn<actor_each<How>>(all, t["in-flight"], sum, done);
  });
}

template <class How>
processed serve_sleeps_first(const trial& t, const requests& all) {
  return serve(t, [&](class system& system, std::uint64_t& sum, std::latch& done) {
    const auto to = system.spawn<collector>(all.size(), sum, done);
    return system.spawn<sleeps_first<How>>({.where = own_thread}, all, to, t["actors"]);
  });
}

}  // namespace

void actor_each_unsaid(trial& t) { measure(t, serve_by_actor_each<unsaid>); }
void actor_each_said(trial& t) { measure(t, serve_by_actor_each<said>); }
void actor_each_timers(trial& t) { measure(t, serve_by_actor_each<timers>); }

void sleeps_first_unsaid(trial& t) { measure(t, serve_sleeps_first<unsaid>); }
void sleeps_first_said(trial& t) { measure(t, serve_sleeps_first<said>); }
void sleeps_first_timers(trial& t) { measure(t, serve_sleeps_first<timers>); }

}  // namespace troupe::lab::pipeline
