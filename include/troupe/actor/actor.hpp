// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <type_traits>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/monitor.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/references.hpp>

namespace troupe {

class system;
/// What an actor class derives from.
///
/// An actor handles the messages for which it has a public overload `on(M)`, `on(const M&)` or
/// `on(M&&)`; with a second parameter `address` it is told who sent the message. It may have
/// `void on_start()`, which runs before its first message, and `void on_stop()`, which runs after
/// its last one unless it failed. It may have `void references(reference_visitor&) const`, which lists
/// what it holds: see reference_visitor. It is made by system::spawn() and destroyed by its own last turn.
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
  /// has ended already: with its reason if a handle is given, as `unknown` by an address alone. Watching keeps neither
  /// of them alive.
  ///
  /// Cost:   a block of 128 bytes, a mutex of the other actor's, and for each of the two once a block
  ///         for what only some actors need.
  /// Errors: std::logic_error if this class has no on(troupe::down). std::bad_alloc.
  monitor watch(const address& other);
  template <class A>
  monitor watch(const ref<A>& other) {
    return watch_block(detail::ref_access::block(other));
  }
  template <message... Messages>
  monitor watch(const recipient<Messages...>& other) {
    return watch_block(detail::recipient_access::block(other));
  }

  /// Ends one watch: its `down` is not handled any more, not even one that is in the mailbox already.
  /// False if it was over, because on(down) was called or it was unwatched.
  ///
  /// Errors: std::logic_error if it is another actor's.
  bool unwatch(const monitor& which);

  /// Links the two: when one ends abnormally (see is_abnormal()), the other ends as well, after the
  /// message that it is handling, as link_broken and with the cause in its `down`. A class that has
  /// an on(troupe::link_down) is told instead, of every end. Linking to one that has ended is as if it
  /// ended now, or, by an address alone, as if it had ended abnormally; linking twice, from either side, gives one link. It
  /// keeps neither of them alive.
  ///
  /// Cost:   two mutexes and an entry in a table of each. Errors: std::bad_alloc.
  void link(const address& other);
  template <class A>
  void link(const ref<A>& other) {
    link_block(detail::ref_access::block(other));
  }
  template <message... Messages>
  void link(const recipient<Messages...>& other) {
    link_block(detail::recipient_access::block(other));
  }

  /// Ends the link, for both. Nothing of it takes effect any more, not even a link_down that is in
  /// the mailbox already, nor an end of the other one that this one has not yet ended with.
  void unlink(const address& other) noexcept;

 private:
  monitor watch_block(detail::control_block& other);
  void link_block(detail::control_block& other);
  void check_on_down() const;

  detail::control_block* const block_;
};

}  // namespace troupe
