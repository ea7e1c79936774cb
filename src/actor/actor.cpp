// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/actor.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime.hpp"
#include "termination_notices.hpp"
#include "watching.hpp"

namespace troupe {

actor::actor() : block_(std::exchange(detail::this_turn().constructing, nullptr)) {
  if (block_ == nullptr) {
    throw std::logic_error(
        "an actor was constructed without system::spawn() and has no mailbox: spawn it and keep a "
        "ref");
  }
}

troupe::system& actor::system() const noexcept { return *block_->home().owner(); }

void actor::check_on_down() const {
  if (block_->type().on_down != nullptr) return;
  throw std::logic_error(
      std::string(block_->type().name) +
      " watches another actor but cannot be notified: add the handler void on(troupe::down)");
}

namespace {

// The actor at an address, held; null if it has terminated.
struct held {
  explicit held(const address& of) noexcept : block(detail::control_block::hold_to_the_end(of)) {}
  held(const held&) = delete;
  held& operator=(const held&) = delete;
  ~held() {
    if (block != nullptr) block->let_go();
  }
  detail::control_block* const block;
};

}  // namespace

monitor actor::watch(const address& other) {
  check_on_down();
  return detail::watch_it(*block_, other, held(other).block);
}

monitor actor::watch_block(detail::control_block& other) {
  check_on_down();
  return detail::watch_it(*block_, other.where(), &other);
}

bool actor::unwatch(const monitor& which) { return detail::unwatch(*block_, which); }

void actor::link(const address& other) { detail::link(*block_, other, held(other).block); }
void actor::link_block(detail::control_block& other) {
  detail::link(*block_, other.where(), &other);
}
void actor::unlink(const address& other) noexcept { detail::unlink(*block_, other); }

}  // namespace troupe
