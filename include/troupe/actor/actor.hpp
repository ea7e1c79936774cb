// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <type_traits>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/ref.hpp>

namespace troupe {

class system;

/// What an actor class derives from.
///
/// An actor handles the messages for which it has a public overload `on(M)`, `on(const M&)` or
/// `on(M&&)`; with a second parameter `address` it is told who sent the message. It may have
/// `void on_start()`, which runs before its first message, and `void on_stop()`, which runs after
/// its last one unless it failed. It is made by system::spawn() and destroyed by its own last turn.
///
/// Threads:   handlers, on_start(), on_stop() and the destructor run one at a time, each seeing what
///            the one before did; the constructor runs on the thread that spawns. The members below
///            are for these only.
/// Errors:    an exception that leaves a handler ends this actor, and no other one.
class actor {
 public:
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

 protected:
  /// Errors: std::logic_error if the object is not being made by spawn().
  actor();
  ~actor() = default;

  [[nodiscard]] address self() const noexcept { return block_->where(); }

  /// The typed handle to this actor: `self(this).send(m)`, `ref<account> me = self(this);`.
  template <class Self>
  [[nodiscard]] static self_ref<Self> self(Self* me) noexcept {
    static_assert(std::is_base_of_v<actor, Self>, "self(this) is for actors");
    return detail::ref_access::own<Self>(static_cast<actor*>(me)->block_);
  }

  [[nodiscard]] troupe::system& system() const noexcept;

  /// The name given at spawn, or the type's.
  [[nodiscard]] std::string_view name() const noexcept { return block_->name(); }

  /// Ends this actor once it has handled what was sent to it before.
  void stop() const { block_->stop(); }

  /// Tells this actor's on(down) when the other one has ended, once for each call, at once if it
  /// has ended already. Watching keeps neither of them alive.
  ///
  /// Errors: std::logic_error if this class has no on(troupe::down).
  void watch(const address& other);
  template <class A>
  void watch(const ref<A>& other) {
    watch_block(detail::ref_access::block(other));
  }

 private:
  void watch_block(detail::control_block& other);
  [[nodiscard]] const detail::dispatch& on_down() const;

  detail::control_block* const block_;
};

}  // namespace troupe
