// SPDX-License-Identifier: Apache-2.0

// Threads and an actor connected by channels: numbers go to workers, squares and heartbeats come
// back. The main thread takes whichever arrives first until the squares are closed.
//
//   feed → numbers (4 places, the feed waits) → workers → squares (8 places, they wait) → main
//   heart, an actor → beats (1 place, the oldest is dropped)                            → main

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/troupe.hpp>

namespace {

struct beat {
  int number;
};

/// Runs on the pool, where a handler must not block, so its channel drops beats that are not
/// received.
class heart : public troupe::actor {
 public:
  struct pulse {};

  explicit heart(troupe::channel<beat>::sender beats) : beats_(std::move(beats)) {}

  void on_start() { self(this).send_every(std::chrono::milliseconds(1), pulse{}); }
  void on(pulse) { beats_.try_send(beat{++number_}); }

 private:
  troupe::channel<beat>::sender beats_;
  int number_ = 0;
};

void feed(const troupe::channel<int>::sender& numbers) {
  for (int n = 1; n <= 100; ++n) numbers.send(int{n});
}

void work(const troupe::channel<int>::receiver& numbers,
          const troupe::channel<long>::sender& squares) {
  while (const auto n = numbers.receive()) squares.send(long{*n} * *n);
}

}  // namespace

int main() {
  troupe::system system;
  std::vector<std::jthread> threads;

  // Each thread holds the ends that it uses. A channel is closed when its last sender is destroyed.
  auto [squares_in, squares] = troupe::channel<long>(8).ends();
  {
    auto [numbers_in, numbers] = troupe::channel<int>(4).ends();
    threads.emplace_back(feed, std::move(numbers_in));
    for (int i = 0; i < 3; ++i) threads.emplace_back(work, numbers, squares_in);
  }
  { const auto only_the_workers_send = std::move(squares_in); }

  auto [beats_in, beats] = troupe::channel<beat>(1, troupe::overflow::drop_oldest).ends();
  const auto beats_while_we_work = system.spawn<heart>(std::move(beats_in));

  long sum = 0;
  int last_beat = 0;
  bool working = true;
  while (working) {
    troupe::select(troupe::from(squares,
                                [&](troupe::received<long> square) {
                                  if (square) sum += *square;
                                  working = !square.is_closed();
                                }),
                   troupe::from(beats, [&](beat b) { last_beat = b.number; }));
  }
  std::printf("the sum of the squares of 1 to 100 is %ld, after %d beats\n", sum, last_beat);
}
