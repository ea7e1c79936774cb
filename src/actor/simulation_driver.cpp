// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/actor/simulation_driver.hpp>

#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/sync/per_thread.hpp>

namespace troupe::detail {

namespace {

struct of_this_thread {
  simulation_driver* one = nullptr;
};

turn_result turn_of_one(runnable& r, activity& mine) noexcept {
  return control_block::turn_of(r, mine, 1);
}

}  // namespace

simulation_driver*& simulation_driver::here() noexcept {
  return per_thread<of_this_thread>::here().one;
}

turn_result driven_executor::give(runnable& r, bool only_one) noexcept {
  return static_cast<control_block&>(r).runs_on().give_turn(
      r, only_one ? turn_of_one : control_block::turn, activity_);
}

}  // namespace troupe::detail
