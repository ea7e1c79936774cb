// SPDX-License-Identifier: Apache-2.0
//
// The memory of a burst goes back to the operating system. That takes two rounds, a second apart,
// of a thread that does not report when it is done: so these tests poll until it is, or until a
// time that only a failure reaches.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/troupe.hpp>

namespace troupe {
namespace {

struct number {
  std::uint64_t value;
  std::array<std::byte, 8> rest;
};
struct tell {
  parker* whom;
};

class adder : public actor {
 public:
  void on(number m) { sum_ += m.value; }
  void on(tell m) { m.whom->notify(); }

 private:
  std::uint64_t sum_ = 0;
};

// The first message blocks its actor until all others are there.
struct wait_for {
  parker* until;
};
class late_adder : public adder {
 public:
  using adder::on;
  void on(wait_for m) { m.until->park(); }
};

void burst(system& in) {
  parker all_sent;
  parker all_handled;
  const auto one =
      in.spawn<late_adder>(spawn_options{.max_messages = no_limit, .max_bytes = no_limit});
  one.send(wait_for{&all_sent});
  for (std::uint64_t i = 0; i < 1'000'000; ++i) one.send(number{i, {}});
  one.send(tell{&all_handled});
  all_sent.notify();
  all_handled.park();
}

// Returns true if the pool shrinks to that size within half a minute.
bool falls_to(std::size_t bytes) {
  const time_point until = clock::now() + std::chrono::seconds(30);
  while (pool_used().resident > bytes) {
    if (clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

constexpr std::size_t little = 3'000'000;

TEST(returned_memory, of_a_handled_backlog_is_returned) {
  system_options options;
  options.workers = 1;
  system all{options};
  const std::size_t before = pool_used().resident;
  burst(all);
  EXPECT_TRUE(falls_to(before + little)) << pool_used().resident;
}

TEST(returned_memory, is_returned_while_the_system_keeps_working) {
  system_options options;
  options.workers = 1;
  system all{options};
  const std::size_t before = pool_used().resident;
  burst(all);
  const auto busy = all.spawn<adder>();
  (void)busy.send_every(std::chrono::milliseconds(1), number{1, {}});
  EXPECT_TRUE(falls_to(before + little)) << pool_used().resident;
  busy.stop();
}

TEST(returned_memory, of_two_systems_the_one_that_stays_gives_it_back) {
  system_options options;
  options.workers = 1;
  auto first = std::make_unique<system>(options);
  system second{options};
  const std::size_t before = pool_used().resident;
  burst(*first);
  burst(second);
  first.reset();
  EXPECT_TRUE(falls_to(before + little)) << pool_used().resident;
}

}  // namespace
}  // namespace troupe
