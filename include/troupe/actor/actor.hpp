// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <type_traits>

#include <troupe/actor/monitor.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/references.hpp>
#include <troupe/detail/actor/control_block.hpp>

namespace troupe {

class system;
/// Base class of all actor classes.
///
/// An actor handles the messages for which it has a public overload `on(M)`, `on(const M&)` or
/// `on(M&&)`. A second parameter of type `address` receives the sender. It may have
/// `void on_start()`, which runs before its first message, and `void on_stop()`, which runs after
/// its last one unless the actor failed. It may have `void references(reference_visitor&) const`,
/// which lists the references that it holds; see reference_visitor. It is made by system::spawn()
/// and destroyed by its own last turn.
///
/// Threads: handlers, on_start(), on_stop() and the destructor run one at a time, and each sees
///          what the one before did. The constructor runs on the thread that spawns. The members
///          below may be used only from these functions.
/// Errors:  an exception that leaves a handler terminates this actor and no other.
class actor {
 public:
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

 protected:
  /// Errors: std::logic_error if the object is not being made by spawn().
  actor();
  ~actor() = default;

  [[nodiscard]] address self_address() const noexcept { return block_->where(); }

  /// The typed handle to this actor: `self(this).send(m)`, `ref<account> me = self(this);`.
  template <class Self>
  [[nodiscard]] static self_ref<Self> self(Self* me) noexcept {
    static_assert(std::is_base_of_v<actor, Self>, "self(this) is for actors");
    return detail::ref_access::own<Self>(static_cast<actor*>(me)->block_);
  }

  [[nodiscard]] troupe::system& system() const noexcept;

  /// The name given at spawn, or else the name of the actor's type.
  [[nodiscard]] std::string_view name() const noexcept { return block_->name(); }

  /// Stops this actor after it has handled the messages that were sent to it before this call.
  void stop() const { block_->stop(); }

  /// Monitors another actor: when that actor has terminated, this actor's on(down) is called, once
  /// for each call of watch(). If it has already terminated, on(down) is called as soon as
  /// possible, with the exit reason if a handle is given, or with `unknown` if only an address is
  /// given. Monitoring keeps neither of the two actors alive.
  ///
  /// Cost:   a block of 128 bytes, a mutex of the other actor, and once for each of the two actors
  ///         a side block.
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

  /// Ends one monitor: its `down` is not handled any more, even if it is already in the mailbox.
  /// Returns false if the monitor was over, because on(down) or unwatch() had been called.
  ///
  /// Errors: std::logic_error if the monitor belongs to another actor.
  bool unwatch(const monitor& which);

  /// Links the two actors: when one terminates abnormally (see is_abnormal()), the other terminates
  /// as well, after the message that it is handling, as link_broken and with the cause in its
  /// `down`. An actor whose class has an on(troupe::link_down) is notified of every termination
  /// instead. Linking to a terminated actor has the effect of a termination now; if only an address
  /// is given, of an abnormal one. Linking twice, from either side, makes one link. A link keeps
  /// neither actor alive.
  ///
  /// Cost:   two mutexes and an entry in a table of each actor.
  /// Errors: std::bad_alloc.
  void link(const address& other);
  template <class A>
  void link(const ref<A>& other) {
    link_block(detail::ref_access::block(other));
  }
  template <message... Messages>
  void link(const recipient<Messages...>& other) {
    link_block(detail::recipient_access::block(other));
  }

  /// Removes the link, for both actors. It has no further effect: a link_down that is already in
  /// the mailbox is not handled, and this actor continues even if the other one has terminated and
  /// this one was about to terminate because of it.
  void unlink(const address& other) noexcept;

 private:
  monitor watch_block(detail::control_block& other);
  void link_block(detail::control_block& other);
  void check_on_down() const;

  detail::control_block* const block_;
};

}  // namespace troupe
