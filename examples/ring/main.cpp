// SPDX-License-Identifier: Apache-2.0
// A round table: each seat holds a reference to the next, in a cycle. When no other references
// exist the cycle is collected. Two actors that do not declare their references are not collected,
// but reported.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct bottle {
  int rounds;
};

class seat : public troupe::actor {
 public:
  struct next {
    troupe::ref<seat> neighbour;
  };
  void on(const next& m) { next_ = m.neighbour; }
  void on(bottle b) {
    if (is_first_) std::printf("round %d is over\n", ++round_);
    if (is_first_ && b.rounds-- == 1) return;
    next_.send(b);
  }
  void references(troupe::reference_visitor& visit) const { visit(next_); }

  explicit seat(bool is_first) : is_first_(is_first) {}

 private:
  const bool is_first_;
  int round_ = 0;
  troupe::ref<seat> next_;
};

class guest;

// These two hold each other, but do not declare their references.
class host : public troupe::actor {
 public:
  void on(const troupe::ref<guest>& g) { guest_ = g; }

 private:
  troupe::ref<guest> guest_;
};

class guest : public troupe::actor {
 public:
  explicit guest(troupe::ref<host> of) : host_(std::move(of)) {}

 private:
  troupe::ref<host> host_;
};

void seat_five(troupe::system& system) {
  std::vector<troupe::ref<seat>> table;
  for (int i = 0; i < 5; ++i) table.push_back(system.spawn<seat>(i == 0));
  for (std::size_t i = 0; i < 5; ++i) table[i].send(seat::next{table[(i + 1) % 5]});
  table[1].send(bottle{3});
}  // the last external references are released here

}  // namespace

int main() {
  troupe::system system({.cycle_search = 10ms});
  seat_five(system);
  while (system.statistics().actors_collected < 5) std::this_thread::sleep_for(1ms);
  std::printf("%llu seats collected\n",
              static_cast<unsigned long long>(system.statistics().actors_collected));

  {
    const auto one = system.spawn<host>();
    one.send(system.spawn<guest>(one));
  }
  std::vector<troupe::system::suspect> those;
  while (those.size() < 2) those = system.unreachable_suspects();  // until they are idle
  for (const char* kind : {"host", "guest"}) {
    for (const auto& each : those) {
      if (each.name.find(kind) != std::string::npos) std::printf("suspect: %s\n", kind);
    }
  }
}
