// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/supervision/awaited_name.hpp>
#include <troupe/detail/supervision/named_type.hpp>
#include <troupe/message/address.hpp>
#include <troupe/supervision/found.hpp>

namespace troupe {

/// The message that an actor gets once if it has requested it with registry::notify_on_register().
struct name_registered {
  std::string name;
  address who;
};

/// The result of registry::add().
struct registration {
  enum class outcome : std::uint8_t {
    registered,
    taken,  // it belongs to another actor, maybe a terminating one that will release it
    ended,  // the actor to be named has terminated
  };
  outcome what = outcome::registered;
  address holder;  // the actor that has the name now

  explicit operator bool() const noexcept { return what == outcome::registered; }
};

/// A name and the actor that has it.
struct named_actor {
  std::string name;
  address who;
  std::string_view type;
};

namespace detail {

class name_registry;

// How an actor that waits for a name is notified.
struct name_notice {
  envelope* message;
  name_registered* content;
};

}  // namespace detail

/// The names of the actors of one system. A name belongs to one actor at a time; an actor may have
/// several. A name does not keep its actor alive. It is released when the actor terminates, before
/// any `down` is sent, so that the receiver of the `down` can give the name to a successor.
///
/// Threads:   any. A plain value, which must not be used after its system has ended.
/// Invariant: find() returns the actor last registered under the name, and never a terminated one.
/// Cost:      8 bytes. A look-up takes a hash, one of 16 mutexes and a compare-and-swap. A name
///            takes two memory blocks and an entry in the table of one of 16 parts.
/// Errors:    std::invalid_argument for a name that is empty or longer than 255 bytes;
///            std::bad_alloc.
class registry {
 public:
  static constexpr std::size_t bytes_max = 255;

  explicit registry(system& of);

  /// Gives the actor this name if the name is free. Repeating the call for the same actor has no
  /// effect.
  /// Errors: std::logic_error for an actor of another system.
  template <class A>
  registration add(std::string_view name, const ref<A>& who) const {
    return add_block(name, detail::ref_access::block(who), detail::named_type_of<A>);
  }
  template <class A>
  registration add(std::string_view name, const self_ref<A>& who) const {
    return add_block(name, detail::ref_access::block(who), detail::named_type_of<A>);
  }
  /// The same for an actor whose class is not known here: a function actor, a router, or another
  /// recipient. find_recipient() finds it for the messages and requests that this recipient lists.
  template <message_or_request... Items>
  registration add(std::string_view name, const recipient<Items...>& who) const {
    constexpr const detail::message_identity* which[] = {&detail::identity_of<Items>...};
    std::array<detail::known_message, sizeof...(Items)> known;
    for (std::size_t i = 0; i < known.size(); ++i) {
      known[i] = {which[i], detail::recipient_access::table(who)[i]};
    }
    return add_listed(name, detail::recipient_access::block(who), known);
  }

  /// Removes the name from this actor. Returns false if the actor does not have the name.
  bool remove(std::string_view name, const address& who) const;

  /// Looks up the actor of this name, which must be registered as an A.
  template <class A>
  [[nodiscard]] found<ref<A>> find(std::string_view name) const {
    detail::miss none;
    detail::control_block* const held = find_block(name, detail::named_type_of<A>, none);
    if (held == nullptr) return none;
    return detail::ref_access::adopt<A>(held);
  }

  /// Looks up the actor of this name, whose class must list all these messages in its `messages`.
  /// A request `R(M)` is found if the class lists M and answers it with an R.
  template <message_or_request... Items>
  [[nodiscard]] found<recipient<Items...>> find_recipient(std::string_view name) const {
    const detail::message_identity* const wanted[] = {&detail::identity_of<Items>...};
    const detail::dispatch* how[sizeof...(Items)];
    detail::miss none;
    detail::control_block* const held = find_block(name, wanted, how, sizeof...(Items), none);
    if (held == nullptr) return none;
    return detail::recipient_access::adopt<Items...>(held, how);
  }

  /// Returns the address of the actor of this name, whatever its class. Empty if the name is not
  /// registered.
  [[nodiscard]] address find_address(std::string_view name) const;

