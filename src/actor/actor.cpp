// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/actor.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include "down_message.hpp"
#include "runtime.hpp"

namespace troupe {

actor::actor() : block_(std::exchange(detail::this_turn().constructing, nullptr)) {
  if (block_ == nullptr) {
    throw std::logic_error(
        "an actor was made without system::spawn(): it has no mailbox. Spawn it, and keep a ref");
  }
}

troupe::system& actor::system() const noexcept { return *block_->home().owner(); }

const detail::dispatch& actor::on_down() const {
  if (const detail::dispatch* const how = block_->type().on_down) return *how;
  throw std::logic_error(
      std::string(block_->type().name) +
      " watches another actor but cannot be told: give it void on(troupe::down)");
}

void actor::watch(const address& other) {
  const detail::dispatch& how = on_down();
  detail::control_block* const target = detail::control_block::hold_to_the_end(other);
  struct let_go {
    detail::control_block* held;
    ~let_go() {
      if (held != nullptr) held->let_go();
    }
  } guard{target};
  detail::watch(*block_, how, other, target);
}

void actor::watch_block(detail::control_block& other) {
  detail::watch(*block_, on_down(), other.where(), &other);
}

}  // namespace troupe
