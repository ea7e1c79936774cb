// SPDX-License-Identifier: Apache-2.0
#include "elevator.hpp"

#include <cstdio>

elevator::to<elevator::moving, elevator::open> elevator::on(idle, call m) {
  std::printf("called to floor %d\n", m.floor);
  goal_ = m.floor;
  if (goal_ == floor_) return open{};
  return moving{};
}

// Moves by one floor. Entering `moving` again restarts the time limit for the next floor.
elevator::to<elevator::moving, elevator::open> elevator::on(moving, time_limit) {
  floor_ += floor_ < goal_ ? 1 : -1;
  std::printf("floor %d\n", floor_);
  if (floor_ == goal_) return open{};
  return moving{};
}

void elevator::on_enter(open) { std::printf("doors open\n"); }
void elevator::on_exit(open) { std::printf("doors close\n"); }
void elevator::on_enter(halted) { std::printf("halted\n"); }
void elevator::on_exit(halted) { std::printf("goes on\n"); }

void elevator::on_unhandled(std::string_view in_state, std::string_view message) {
  std::printf("%.*s: no use for %.*s\n", static_cast<int>(in_state.size()), in_state.data(),
              static_cast<int>(message.size()), message.data());
}
