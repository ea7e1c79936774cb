// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string_view>
#include <vector>

#include <troupe/actor/system.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/end_listener.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/supervision/named_type.hpp>
#include <troupe/detail/supervision/shared_message.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/message/address.hpp>

namespace troupe::detail {

class topic_core;

/// How messages are sent to a subscriber of one class.
struct subscriber_type {
  const dispatch* copied;
  const dispatch* shared;    // null: it is known only as a recipient, and gets copies
  const dispatch* retained;  // of a shared message; without `shared`, of a copy
};

/// Returns how messages are sent to a recipient whose record for them is `copied`. There is one
/// such object for each record, and it is never freed.
/// Errors: std::bad_alloc.
[[nodiscard]] const subscriber_type& subscriber_type_of_recipient(const dispatch& copied);

/// One subscription. Publishers read only its constants and `active`.
///
/// It is in its topic's list from add() until remove(), or until the subscriber terminates. It
/// keeps itself alive as long as it may be called as a listener.
class subscriber : public end_listener {
 public:
  subscriber(control_block& actor, const subscriber_type& type) noexcept;
  virtual ~subscriber() = default;
  bool unsubscribe() noexcept;
  void ended() noexcept final;
  [[nodiscard]] bool is_of_object() const noexcept final { return true; }

  const address who;
  const subscriber_type& how;
  // The subscriber's limits redirect to another class, or its class is not known: neither can take
  // shared messages.
  const bool takes_copies;
  atomic<bool> active{true};  // [subscriber] relaxed: only avoids sending an unneeded message

 private:
  friend class topic_core;
  control_block& block_;            // valid while it listens
  std::weak_ptr<topic_core> home_;  // constant once it listens
  // Guarded by the topic's mutex.
  std::shared_ptr<topic_core> topic_;   // same as home_, while in the list
  std::shared_ptr<subscriber> itself_;  // while it listens
  std::list<std::shared_ptr<subscriber>>::iterator at_;
  // The number of subscriptions of its system, while in the list; null unless a test counts them.
  std::shared_ptr<atomic<std::int64_t>> count_;
};

using subscribers = std::vector<std::shared_ptr<subscriber>>;

/// The subscribers of one topic, whatever its message type. Changes go to the list. Publishers
/// iterate over a copy, which the first publisher after a change makes. So a change costs the same
/// however many subscribers there are, and no lock is held while messages are sent.
///
/// Threads: any. Lock order: this mutex, then that of an actor's termination_notices.
class topic_core : public std::enable_shared_from_this<topic_core> {
 public:
  topic_core() = default;
  topic_core(const topic_core&) = delete;
  topic_core& operator=(const topic_core&) = delete;
  virtual ~topic_core() = default;

  /// The topic of this name and message type, created if it does not exist.
  [[nodiscard]] static std::shared_ptr<topic_core> named(system& of, std::string_view name,
                                                         const message_identity& type);

  /// False if the actor has terminated. `if_retained` is the retained message that the caller has
  /// seen, and `wants_retained` says whether the subscriber gets it. If another message is retained
  /// by now, nothing is done: `outdated`.
  /// `copy`: of the retained message, for a subscriber that cannot take a shared one; owned here.
  enum class added { yes, ended, outdated };
  [[nodiscard]] added add(const std::shared_ptr<subscriber>& one, const shared_block* if_retained,
                          bool wants_retained, envelope* copy = nullptr);
  bool remove(subscriber& one) noexcept;
  void release(subscriber& ended) noexcept;

  /// Returns the subscribers to send to. A `message` that is not null becomes the retained message;
  /// a reference to it is taken.
  [[nodiscard]] std::shared_ptr<const subscribers> begin(shared_block* message);

  // [retains] relaxed: no exact time
  void retain() noexcept { retains_.store(true, relaxed); }
  [[nodiscard]] bool retains() const noexcept { return retains_.load(relaxed); }  // [retains]
  [[nodiscard]] shared_reference retained() const noexcept;
  [[nodiscard]] std::size_t count() const noexcept;

 private:
  struct leftovers;

  void take_out(subscriber& one, leftovers& left) noexcept;
  mutable mutex mutex_;  // guards what follows
  std::list<std::shared_ptr<subscriber>> list_;
  std::shared_ptr<const subscribers> copy_;  // null: the list has changed
  shared_reference retained_;
  atomic<bool> retains_{false};
};

}  // namespace troupe::detail
