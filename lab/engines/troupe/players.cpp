// SPDX-License-Identifier: Apache-2.0
#include <latch>
#include <utility>
#include <vector>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"

namespace troupe::lab::workloads {

namespace {

struct ball {
  std::uint64_t left;
};

// Forwards each ball until it has made enough hops.
class player : public actor {
 public:
  struct meet {
    ref<player> other;
  };
  struct forget {};

  explicit player(std::latch& done) : done_(done) {}

  void on(meet m) { other_ = std::move(m.other); }
  void on(ball b) {
    if (b.left == 0) {
      done_.count_down();
    } else {
      other_.send(ball{b.left - 1});
    }
  }
  void on(forget) { other_ = {}; }

 private:
  std::latch& done_;
  ref<player> other_;
};

// Players that refer to each other would never stop.
void part(const std::vector<ref<player>>& players) {
  for (const auto& each : players) each.send(player::forget{});
}

void play(trial& t, std::size_t balls_per_pair) {
  const std::size_t pairs = t["actors"] / 2;
  const std::size_t balls = pairs * balls_per_pair;
  const std::uint64_t hops = t["messages"] / balls;
  std::latch done(static_cast<std::ptrdiff_t>(balls));
  class system system(system_of(t));
  std::vector<ref<player>> players;
  for (std::size_t i = 0; i < pairs; ++i) {
    auto a = system.spawn<player>(done);
    auto b = system.spawn<player>(done);
    a.send(player::meet{b});
    b.send(player::meet{a});
    players.push_back(std::move(a));
    players.push_back(std::move(b));
  }
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) players[i + k].send(ball{hops});
  }
  done.wait();
  t.report("rate", "messages/s", static_cast<double>(hops * balls) / seconds_since(began));
  part(players);
}

}  // namespace

void pingpong(trial& t) { play(t, 1); }
void pairs(trial& t) { play(t, 2); }

void ring(trial& t) {
  const std::size_t count = t["actors"];
  const std::uint64_t hops = t["messages"];
  std::latch done(1);
  class system system(system_of(t));
  std::vector<ref<player>> players;
  for (std::size_t i = 0; i < count; ++i) players.push_back(system.spawn<player>(done));
  for (std::size_t i = 0; i < count; ++i) {
    players[i].send(player::meet{players[(i + 1) % count]});
  }
  const auto began = std::chrono::steady_clock::now();
  players[0].send(ball{hops});
  done.wait();
  t.report("rate", "messages/s", static_cast<double>(hops) / seconds_since(began));
  part(players);
}

}  // namespace troupe::lab::workloads
