// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/actor/recipient.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/supervision/topic_core.hpp>
#include <troupe/message/handler.hpp>

namespace troupe {

/// The outcome of publishing a message, as numbers of subscribers.
struct publication {
  std::size_t accepted = 0;
  std::size_t paused = 0;  // accepted, and the publisher is suspended or should wait; see delivery
  std::size_t refused = 0;
  std::size_t dropped = 0;
  std::size_t filtered = 0;        // the filter rejected it
  std::size_t filters_failed = 0;  // the filter threw; the message was not sent

  [[nodiscard]] std::size_t reached() const noexcept { return accepted + paused; }
};

/// Identifies one subscription, so that it can be ended. Destroying this object does not end the
/// subscription.
///
/// Threads: a plain value; unsubscribe() may be called from any thread.
class subscription {
 public:
  subscription() = default;

  /// Ends the subscription. Messages published before, or concurrently by another thread, may still
  /// arrive. Returns false if the subscription had already ended, together with its subscriber or
  /// by an earlier call.
  bool unsubscribe() const noexcept;

  /// Returns false if the subscription has ended, or if its subscriber had terminated before it
  /// began.
  [[nodiscard]] explicit operator bool() const noexcept;

 private:
  template <message M>
  friend class topic;
  explicit subscription(std::weak_ptr<detail::subscriber> one) noexcept : one_(std::move(one)) {}

  std::weak_ptr<detail::subscriber> one_;
};

struct topic_options {
  /// A new subscriber first gets the last message published, if there was one, and then all that
  /// follow. The retained message is accepted whatever the subscriber's limits are.
  bool retain_last = false;
};

namespace detail {

/// True for a message so small that a copy per subscriber costs less than a shared reference, as
/// measured by supervision_bench.
template <class M>
inline constexpr bool copied_to_each = std::is_trivially_copyable_v<M> && sizeof(M) <= 32;

template <class M>
class filtering_subscriber final : public subscriber {
 public:
  filtering_subscriber(control_block& actor, const subscriber_type& type,
                       std::function<bool(const M&)> filter)
      : subscriber(actor, type), filter_(std::move(filter)) {}

  [[nodiscard]] bool wants(const M& message) const {
    return filter_ == nullptr || filter_(message);
  }

 private:
  const std::function<bool(const M&)> filter_;
};

template <class A, class M>
inline constexpr subscriber_type subscriber_type_of{&dispatch_of<A, M>, &shared_dispatch_of<A, M>,
                                                    &promised_shared_dispatch_of<A, M>};

void count(publication& done, delivery what) noexcept;

}  // namespace detail

/// Distributes messages from publishers to any number of subscribers. A message is stored once for
/// all of them. A handler on(const M&) reads the shared object. A handler on(M) gets its own copy;
/// the last handler to run gets the original. A state machine also gets a copy, whatever its
/// handlers take, because it may have to keep the message. If M is trivially copyable and has at
/// most 32 bytes, each subscriber gets a copy.
///
/// A topic lives as long as a `topic` object or a subscription refers to it. A subscription does
/// not keep its actor alive, and ends with it.
///
/// Threads: any; copies are the same topic.
/// Order:   from one publisher to one subscriber as published, also relative to messages sent
///          directly from the one to the other. Messages of two publishers may reach two
///          subscribers in different orders. An actor subscribed when publish() begins gets the
///          message; one that subscribes during publish() gets the next one.
/// Limits:  each subscriber's limits apply to that subscriber alone, and each is charged as if it
///          had its own copy of the message. A full subscriber suspends the publisher as its policy
///          says: see publication.
/// Cost:    publish(): a mutex of the topic; for each subscriber its filter, an envelope, and two
///          atomic operations more than send(). The first publish() after a change of the
///          subscribers copies their list.
template <message M>
class topic {
  static_assert(std::copy_constructible<M>,
                "a published message must be copyable: it may have several receivers");

 public:
  /// Creates an unnamed topic, which is shared only by copying this object.
  explicit topic(topic_options options = {}) : core_(std::make_shared<detail::topic_core>()) {
    if (options.retain_last) core_->retain();
  }

  /// Finds the topic of this name for messages of this type in a system, and creates it if it does
  /// not exist. As soon as one call of this constructor sets retain_last, the topic retains its
  /// last message.
  /// Errors: std::invalid_argument for a name that is empty or longer than 255 bytes.
  topic(system& of, std::string_view name, topic_options options = {})
      : core_(detail::topic_core::named(of, name, detail::identity_of<M>)) {
    if (options.retain_last) core_->retain();
  }

  /// Subscribes the actor: from now on it gets all published messages. An actor that is subscribed
  /// twice gets each message twice.
  ///
  /// A filter, `bool(const M&)`, selects the messages that the actor gets. It runs on the
  /// publishing threads, at any time and concurrently, and for a moment after the subscription has
  /// ended. It must not throw: if it does, the subscriber does not get that message, and publish()
  /// counts it. With retain_last it is also called here, and an exception then leaves this
  /// function.
  ///
  /// Errors: std::bad_alloc.
  template <template <class> class Handle, class A>
    requires(!detail::is_recipient<Handle<A>>)
  subscription subscribe(const Handle<A>& who, std::function<bool(const M&)> filter = {}) const {
    if constexpr (!understands<A, M>) {
      return static_cast<void>(sizeof(actor_does_not_understand_message<A, M>)), subscription{};
    } else {
      return add(std::make_shared<detail::filtering_subscriber<M>>(
          detail::ref_access::block(who), detail::subscriber_type_of<A, M>, std::move(filter)));
    }
  }

