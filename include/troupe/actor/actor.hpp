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
/// `on(M&&)`. A second parameter of type `address` receives the sender. Three functions are
/// optional. `void on_start()` runs before the first message. `void on_stop()` runs after the last
/// one, unless the actor failed. `void references(reference_visitor&) const` lists the references
/// that the actor holds; see reference_visitor. An actor is created by system::spawn() and
/// destroyed in its own last turn.
///
/// Threads: handlers, on_start(), on_stop() and the destructor run one at a time, and each sees the
///          effects of the previous one. The constructor runs on the thread that calls spawn(). The
///          members below may be used only in these functions.
/// Errors:  an exception that leaves a handler terminates this actor and no other.
class actor {
 public:
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

 protected:
  /// Called for an object that system::spawn() constructs.
  ///
  /// Errors: std::logic_error for any other object.
  actor();
  ~actor() = default;

  [[nodiscard]] address self_address() const noexcept { return block_->where(); }

  /// Returns the typed handle to this actor: `self(this).send(m)`, `ref<account> me = self(this);`.
  template <class Self>
  [[nodiscard]] static self_ref<Self> self(Self* me) noexcept {
    static_assert(std::is_base_of_v<actor, Self>, "self(this) is for actors");
    return detail::ref_access::own<Self>(static_cast<actor*>(me)->block_);
  }

  [[nodiscard]] troupe::system& system() const noexcept;

  /// Returns the name given at spawn; without one, the name of the actor's type.
  [[nodiscard]] std::string_view name() const noexcept { return block_->name(); }

  /// Stops this actor after it has handled the messages that were sent to it before this call.
  void stop() const { block_->stop(); }

  /// Monitors another actor: when that actor has terminated, this actor's on(down) is called, once
  /// for each call of watch(). If the other actor has already terminated, on(down) is called as
  /// soon as possible. The exit reason is then known if a handle is given; it is `unknown` if only
  /// an address is given. Monitoring keeps neither of the two actors alive.
  ///
  /// Cost:   a block of 128 bytes, and a mutex of the other actor. Each of the two actors also
  ///         needs a side block (memory for state that few actors need), once.
  /// Errors: std::logic_error if this class has no on(troupe::down). std::bad_alloc.
  monitor watch(const address& other);
  template <class A>
  monitor watch(const ref<A>& other) {
    return watch_block(detail::ref_access::block(other));
  }
  template <message_or_request... Items>
  monitor watch(const recipient<Items...>& other) {
    return watch_block(detail::recipient_access::block(other));
  }

  /// Ends one monitor: its `down` is not handled, even if it is already in the mailbox. Returns
  /// false if the monitor had already ended, because on(down) or unwatch() had been called.
  ///
  /// Errors: std::logic_error if the monitor belongs to another actor.
  bool unwatch(const monitor& which);

  /// Links this actor and another one. When one of them terminates abnormally (see is_abnormal()),
  /// the other one terminates as well, after the message that it is handling. Its exit reason is
  /// link_broken, and its `down` contains the cause. An actor whose class has an
  /// on(troupe::link_down) does not terminate; it is notified of every termination instead. If the
  /// other actor has already terminated, the link acts as if it terminated now; if only an address
  /// is given, as if it terminated abnormally. A second call, from either side, has no effect. A
  /// link keeps neither actor alive.
  ///
  /// Cost:   two mutexes and an entry in a table of each actor.
  /// Errors: std::bad_alloc.
  void link(const address& other);
  template <class A>
  void link(const ref<A>& other) {
    link_block(detail::ref_access::block(other));
  }
  template <message_or_request... Items>
  void link(const recipient<Items...>& other) {
    link_block(detail::recipient_access::block(other));
  }

  /// Removes the link between two actors, for both of them. The link then has no further effect: a
  /// link_down that is already in the mailbox is not handled. If the other actor has terminated,
  /// and this actor was about to terminate because of the link, it continues.
  void unlink(const address& other) noexcept;

 private:
  monitor watch_block(detail::control_block& other);
  void link_block(detail::control_block& other);
  void check_on_down() const;

  detail::control_block* const block_;
};

}  // namespace troupe
