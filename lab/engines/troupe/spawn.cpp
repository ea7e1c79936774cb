// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <latch>
#include <stdexcept>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"

namespace troupe::lab::workloads {

namespace {

struct answer {
  std::uint64_t value;
};
struct question {
  recipient<answer> to;
  std::uint64_t value;
};

class short_lived : public actor {
 public:
  void on(question q) { q.to.send(answer{q.value}); }  // no reference keeps it: it stops by itself
};

class collector : public actor {
 public:
  struct spawn_more {};

  collector(std::uint64_t count, std::uint64_t batch, std::uint64_t& sum, std::latch& done)
      : count_(count), batch_(batch), sum_(sum), done_(done) {}

  // Spawns a part in each turn, so that it receives their replies in between.
  void on(spawn_more) {
    const std::uint64_t end = std::min(count_, spawned_ + batch_);
    for (; spawned_ < end; ++spawned_) {
      system().spawn<short_lived>().send(question{self(this), spawned_});
    }
    if (spawned_ < count_) self(this).send(spawn_more{});
  }
  void on(answer a) {
    sum_ += a.value;
    if (++answers_ == count_) done_.count_down();
  }

 private:
  const std::uint64_t count_;
  const std::uint64_t batch_;
  std::uint64_t spawned_ = 0;
  std::uint64_t& sum_;
  std::latch& done_;
  std::uint64_t answers_ = 0;
};

}  // namespace

void spawn(trial& t) {
  const std::uint64_t count = t["actors"];
  std::uint64_t sum = 0;
  std::latch done(1);
  class system system(system_of(t));
  auto counting = system.spawn<collector>(count, t["batch"], sum, done);
  const auto began = std::chrono::steady_clock::now();
  counting.send(collector::spawn_more{});
  done.wait();
  t.report("rate", "actors/s", static_cast<double>(count) / seconds_since(began));
  if (sum != count * (count - 1) / 2) throw std::logic_error("a reply is wrong");
}

}  // namespace troupe::lab::workloads