  /// Blocks until an A is registered under this name, or until the deadline has passed; the result
  /// is then not_there.
  ///
  /// Threads: any thread outside of handlers, and handlers of an actor with its own thread. On the
  ///          thread of a pump, it does not run the pump.
  /// Errors:  std::logic_error in a handler of an actor that shares its thread. Use wait() or
  ///          notify_on_register() there.
  template <class A>
  [[nodiscard]] found<ref<A>> wait_for(std::string_view name, time_point deadline) const {
    detail::miss none;
    detail::control_block* const held =
        wait_for_block(name, detail::named_type_of<A>, deadline, none);
    if (held == nullptr) return none;
    return detail::ref_access::adopt<A>(held);
  }

  /// Waits until an A is registered under this name, in a handler that is a coroutine, for at most
  /// `time`. No thread is blocked:
  ///
  ///   const auto alice = co_await registry(system()).wait<account>("bank/alice", 50ms);
  ///
  /// The actor handles other messages meanwhile.
  ///
  /// Threads: turns of an actor of this system.
  /// Errors:  thrown by co_await; std::logic_error in an actor of another system.
  /// Cost:    two look-ups and a coroutine. If the handler has to wait, also the cost of
  ///          notify_on_register().
  template <class A>
  [[nodiscard]] task<found<ref<A>>> wait(std::string_view name, duration time = no_timeout) const {
    return wait_in_turn<A>(*this, std::string(name), later(clock::now(), time));
  }

  /// Sends the actor one name_registered as soon as this name is registered, which may be at once.
  /// Waiting does not keep the actor alive and ends with it. A second call for an actor that
  /// already waits for this name has no effect. The message is accepted whatever the actor's limits
  /// are.
  template <class Handle>
  void notify_on_register(std::string_view name, const Handle& whom) const {
    notify_block(name, detail::ref_access::block(whom), notice_for(name, whom));
  }

  /// Cancels notify_on_register(). A name_registered that is already in the mailbox is still
  /// handled. Returns false if the actor did not wait for this name.
  bool cancel_notification(std::string_view name, const address& whom) const;

  /// Returns all names, in no particular order. The parts of the table are read one at a time, so
  /// this is not an atomic snapshot.
  [[nodiscard]] std::vector<named_actor> all() const;
  [[nodiscard]] std::size_t count() const;

 private:
  template <class A>
  static task<found<ref<A>>> wait_in_turn(registry in, std::string name, time_point until) {
    check_name(name);
    for (;;) {
      found<ref<A>> seen = in.find<A>(name);
      if (seen.error() != not_found::not_there) co_return seen;
      detail::awaited_name registered(*in.registry_, name, until);
      if (!co_await registered) co_return in.find<A>(name);
    }
  }

  template <template <class> class Handle, class A>
  static detail::name_notice notice_for(std::string_view name, const Handle<A>&) {
    if constexpr (!understands<A, name_registered>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<A, name_registered>)),
             detail::name_notice{};
    } else {
      auto* const e = detail::make_envelope<detail::handles_with_sender<A, name_registered>>(
          detail::promised_dispatch_of<A, name_registered>, name_registered{std::string(name), {}});
      return {e, &e->value};
    }
  }

  static void check_name(std::string_view name);
  registration add_block(std::string_view name, detail::control_block& who,
                         const detail::named_type& type) const;
  registration add_listed(std::string_view name, detail::control_block& who,
                          std::span<const detail::known_message> known) const;
  [[nodiscard]] detail::control_block* find_block(std::string_view name,
                                                  const detail::named_type& type,
                                                  detail::miss& none) const;
  [[nodiscard]] detail::control_block* find_block(std::string_view name,
                                                  const detail::message_identity* const* wanted,
                                                  const detail::dispatch** how, std::size_t count,
                                                  detail::miss& none) const;
  [[nodiscard]] detail::control_block* wait_for_block(std::string_view name,
                                                      const detail::named_type& type,
                                                      time_point deadline,
                                                      detail::miss& none) const;
  void notify_block(std::string_view name, detail::control_block& whom,
                    detail::name_notice notice) const;

  detail::name_registry* registry_;
};

}  // namespace troupe
