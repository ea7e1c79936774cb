// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <troupe/detail/actor/end_listener.hpp>
#include <troupe/detail/actor/extension.hpp>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/sync/event_count.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/supervision/registry.hpp>

#include "base/ordered_table.hpp"

namespace troupe::detail {

class awaited_name;
class name_registry;

/// The registry's entry for one name.
///
/// `block` may be used under the mutex of its part while the entry is in the table: the actor's
/// last turn has not passed ended() yet.
struct name_entry final : end_listener {
  name_entry(name_registry& registry, std::string_view called, control_block& actor,
             const named_type& its_type)
      : of(registry), name(called), block(actor), who(actor.where()), type(its_type) {}
  void ended() noexcept override;

  name_registry& of;
  const std::string name;
  control_block& block;
  const address who;
  const named_type& type;
  bool in_table = false;  // under the mutex of its part
};

/// Identifies a waiter for a name: an actor that called registry::notify_on_register(), or one of
/// its handlers.
struct name_waiter_key {
  address who;
  const awaited_name* handler = nullptr;

  friend bool operator==(const name_waiter_key&, const name_waiter_key&) = default;
  struct hash {
    std::size_t operator()(const name_waiter_key& of) const noexcept {
      return of.who.hash() ^ std::hash<const void*>{}(of.handler);
    }
  };
};

/// An actor or a handler that waits for a name. The rules for `block` are those of name_entry.
struct name_waiter final : end_listener {
  name_waiter(name_registry& registry, control_block& actor, name_notice its_notice,
              const awaited_name* handler)
      : of(registry), block(actor), key{actor.where(), handler}, notice(its_notice) {}
  ~name_waiter() {
    if (notice.message != nullptr) notice.message->how->discard(*notice.message);
  }
  void ended() noexcept override;
  [[nodiscard]] bool is_of_object() const noexcept override { return true; }
  void tell(const address& holder) noexcept;

  name_registry& of;
  control_block& block;
  const name_waiter_key key;
  name_notice notice;
  bool in_table = false;
  // Used for waiters that are taken off the table together and notified without the mutex.
  control_block* held = nullptr;
  name_waiter* later = nullptr;
};

/// The class and the messages of actors that were registered by recipients.
struct listed_type {
  listed_type(const actor_type& of, std::span<const known_message> known)
      : actor(of), messages(known.begin(), known.end()) {}
  listed_type(const listed_type&) = delete;
  listed_type& operator=(const listed_type&) = delete;

  [[nodiscard]] bool is(const actor_type& of, std::span<const known_message> known) const noexcept {
    return actor.identity == of.identity && actor.name == of.name &&
           std::equal(known.begin(), known.end(), messages.begin(), messages.end(),
                      [](const known_message& a, const known_message& b) {
                        return a.which == b.which && a.how == b.how;
                      });
  }

  const actor_type actor;  // a copy: that of an actor with limits of its own ends with it
  const std::vector<known_message> messages;
  const named_type type{&actor, messages.data(), messages.size()};
};

struct name_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const noexcept {
    return std::hash<std::string_view>{}(name);
  }
};

/// The names of one system, divided into parts so that lookups do not contend.
///
/// Threads: any thread. Lock order: the mutex of a part, then that of an actor's
///          termination_notices.
class name_registry final : public system_extension {
 public:
  explicit name_registry(system& of) noexcept : system_(of) {}
  ~name_registry() override;

  struct alignas(cache_line_bytes) part {
    mutex guard;  // guards the following members
    event_count added;
    std::unordered_map<std::string_view, name_entry*> names;
    using waiters = ordered_table<name_waiter_key, name_waiter*, name_waiter_key::hash>;
    std::unordered_map<std::string, waiters, name_hash, std::equal_to<>> waiting;
  };

  [[nodiscard]] part& part_of(std::string_view name) noexcept {
    return parts_[name_hash{}(name) % parts_.size()];
  }
  [[nodiscard]] std::array<part, 16>& parts() noexcept { return parts_; }

  /// Throws std::logic_error if the actor belongs to another system.
  void check_home(control_block& of) const;

  /// Registers a waiter, as registry::notify_on_register() does. Takes ownership of the notice,
  /// even if it throws.
  void notify_on_register(std::string_view name, control_block& whom, name_notice notice,
                          const awaited_name* handler);
  bool cancel_notification(std::string_view name, const address& whom, const awaited_name* handler);

  /// Returns the record of a class and a list of messages. There is one for each pair that was
  /// ever used, so the program's types limit their number.
  [[nodiscard]] const named_type& type_of(const actor_type& of,
                                          std::span<const known_message> known);

  void release(name_entry& ended) noexcept;
  void release(name_waiter& ended) noexcept;

 private:
  system& system_;
  std::array<part, 16> parts_;
  mutex listed_guard_;  // guards the following member
  std::list<listed_type> listed_;
};

}  // namespace troupe::detail
