// SPDX-License-Identifier: Apache-2.0
#include <latch>
#include <utility>
#include <vector>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"

namespace troupe::lab::workloads {

namespace {

struct hit {};

class player : public actor {
 public:
  struct meet {
    recipient<hit> wall;
  };
  void on(meet m) { wall_ = std::move(m.wall); }
  void on(hit) { wall_.send(hit{}); }

 private:
  recipient<hit> wall_;
};

class brick_wall : public actor {
 public:
  brick_wall(std::vector<ref<player>> players, std::uint64_t hits, std::latch& done)
      : players_(std::move(players)), left_(hits), done_(done) {}

  void on(hit) {
    if (left_ == 0) return;
    if (--left_ == 0) {
      done_.count_down();
      return;
    }
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    players_[random_ % players_.size()].send(hit{});
  }

 private:
  std::vector<ref<player>> players_;
  std::uint64_t left_;
  std::latch& done_;
  std::uint64_t random_ = 88172645463325252ULL;
};

}  // namespace

void wall(trial& t) {
  const std::uint64_t messages = t["messages"];
  std::latch done(1);
  class system system(system_of(t));
  std::vector<ref<player>> players;
  for (std::size_t i = 0; i < t["actors"]; ++i) players.push_back(system.spawn<player>());
  auto middle = system.spawn<brick_wall>(players, messages / 2, done);
  for (auto& each : players) each.send(player::meet{middle});
  const auto began = std::chrono::steady_clock::now();
  for (auto& each : players) each.send(hit{});
  done.wait();
  t.report("rate", "messages/s", static_cast<double>(messages) / seconds_since(began));
  middle.stop_now();
}

}  // namespace troupe::lab::workloads
