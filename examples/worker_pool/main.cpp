// SPDX-License-Identifier: Apache-2.0
//
// A pool of workers under a supervisor, behind one recipient. Each job goes to the worker with the least
// to do. Some jobs fail their worker the first time: it is restarted, and handles the same job once more.
// One job fails it every time: that one is given up, and named. All others are done once.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/actor/trace.hpp>
#include <troupe/supervision/router.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

namespace {

using namespace std::chrono_literals;

constexpr int workers = 4;
constexpr int jobs = 1'000;
constexpr int poisoned = 777;

struct job {
  int number;
};
struct done {
  int number;
};
struct wait_for_all {};

// Counts what is done, and answers when all is.
class foreman : public troupe::actor {
 public:
  void on(done m) {
    if (seen_[static_cast<std::size_t>(m.number)]++ != 0) ++twice_;
    if (++count_ == jobs - 1 && waits_) std::exchange(waits_, {}).fulfil(twice_);
  }
  void on(wait_for_all, troupe::reply<int> to) {
    if (count_ == jobs - 1) {
      to.fulfil(twice_);
    } else {
      waits_ = std::move(to);
    }
  }

 private:
  std::vector<int> seen_ = std::vector<int>(jobs);
  int count_ = 0;
  int twice_ = 0;
  troupe::reply<int> waits_;
};

class worker : public troupe::actor {
 public:
  using redelivered = troupe::messages<job>;

  explicit worker(troupe::recipient<done> to) : to_(std::move(to)) {}

  void on(const job& m) {
    if (m.number == poisoned) throw std::runtime_error("no worker survives this job");
    if (m.number % 100 == 99 && !has_failed_at(m.number)) throw std::runtime_error("bad luck");
    to_.send(done{m.number});
  }

 private:
  // Stands for what is wrong outside, and is well again a moment later.
  static bool has_failed_at(int number) {
    static std::atomic<bool> failed[jobs];
    return failed[number].exchange(true);
  }

  const troupe::recipient<done> to_;
};

}  // namespace

int main() {
  troupe::system system({.on_failure =
                             [](const troupe::failure& f) {
                               if (f.trace % 100 == 99) return;  // it will be tried again
                               std::printf("job %llu: %.*s\n",
                                           static_cast<unsigned long long>(f.trace),
                                           static_cast<int>(f.what.size()), f.what.data());
                             },
                         .traces = true});
  const auto boss = system.spawn<foreman>();

  std::vector<troupe::child_spec> children;
  for (int i = 0; i < workers; ++i) {
    children.push_back(
        troupe::child<worker>("worker " + std::to_string(i), troupe::recipient<done>(boss)));
  }
  const auto top = system.spawn<troupe::supervisor>(
      troupe::supervision{.max_restarts = 100, .min_backoff = 1ms, .max_backoff = 10ms}, children);

  std::vector<troupe::ref<worker>> hands;
  for (const troupe::child_spec& each : children) {
    hands.push_back(top.ask<troupe::find_child<worker>>(5s, each.name()).get().value());
  }
  const troupe::router<job> pool(system, hands, troupe::least_loaded{});

  for (int i = 0; i < jobs; ++i) {
    const troupe::trace_scope scope(static_cast<troupe::trace_id>(i));
    pool.send(job{i});
  }
  const int twice = boss.ask<wait_for_all>(30s).get().value();
  top.stop();
  top.join();
  std::printf("%d jobs done, %d of them twice; %llu restarts\n", jobs - 1, twice,
              static_cast<unsigned long long>(system.statistics().restarts));
  return twice;
}
