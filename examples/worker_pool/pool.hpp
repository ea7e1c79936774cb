// SPDX-License-Identifier: Apache-2.0
#pragma once

// A pool of supervised workers behind one recipient. Each job goes to the least loaded worker. A
// job that fails its worker is delivered once more, to the next incarnation. If it fails that too,
// it is given up and reported. All other jobs are done once.
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <troupe/supervision/router.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

namespace pool {

using namespace std::chrono_literals;

inline constexpr int workers = 4;

struct job {
  int number;
};
struct done {
  int number;
};
struct wait_for_all {
  int jobs;
};

// Counts finished jobs. When the requested number is done, it replies with the number done twice.
class foreman : public troupe::actor {
 public:
  void on(done m) {
    if (!seen_.insert(m.number).second) ++twice_;
    if (static_cast<int>(seen_.size()) == wanted_) std::exchange(waits_, {}).set_value(twice_);
  }
  void on(wait_for_all m, troupe::reply<int> to) {
    wanted_ = m.jobs;
    if (static_cast<int>(seen_.size()) == wanted_) {
      to.set_value(twice_);
    } else {
      waits_ = std::move(to);
    }
  }

 private:
  std::set<int> seen_;
  int twice_ = 0;
  int wanted_ = -1;
  troupe::reply<int> waits_;
};

// Executes a job. Throws if the job fails.
using work = std::function<void(int number)>;

class worker : public troupe::actor {
 public:
  using redelivered = troupe::messages<job>;

  worker(work does, troupe::recipient<done> to) : does_(std::move(does)), to_(std::move(to)) {}

  void on(const job& m) {
    does_(m.number);
    to_.send(done{m.number});
  }

 private:
  const work does_;
  const troupe::recipient<done> to_;
};

// ── The pool ─────────────────────────────────────────────────────────────────────────────────────

struct all {
  troupe::ref<foreman> boss;
  troupe::ref<troupe::supervisor> top;
  troupe::router<job> hands;
};

inline all open(troupe::system& system, const work& does) {
  const auto boss = system.spawn<foreman>();
  std::vector<troupe::child_spec> children;
  for (int i = 0; i < workers; ++i) {
    children.push_back(
        troupe::child<worker>("worker " + std::to_string(i), does, troupe::recipient<done>(boss)));
  }
  const auto top = system.spawn<troupe::supervisor>(
      troupe::supervision{.max_restarts = 100, .min_backoff = 1ms, .max_backoff = 10ms}, children);

  std::vector<troupe::ref<worker>> hands;
  for (const troupe::child_spec& each : children) {
    hands.push_back(top.ask<troupe::find_child<worker>>(5s, each.name()).get().value());
  }
  return {boss, top, troupe::router<job>(system, hands, troupe::least_loaded{})};
}

}  // namespace pool
