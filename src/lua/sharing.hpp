// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <lua.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <troupe/troupe.hpp>

#include "instance_memberships.hpp"
#include "presence.hpp"
#include "tasks.hpp"

namespace troupe::lua::detail {

/// An item on its way from its queue to a handler. It returns to the queue if it does not arrive.
class item_on_its_way {
 public:
  item_on_its_way(shared_queues& of, shared_queues::id from, shared_queues::taken&& got) noexcept
      : of_(of), from_(from), got_(std::move(got)) {}
  item_on_its_way(const item_on_its_way&) = delete;
  item_on_its_way& operator=(const item_on_its_way&) = delete;
  ~item_on_its_way();

  [[nodiscard]] shared_queues::taken::outcome what() const noexcept { return got_.what; }
  /// Pushes it, or nil and the reason. Returns the number of values. Errors: raises Lua's for lack
  /// of memory.
  int push(lua_State* to);

 private:
  shared_queues& of_;
  const shared_queues::id from_;
  shared_queues::taken got_;
};

/// The uses of the shared state by the scripts of a program: subscriptions, watches, and
/// handlers that wait for an item. All of it ends with this object.
///
/// Threads: the instance's turns.
class sharing {
 public:
  sharing(instance_memberships& in, tasks& running, lua_State* main, std::size_t subscriptions_max,
          std::size_t events_max);
  ~sharing();

  // ── For functions that scripts call ─────────────────────────────────────────────────────────
  /// Calls the function on top of the stack, which is popped, with each published value. Returns
  /// nothing if there are too many topics. Raises an error if there are too many subscriptions.
  std::optional<std::uint64_t> subscribe(lua_State* in, const std::string& topic);
  /// The same for each client that joins, is updated or leaves.
  std::optional<std::uint64_t> watch(lua_State* in, const std::string& topic, presence_change what);
  bool cancel(std::uint64_t which);

  /// The running handler is about to wait, as `wait`, for an item. Returns false if the queue is
  /// closed.
  bool wait_for(shared_queues::id from, std::uint64_t wait);
  void ends_by(std::uint64_t wait, timer its);

  // ── Events ──────────────────────────────────────────────────────────────────────────────────
  void published(const topic_value& what);
  void told(std::uint64_t what);
  /// Returns true if a handler has waited for this and its time is over.
  bool due(std::uint64_t wait);
  /// Ends the subscriptions. A handler that waits for an item may still get it.
  void unsubscribe_all();
  void wind_up();

 private:
  struct subscriber {
    std::string topic;
    std::optional<presence_change> of;  // nothing: a subscription to values
    int function = LUA_NOREF;
  };
  using ids = std::vector<std::uint64_t>;
  struct watched {
    std::array<ids, presence_changes> of;
  };
  struct waiting {
    shared_queues::id queue = 0;
    shared_queues::ticket place = 0;
    timer until;
  };

  std::uint64_t keep(lua_State* in, subscriber its);
  void check_room(lua_State* in);
  void presence_changed();
  void call(std::uint64_t which, pushing argument);

  instance_memberships& in_;
  tasks& tasks_;
  lua_State* const main_;
  const std::size_t subscriptions_max_;
  const std::size_t events_max_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, subscriber> subscribers_;
  std::map<std::string, ids> values_;
  std::map<std::string, watched> watched_;
  std::shared_ptr<presence_box> box_;  // created by the first watch
  std::unordered_map<std::uint64_t, waiting> waiting_;
};

/// Pushes {id = …, instance = …, meta = …}.
void push_attendee(lua_State* to, const attendee& who);

}  // namespace troupe::lua::detail
