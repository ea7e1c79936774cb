// SPDX-License-Identifier: Apache-2.0
//
// An elevator as a state machine. `elevator` runs it; `elevator --dot` prints it as a diagram:
//
//   elevator --dot | dot -Tsvg > elevator.svg
#include <chrono>
#include <cstdio>
#include <string_view>
#include <troupe/troupe.hpp>

#include "elevator.hpp"

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "--dot") {
    std::fputs(troupe::to_dot<elevator>().c_str(), stdout);
    return 0;
  }
  troupe::system system;
  const auto lift = system.spawn<elevator>(std::chrono::milliseconds(10));
  lift.send(call{2});
  lift.send(emergency{});
  lift.send(all_clear{});   // it continues in its previous state
  lift.send(all_clear{});   // not handled in this state
  lift.send(call{0});       // deferred until the elevator is idle
  lift.send(close_down{});  // also deferred, after the call
  lift.join();
}
