// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>
#include <troupe/base/assert.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/thread.hpp>
#include <utility>
#include <vector>

#include "lab/frame/stopwatch.hpp"
#include "lab/frame/trial.hpp"
#include "lab/mailboxes/candidate.hpp"

namespace troupe::lab {

/// Waits for another thread: pauses a few times, then yields the core each time.
class patience {
 public:
  void wait() {
    if (tries_ < 32) {
      ++tries_;
      cpu_relax();
    } else {
      std::this_thread::yield();
    }
  }
  void reset() { tries_ = 0; }

 private:
  int tries_ = 0;
};

/// The messages for a queue, and how they are sent.
struct traffic {
  std::uint64_t producers;
  std::uint64_t messages;   // in total
  std::uint64_t batch = 1;  // messages in one push
  std::size_t limit = no_limit;
};

/// Sends make(i) from each producer, and passes the received messages to look(M&&). A producer that
/// finds the queue full waits, as does a consumer that finds it empty. A consumer that finds less
/// than 64 messages pauses 32 times before it checks again. Reports `rate`.
template <class Box, class Make, class Look>
void measure_traffic(trial& t, const traffic& flow, Make&& make, Look&& look) {
  using M = typename Box::value_type;
  const std::uint64_t each = flow.messages / flow.producers;
  const std::uint64_t all = each * flow.producers;
  Box box(flow.limit);
  atomic<bool> go{false};

  const auto produce = [&] {
    // [go] acquire: the start of the measurement comes before.
    while (!go.load(acquire)) std::this_thread::yield();
    sender_of_t<Box> to = sender_of_t<Box>(box);
    patience calm;
    const auto insist = [&](auto&& step) {
      while (step() == pushed::full) calm.wait();
      calm.reset();
    };
    if (flow.batch == 1) {
      for (std::uint64_t i = 0; i < each; ++i) {
        M message(make(i));
        insist([&] { return to.push(std::move(message)); });
      }
    } else if constexpr (takes_batches<sender_of_t<Box>, M>) {
      std::vector<M> some;
      for (std::uint64_t i = 0; i < each;) {
        some.clear();
        while (some.size() < flow.batch && i < each) some.push_back(make(i++));
        insist([&] { return to.push_all(some); });
      }
    } else {
      TROUPE_EXPECTS(false, "this queue does not support batches");
    }
    if constexpr (requires { to.flush(); }) insist([&] { return to.flush(); });
  };

  std::vector<jthread> threads;
  for (std::uint64_t i = 0; i < flow.producers; ++i) threads.emplace_back(produce);
  const stopwatch watch;
  go.store(true, release);  // [go]
  patience calm;
  for (std::uint64_t received = 0; received < all;) {
    const std::size_t now = box.drain(look);
    received += now;
    if (now == 0) {
      calm.wait();
    } else {
      calm.reset();
      // A reader that returns at once after it has found few messages takes the senders' cache line
      // from them for each message.
      for (int i = 0; now < 64 && i < 32; ++i) cpu_relax();
    }
  }
  t.report("rate", "items/s", static_cast<double>(all) / watch.wall_s());
}

}  // namespace troupe::lab
