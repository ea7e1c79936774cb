// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string_view>
#include <vector>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/end_listener.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/supervision/named_type.hpp>
#include <troupe/supervision/shared_message.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::detail {

class topic_core;

/// How messages are sent to a subscriber of a class.
struct subscriber_type {
  const dispatch* copied;
  const dispatch* shared;
  const dispatch* retained;
};

/// One subscription. Whoever publishes reads what is constant, and `active`.
///
/// It is in its topic's list from add() to remove(), or to the end of the subscriber; as long as it may
/// be called as a listener it keeps itself.
class subscriber : public end_listener {
 public:
  subscriber(control_block& actor, const subscriber_type& type) noexcept;
  virtual ~subscriber() = default;
  bool unsubscribe() noexcept;
  void ended() noexcept final;
  [[nodiscard]] bool is_of_object() const noexcept final { return true; }

  const address who;
  const subscriber_type& how;
  // Its limits redirect to another class, which does not know shared ones.
  const bool takes_copies;
  atomic<bool> active{true};  // [subscriber] relaxed: only spares a message that need not come

 private:
  friend class topic_core;
  control_block& block_;            // while it listens
  std::weak_ptr<topic_core> home_;  // constant, once it listens
  // Under the mutex of the topic.
  std::shared_ptr<topic_core> topic_;   // the same, while it is in the list
  std::shared_ptr<subscriber> itself_;  // while it listens
  std::list<std::shared_ptr<subscriber>>::iterator at_;
};

using subscribers = std::vector<std::shared_ptr<subscriber>>;

/// Who has subscribed to one topic, whatever its messages are. The list is what is changed; publishers
/// go through a copy, which is made by the first one after a change, so that changes cost the same
/// however many there are, and nothing is locked while messages are sent.
///
/// Threads: any. Order of the mutexes: this one, then that of an actor's bonds.
class topic_core : public std::enable_shared_from_this<topic_core> {
 public:
  topic_core() = default;
  topic_core(const topic_core&) = delete;
  topic_core& operator=(const topic_core&) = delete;
  virtual ~topic_core() = default;

  /// The one of this name and type of messages, which is made if there is none.
  [[nodiscard]] static std::shared_ptr<topic_core> named(system& of, std::string_view name,
                                                         const message_identity& type);

  /// False if the actor has ended. `if_retained`: the caller has seen this as the last message, and wants
  /// it if `wants_retained`; if there is another one by now, nothing is done: `outdated`.
  enum class added { yes, ended, outdated };
  [[nodiscard]] added add(const std::shared_ptr<subscriber>& one, const shared_block* if_retained,
                          bool wants_retained);
  bool remove(subscriber& one) noexcept;
  void release(subscriber& ended) noexcept;

  /// To whom to send. With `message` that is the last one from now on; it is held.
  [[nodiscard]] std::shared_ptr<const subscribers> begin(shared_block* message);

  void retain() noexcept { retains_.store(true, relaxed); }  // [retains] relaxed: from some time on
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