  /// Subscribes the actor of a recipient that lists M as a message. It gets copies, whatever the
  /// size of M is.
  template <message_or_request... Items>
  subscription subscribe(const recipient<Items...>& who,
                         std::function<bool(const M&)> filter = {}) const {
    if constexpr (!detail::lists_item<M, Items...>) {
      return static_cast<void>(sizeof(detail::not_sendable<recipient<Items...>, M, Items...>)),
             subscription{};
    } else {
      const detail::dispatch& how =
          *detail::recipient_access::table(who)[detail::place_in_list<M, Items...>()];
      return add(std::make_shared<detail::filtering_subscriber<M>>(
          detail::recipient_access::block(who), detail::subscriber_type_of_recipient(how),
          std::move(filter)));
    }
  }

  /// Sends the message to all subscribers whose filters accept it. A terminating subscriber is not
  /// counted.
  ///
  /// Errors: std::bad_alloc, and exceptions from copying or moving the message; earlier subscribers
  ///         may have received it by then.
  template <class Message>
    requires std::same_as<std::remove_cvref_t<Message>, M>
  publication publish(Message&& message) const {
    if constexpr (detail::copied_to_each<M>) {
      if (!core_->retains()) return publish_copies(message);
    }
    return publish_shared(std::forward<Message>(message));
  }

  [[nodiscard]] std::size_t subscribers() const noexcept { return core_->count(); }

  friend bool operator==(const topic&, const topic&) = default;

 private:
  using one = detail::filtering_subscriber<M>;

  subscription add(std::shared_ptr<one> fresh) const {
    using added = detail::topic_core::added;
    // Without the topic's mutex, because a filter may do anything. If messages are published faster
    // than the filter can look at them, the subscriber gets the next one instead.
    for (int tries = 0; tries < 16; ++tries) {
      const detail::shared_reference last = core_->retained();
      const bool wants = last != nullptr && fresh->wants(value_of(*last));
      detail::envelope* copy = nullptr;
      if (wants && fresh->how.shared == nullptr) {
        copy = &copy_of(value_of(*last), *fresh->how.retained, last->sender);
      }
      const added result = core_->add(fresh, last.get(), wants, copy);
      if (result != added::outdated) return subscription(fresh);
    }
    (void)core_->add(fresh, nullptr, false);
    return subscription(std::move(fresh));
  }

  static const M& value_of(const detail::shared_block& of) noexcept {
    return static_cast<const detail::shared_message<M>&>(of).value;
  }

  // Calls fn(const subscriber&, control_block&) for each subscriber that is to get the message.
  template <class Function>
  static void for_each(const detail::subscribers& all, const M& message, publication& done,
                       Function&& fn) {
    for (const auto& each : all) {
      if (!each->active.load(relaxed)) continue;  // [subscriber]
      try {
        if (!static_cast<const one&>(*each).wants(message)) {
          ++done.filtered;
          continue;
        }
      } catch (...) {
        ++done.filters_failed;
        continue;
      }
      detail::control_block* const held = detail::control_block::hold(each->who);
      if (held == nullptr) continue;
      struct let_go {
        detail::control_block& held;
        ~let_go() { held.let_go(); }
      } guard{*held};
      detail::count(done, held->send(fn(*each)));
    }
  }

  static detail::envelope& copy_for(const detail::subscriber& to, const M& message) {
    return copy_of(message, *to.how.copied, detail::current_address());
  }
  static detail::envelope& copy_of(const M& message, const detail::dispatch& how,
                                   const address& sender) {
    if (!how.wants_sender) return *detail::make_envelope<false>(how, message);
    auto* const e = detail::make_envelope<true>(how, message);
    e->sender = sender;
    return *e;
  }

  publication publish_copies(const M& message) const {
    publication done;
    const auto all = core_->begin(nullptr);
    for_each(*all, message, done, [&](const detail::subscriber& to) -> detail::envelope& {
      return copy_for(to, message);
    });
    return done;
  }

  template <class Message>
  publication publish_shared(Message&& from) const {
    publication done;
    auto& shared = detail::make_shared_message<M>(1, std::forward<Message>(from));
    const detail::shared_reference mine(&shared);
    shared.sender = detail::current_address();
    const auto all = core_->begin(core_->retains() ? &shared : nullptr);
    // Takes all references at once, and returns the unused ones at the end.
    std::size_t spare = all->size();
    shared.count.fetch_add(spare, relaxed);  // [shared-message] relaxed: as in hold()
    struct give_back {
      detail::shared_block& of;
      const std::size_t& references;
      ~give_back() {
        if (references != 0) detail::let_go(of, references);
      }
    } guard{shared, spare};
    for_each(*all, shared.value, done, [&](const detail::subscriber& to) -> detail::envelope& {
      if (to.takes_copies) return copy_for(to, shared.value);
      detail::envelope& e = detail::make_shared_envelope(*to.how.shared, shared);
      --spare;
      return e;
    });
    return done;
  }

  std::shared_ptr<detail::topic_core> core_;
};

}  // namespace troupe
