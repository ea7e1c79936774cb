// SPDX-License-Identifier: Apache-2.0
#include <latch>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"

namespace troupe::lab::workloads {

namespace {

struct item {
  std::uint64_t producer;
  std::uint64_t number;
};
static_assert(sizeof(item) == 16);

class consumer : public actor {
 public:
  consumer(std::uint64_t expected, std::uint64_t& sum, std::latch& done)
      : left_(expected), sum_(sum), done_(done) {}

  void on(item i) {
    sum_ += i.number;
    if (--left_ == 0) done_.count_down();
  }

 private:
  std::uint64_t left_;
  std::uint64_t& sum_;
  std::latch& done_;
};

// Sends a batch and then a message to itself, so that others are scheduled too. If the consumer's
// mailbox is full, the producer is suspended: its next turn comes when there is space.
class producer : public actor {
 public:
  struct step {};

  producer(ref<consumer> to, std::uint64_t number, std::uint64_t count)
      : to_(std::move(to)), number_(number), count_(count) {}

  void on(step) {
    for (unsigned i = 0; i < batch && sent_ < count_; ++i) {
      if (to_.send(item{number_, sent_++}) != delivery::accepted) break;
    }
    if (sent_ < count_) self(this).send(step{});
  }

 private:
  static constexpr unsigned batch = 64;

  ref<consumer> to_;
  std::uint64_t number_;
  std::uint64_t count_;
  std::uint64_t sent_ = 0;
};

void fanin(trial& t, const spawn_options& consuming) {
  const std::uint64_t producers = t["actors"];
  const std::uint64_t each = t["messages"] / producers;
  const std::uint64_t messages = each * producers;
  std::uint64_t sum = 0;
  std::latch done(1);
  class system system(system_of(t));
  auto to = system.spawn<consumer>(consuming, messages, sum, done);
  std::vector<ref<producer>> all;
  for (std::uint64_t i = 0; i < producers; ++i) {
    all.push_back(system.spawn<producer>(to, i, each));
  }
  const auto began = std::chrono::steady_clock::now();
  for (auto& one : all) one.send(producer::step{});
  done.wait();
  t.report("rate", "messages/s", static_cast<double>(messages) / seconds_since(began));
  if (sum != producers * (each * (each - 1) / 2)) throw std::logic_error("a message was lost");
}

}  // namespace

void fanin_unbounded(trial& t) { fanin(t, {.max_messages = no_limit, .max_bytes = no_limit}); }
void fanin_by_default(trial& t) { fanin(t, {}); }
void fanin_bounded(trial& t) { fanin(t, {.max_messages = 1024}); }

}  // namespace troupe::lab::workloads
