// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of passing a value through a channel: sent and received at once; taken by a
// select of two; sent by threads other than the receiving one. Prints nanoseconds per value.

#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/channel/channel.hpp>
#include <troupe/channel/select.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace {

using troupe::channel;

template <class Run>
void report(const char* what, std::size_t values, Run&& run) {
  const auto start = troupe::clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = troupe::clock::now() - start;
  std::printf("%-44s %8.2f ns\n", what, took.count() / static_cast<double>(values));
}

void one_thread(std::size_t values) {
  const channel<std::size_t> c(64);
  report("sent and received at once", values, [&] {
    for (std::size_t i = 0; i < values; ++i) {
      c.send(std::size_t{i});
      (void)c.receive();
    }
  });
}

void select_of_two(std::size_t values) {
  const channel<std::size_t> a(64);
  const channel<std::size_t> b(64);
  std::size_t sum = 0;
  report("sent, and taken by a select of two", values, [&] {
    for (std::size_t i = 0; i < values; ++i) {
      (i % 2 == 0 ? a : b).send(std::size_t{i});
      troupe::select(troupe::from(a, [&](std::size_t n) { sum += n; }),
                     troupe::from(b, [&](std::size_t n) { sum += n; }));
    }
  });
  if (sum != values * (values - 1) / 2) std::puts("the sum is wrong");
}

void between_threads(const char* what, std::size_t values, std::size_t senders,
                     std::size_t capacity) {
  const std::size_t each = values / senders;
  report(what, each * senders, [&] {
    auto [to, in] = channel<std::size_t>(capacity).ends();
    std::vector<troupe::jthread> threads;
    for (std::size_t s = 0; s < senders; ++s) {
      threads.emplace_back([to = to, each] {
        for (std::size_t i = 0; i < each; ++i) to.send(std::size_t{i});
      });
    }
    for (std::size_t i = 0; i < each * senders; ++i) (void)in.receive();
  });
}

}  // namespace

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const std::size_t values = smoke ? 10'000 : 2'000'000;
  one_thread(values);
  select_of_two(values);
  between_threads("sent by another thread, room for 1024", values, 1, 1024);
  between_threads("sent by four other threads, room for 1024", values, 4, 1024);
  between_threads("sent by another thread, room for 1", values / 10, 1, 1);
  between_threads("sent by another thread, hand in hand", values / 10, 1, 0);
}
