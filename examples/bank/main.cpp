// SPDX-License-Identifier: Apache-2.0
//
// See bank.hpp.
#include <chrono>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>

#include <troupe/troupe.hpp>

#include "bank.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int transfers = 200;

// Fails in one of ten steps.
void lights_go_out() {
  thread_local std::minstd_rand random(std::random_device{}());
  if (random() % 10 == 0) throw std::runtime_error("the lights went out");
}

}  // namespace

int main() {
  bank::fail_sometimes = lights_go_out;
  troupe::system system({.on_failure = [](const troupe::failure&) {}});
  const bank::books books;
  const auto it = bank::open(system, books);

  const auto desk = it.ask<troupe::find_child<bank::teller>>(5s, "teller").get().value();
  std::minstd_rand random(2024);
  const auto anybody = [&] { return static_cast<int>(random() % bank::accounts); };
  for (int i = 0; i < transfers; ++i) {
    desk.send(bank::order{i, anybody(), anybody(), static_cast<long>(random() % 300)});
  }
  // The teller may fail while it handles the request.
  int done = 0;
  while (done != transfers) done = desk.ask<bank::all_done>(1s, transfers).get().value_or(0);

  long sum = 0;
  for (int i = 0; i < bank::accounts; ++i) {
    const auto one =
        it.ask<troupe::find_child<bank::account>>(5s, "account " + std::to_string(i)).get().value();
    sum += one.ask<bank::balance>(5s).get().value();
  }
  const auto counts = system.statistics();
  std::printf("%d transfers, %llu failures, %llu restarts\n", done,
              static_cast<unsigned long long>(counts.failures),
              static_cast<unsigned long long>(counts.restarts));
  std::printf("%ld cents before, %ld after\n", bank::accounts * bank::cents_each, sum);
  return sum == bank::accounts * bank::cents_each ? 0 : 1;
}
