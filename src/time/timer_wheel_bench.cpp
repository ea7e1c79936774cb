// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a timer in a wheel that holds many others: set and removed before it fires,
// like a time-out that is not needed; set and fired.

#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>
#include <troupe/base/clock.hpp>
#include <troupe/detail/time/timer_wheel.hpp>
#include <vector>

namespace {

using namespace std::chrono_literals;
using troupe::duration;
using troupe::time_point;
using troupe::timer_node;
using troupe::timer_wheel;

template <class Run>
void report(const char* what, std::size_t operations, Run&& run) {
  const auto start = troupe::clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = troupe::clock::now() - start;
  std::printf("%-28s %8.2f ns\n", what, took.count() / static_cast<double>(operations));
}

}  // namespace

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const std::size_t others = smoke ? 1'000 : 100'000;
  const std::size_t operations = smoke ? 10'000 : 20'000'000;

  const time_point start{1000h};
  timer_wheel wheel{start};
  std::mt19937_64 random{1};
  const auto within_a_minute = [&] {
    return duration{static_cast<duration::rep>(random() % 60'000'000'000)};
  };
  std::vector<timer_node> nodes(others);
  for (timer_node& node : nodes) wheel.insert(node, start + within_a_minute());

  std::vector<duration> some(4096);
  for (duration& one : some) one = within_a_minute();
  timer_node node;
  report("insert and remove", operations, [&] {
    for (std::size_t i = 0; i < operations; ++i) {
      wheel.insert(node, start + some[i % some.size()]);
      wheel.remove(node);
    }
  });

  // Every timer is set again when it fires; the wheel is advanced from one expiry to the next.
  std::size_t fired = 0;
  const std::size_t firings = operations / 10;
  std::size_t calls = 0;
  report("fire and insert again", firings, [&] {
    while (fired < firings) {
      const time_point now = *wheel.next_expiry();
      fired += wheel
                   .advance(now,
                            [&](timer_node& due) {
                              wheel.insert(due, now + some[++calls % some.size()]);
                            })
                   .fired;
    }
  });
  report("next_expiry", operations, [&] {
    for (std::size_t i = 0; i < operations; ++i) {
      const auto next = wheel.next_expiry();
      asm volatile("" : : "r"(&next) : "memory");
    }
  });
  for (timer_node& one : nodes) wheel.remove(one);
}
