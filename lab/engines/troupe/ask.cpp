// SPDX-License-Identifier: Apache-2.0
#include <latch>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"

namespace troupe::lab::workloads {

namespace {

struct question {
  std::uint64_t value;
};
struct begin {
  std::uint64_t questions;
};

class teller : public actor {
 public:
  std::uint64_t on(question q) { return q.value + 1; }
};

// One request at a time, each with a time-out.
class client : public actor {
 public:
  client(ref<teller> to, std::latch& done) : to_(std::move(to)), done_(done) {}

  task<> on(begin b) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < b.questions; ++i) {
      value = *co_await to_.ask<question>(std::chrono::seconds(1), value);
    }
    if (value == b.questions) done_.count_down();
  }

 private:
  const ref<teller> to_;
  std::latch& done_;
};

}  // namespace

void ask(trial& t) {
  std::latch done(1);
  class system system(system_of(t));
  const auto to = system.spawn<teller>();
  const auto from = system.spawn<client>(to, done);
  const auto began = std::chrono::steady_clock::now();
  from.send(begin{t["messages"]});
  done.wait();
  t.report("rate", "messages/s", static_cast<double>(t["messages"]) / seconds_since(began));
}

}  // namespace troupe::lab::workloads
