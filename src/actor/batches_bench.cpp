// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a message for a receiver with a handler per message, and for one that takes
// batches. Messages are sent in rounds by the thread that pumps the receiver, so that each batch is
// as large as possible. They have 16 bytes, or 256 bytes, whose batches do not fit on the stack.
// Prints nanoseconds per message, for sending and for handling.
//
//   batches_bench [--smoke]

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <troupe/troupe.hpp>

namespace {

template <std::size_t Bytes>
struct reading {
  std::uint64_t value = 0;
  std::array<std::byte, Bytes - sizeof(std::uint64_t)> rest{};
};

template <std::size_t Bytes>
class one_by_one : public troupe::actor {
 public:
  explicit one_by_one(std::uint64_t& sum) : sum_(sum) {}
  void on(const reading<Bytes>& m) { sum_ += m.value; }

 private:
  std::uint64_t& sum_;
};

template <std::size_t Bytes>
class together : public troupe::actor {
 public:
  explicit together(std::uint64_t& sum) : sum_(sum) {}
  void on(std::span<const reading<Bytes>> batch) {
    for (const auto& each : batch) sum_ += each.value;
  }

 private:
  std::uint64_t& sum_;
};

template <class Actor, std::size_t Bytes>
void measure(const char* what, std::uint64_t rounds) {
  constexpr std::uint64_t each = 64;
  troupe::system system({.workers = 1});
  troupe::pump pump{system};
  std::uint64_t sum = 0;
  const auto to = system.spawn<Actor>(troupe::spawn_options{.where = bound_to(pump)}, sum);
  (void)pump.drain();
  std::chrono::duration<double, std::nano> sending{};
  std::chrono::duration<double, std::nano> handling{};
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const auto began = troupe::clock::now();
    for (std::uint64_t n = 0; n < each; ++n) to.send(reading<Bytes>{n, {}});
    const auto sent = troupe::clock::now();
    (void)pump.drain();
    handling += troupe::clock::now() - sent;
    sending += sent - began;
  }
  const auto messages = static_cast<double>(rounds * each);
  std::printf("%-28s %4zu bytes %8.1f ns sent %8.1f ns handled%s\n", what, Bytes,
              sending.count() / messages, handling.count() / messages,
              sum == rounds * (each * (each - 1) / 2) ? "" : "  WRONG");
}

}  // namespace

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::strcmp(arguments[1], "--smoke") == 0;
  const std::uint64_t rounds = smoke ? 10 : 50'000;
  measure<one_by_one<16>, 16>("one by one", rounds);
  measure<together<16>, 16>("in batches of 64", rounds);
  measure<one_by_one<256>, 256>("one by one", rounds);
  measure<together<256>, 256>("in batches of 64", rounds);
}
