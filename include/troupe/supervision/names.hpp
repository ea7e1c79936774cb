// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/actor/asking.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/address.hpp>
#include <troupe/supervision/awaited_name.hpp>
#include <troupe/supervision/found.hpp>
#include <troupe/supervision/named_type.hpp>

namespace troupe {

/// Told once to who has asked for it with names::tell().
struct name_registered {
  std::string name;
  address who;
};

/// What names::add() did.
struct registration {
  enum class outcome : std::uint8_t {
    registered,
    taken,  // another actor has the name, or one that is ending and will give it up
    ended,  // the actor that should get it has ended
  };
  outcome what = outcome::registered;
  address holder;  // who has the name now

  explicit operator bool() const noexcept { return what == outcome::registered; }
};

/// A name, and who has it.
struct named_actor {
  std::string name;
  address who;
  std::string_view type;
};

namespace detail {

class name_registry;

// An actor that waits for a name: how it is told.
struct name_notice {
  envelope* message;
  name_registered* content;
};

}  // namespace detail

/// The names of the actors of one system. A name belongs to one actor at a time; an actor may have
/// several. A name keeps nobody alive: it is released when its actor ends, before anybody is told of
/// that end, so that who gets the `down` can give the name to a successor.
///
/// Threads:   any. A plain value; it must not be used when its system has ended.
/// Invariant: find() gives who was registered last under the name, and never one that has ended.
/// Cost:      8 bytes. A look-up: a hash, one of 16 mutexes, a compare-and-swap. A name: two blocks, and
///            an entry in the table of one of 16 parts.
/// Errors:    std::invalid_argument for a name that is empty or longer than 255 bytes; std::bad_alloc.
class names {
 public:
  static constexpr std::size_t bytes_max = 255;

  explicit names(system& of);

  /// Gives the actor this name, if nobody has it. Again for the same actor it changes nothing.
  /// Errors: std::logic_error for an actor of another system.
  template <class A>
  registration add(std::string_view name, const ref<A>& who) const {
    return add_block(name, detail::ref_access::block(who), detail::named_type_of<A>);
  }
  template <class A>
  registration add(std::string_view name, const self_ref<A>& who) const {
    return add_block(name, detail::ref_access::block(who), detail::named_type_of<A>);
  }

  /// Takes the name away from this actor. False if it does not have it.
  bool remove(std::string_view name, const address& who) const;

  /// The actor of this name, which was registered as an A.
  template <class A>
  [[nodiscard]] found<ref<A>> find(std::string_view name) const {
    detail::miss none;
    detail::control_block* const held = find_block(name, detail::named_type_of<A>, none);
    if (held == nullptr) return none;
    return detail::ref_access::adopt<A>(held);
  }

  /// The actor of this name, if its class lists all of these in its `messages`.
  template <message... Messages>
  [[nodiscard]] found<recipient<Messages...>> find_recipient(std::string_view name) const {
    const detail::message_identity* const wanted[] = {&detail::identity_of<Messages>...};
    const detail::dispatch* how[sizeof...(Messages)];
    detail::miss none;
    detail::control_block* const held = find_block(name, wanted, how, sizeof...(Messages), none);
    if (held == nullptr) return none;
    return detail::recipient_access::adopt<Messages...>(held, how);
  }

  /// Whoever has the name; nobody: an empty address.
  [[nodiscard]] address find_address(std::string_view name) const;

  /// Waits until there is such an actor, or until the deadline has passed: then not_there.
  ///
  /// Threads: any outside of handlers; in those of an actor with a thread of its own. It does not pump.
  /// Errors:  std::logic_error in a handler that shares its thread: use tell().
  template <class A>
  [[nodiscard]] found<ref<A>> wait_for(std::string_view name, time_point deadline) const {
    detail::miss none;
    detail::control_block* const held =
        wait_for_block(name, detail::named_type_of<A>, deadline, none);
    if (held == nullptr) return none;
    return detail::ref_access::adopt<A>(held);
  }

  /// The same in a handler that is a coroutine, which blocks no thread, for so long at the most:
  ///
  ///   const auto alice = co_await names(system()).wait<account>("bank/alice", 50ms);
  ///
  /// Its actor handles other messages meanwhile.
  ///
  /// Threads: the turns of an actor of this system.
  /// Errors:  come out of co_await: std::logic_error for another system's.
  /// Cost:    two look-ups and a coroutine; if it waits, also what tell() costs.
  template <class A>
  [[nodiscard]] task<found<ref<A>>> wait(std::string_view name, duration time = no_timeout) const {
    return wait_in_turn<A>(*this, std::string(name), later(clock::now(), time));
  }

  /// Sends the actor one name_registered for this name, as soon as somebody has it: at once if somebody
  /// does. Waiting keeps nobody alive, and ends with the actor. Of an actor that waits for a name
  /// already nothing more is noted. Whatever its limits are, it is taken.
  template <class Handle>
  void tell(std::string_view name, const Handle& whom) const {
    tell_block(name, detail::ref_access::block(whom), notice_for(name, whom));
  }

  /// The actor waits for this name no more. A name_registered that is in its mailbox already comes.
  /// False if it did not wait.
  bool stop_telling(std::string_view name, const address& whom) const;

  /// All of them, in no order. One part of the table after the other is looked at.
  [[nodiscard]] std::vector<named_actor> all() const;
  [[nodiscard]] std::size_t count() const;

 private:
  template <class A>
  static task<found<ref<A>>> wait_in_turn(names in, std::string name, time_point until) {
    check_name(name);
    for (;;) {
      found<ref<A>> seen = in.find<A>(name);
      if (seen.why() != not_found::not_there) co_return seen;
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
  void tell_block(std::string_view name, detail::control_block& whom,
                  detail::name_notice notice) const;

  detail::name_registry* registry_;
};

}  // namespace troupe
