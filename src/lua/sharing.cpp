// SPDX-License-Identifier: Apache-2.0

#include "sharing.hpp"

#include <new>
#include <utility>

#include <troupe/sync/atomic.hpp>

#include "value_codec.hpp"

namespace troupe::lua::detail {
namespace {

// The number of changes that are handled before other messages have their turn.
constexpr std::size_t changes_at_once = 32;

std::uint64_t next_box() noexcept {
  static atomic<std::uint64_t> last{0};
  return last.fetch_add(1, relaxed) + 1;  // [box] relaxed: only a number; it orders nothing
}

void push_value(lua_State* to, const std::string& cbor) {
  if (const auto wrong = push_decoded(to, cbor, encoding::cbor)) {
    luaL_error(to, "a shared value is malformed: %s", wrong->c_str());
  }
}

const char* why_none(shared_queues::taken::outcome what) noexcept {
  return what == shared_queues::taken::outcome::closed ? "closed" : "timeout";
}

}  // namespace

// ── Items ─────────────────────────────────────────────────────────────────────────────────────

item_on_its_way::~item_on_its_way() {
  if (got_.what != shared_queues::taken::outcome::item) return;
  try {
    of_.put_back(from_, std::move(got_));
  } catch (const std::bad_alloc&) {
    // It fitted before, so either it is in the queue again, or memory is exhausted altogether.
  }
}

int item_on_its_way::push(lua_State* to) {
  if (got_.what != shared_queues::taken::outcome::item) {
    lua_pushnil(to);
    lua_pushstring(to, why_none(got_.what));
    return 2;
  }
  push_value(to, got_.item);
  got_.what = shared_queues::taken::outcome::none;
  return 1;
}

void push_attendee(lua_State* to, const attendee& who) {
  lua_createtable(to, 0, 3);
  lua_pushinteger(to, static_cast<lua_Integer>(who.client));
  lua_setfield(to, -2, "id");
  lua_pushinteger(to, static_cast<lua_Integer>(who.instance));
  lua_setfield(to, -2, "instance");
  push_value(to, who.meta);
  lua_setfield(to, -2, "meta");
}

// ── Start and end ─────────────────────────────────────────────────────────────────────────────

sharing::sharing(instance_memberships& in, tasks& running, lua_State* main,
                 std::size_t subscriptions_max, std::size_t events_max)
    : in_(in),
      tasks_(running),
      main_(main),
      subscriptions_max_(subscriptions_max),
      events_max_(events_max) {}

sharing::~sharing() { wind_up(); }

void sharing::wind_up() {
  for (auto& [wait, its] : waiting_) {
    its.until.cancel();
    in_.all().queues().leave(its.queue, its.place);
  }
  waiting_.clear();
  unsubscribe_all();
}

void sharing::unsubscribe_all() {
  while (!subscribers_.empty()) cancel(subscribers_.begin()->first);
  // Topics whose subscription could not be completed for lack of memory.
  for (const auto& [topic, none] : values_) in_.unsubscribe(topic);
  for (const auto& [topic, none] : watched_) {
    in_.all().topic_members().unwatch(in_.crowd(topic), box_->id());
  }
  values_.clear();
  watched_.clear();
}

// ── Subscriptions ─────────────────────────────────────────────────────────────────────────────

void sharing::check_room(lua_State* in) {
  if (subscribers_.size() < subscriptions_max_) return;
  luaL_error(in, "%d subscriptions exist already, which is the limit",
             static_cast<int>(subscriptions_max_));
}

// Keeps the function on top of the stack, and its purpose.
std::uint64_t sharing::keep(lua_State* in, subscriber its) {
  its.function = luaL_ref(in, LUA_REGISTRYINDEX);
  const std::uint64_t id = ++last_;
  subscribers_.emplace(id, std::move(its));
  return id;
}

std::optional<std::uint64_t> sharing::subscribe(lua_State* in, const std::string& topic) {
  check_room(in);
  const auto [found, is_new] = values_.try_emplace(topic);
  if (is_new && !in_.subscribe(topic)) {
    values_.erase(found);
    return std::nullopt;
  }
  const std::uint64_t id = keep(in, {.topic = topic, .of = {}, .function = LUA_NOREF});
  found->second.push_back(id);
  return id;
}

std::optional<std::uint64_t> sharing::watch(lua_State* in, const std::string& topic,
                                            presence_change what) {
  check_room(in);
  if (!box_) box_ = std::make_shared<presence_box>(next_box(), in_.telling(), events_max_);
  const auto [found, is_new] = watched_.try_emplace(topic);
  if (is_new && !in_.all().topic_members().watch(in_.crowd(topic), box_)) {
    watched_.erase(found);
    return std::nullopt;
  }
  const std::uint64_t id = keep(in, {.topic = topic, .of = what, .function = LUA_NOREF});
  found->second.of[static_cast<std::size_t>(what)].push_back(id);
  return id;
}

bool sharing::cancel(std::uint64_t which) {
  const auto gone = subscribers_.extract(which);
  if (!gone) return false;
  const subscriber& its = gone.mapped();
  luaL_unref(main_, LUA_REGISTRYINDEX, its.function);
  if (!its.of) {
    const auto found = values_.find(its.topic);
    std::erase(found->second, which);
    if (!found->second.empty()) return true;
    in_.unsubscribe(its.topic);
    values_.erase(found);
    return true;
  }
  const auto found = watched_.find(its.topic);
  bool others = false;
  for (ids& each : found->second.of) {
    std::erase(each, which);
    others |= !each.empty();
  }
  if (others) return true;
  in_.all().topic_members().unwatch(in_.crowd(its.topic), box_->id());
  watched_.erase(found);
  return true;
}

void sharing::call(std::uint64_t which, pushing argument) {
  const auto found = subscribers_.find(which);
  if (found == subscribers_.end()) return;  // an earlier one has ended it
  const auto push = [&, function = found->second.function](lua_State* to) {
    lua_rawgeti(to, LUA_REGISTRYINDEX, function);
    return argument(to);
  };
  tasks_.start(push, std::make_unique<no_ending>());
}

void sharing::published(const topic_value& what) {
  const auto found = values_.find(what.topic);
  if (found == values_.end()) return;
  const auto push = [&](lua_State* to) {
    push_value(to, what.value);
    return 1;
  };
  const ids all = found->second;
  for (const std::uint64_t each : all) call(each, push);
}

void sharing::presence_changed() {
  if (!box_) return;
  bool more = false;
  for (const presence_event& each : box_->take(changes_at_once, more)) {
    const auto found = watched_.find(each.topic);
    if (found == watched_.end()) continue;
    const auto push = [&](lua_State* to) {
      push_attendee(to, *each.who);
      return 1;
    };
    const ids all = found->second.of[static_cast<std::size_t>(each.what)];
    for (const std::uint64_t one : all) call(one, push);
  }
  if (more) (*in_.telling())(presence_box::told);
}

// ── Queues ────────────────────────────────────────────────────────────────────────────────────

bool sharing::wait_for(shared_queues::id from, std::uint64_t wait) {
  waiting& its = waiting_[wait];
  const auto place = in_.all().queues().line_up(from, in_.telling(), wait);
  if (place) {
    its.queue = from;
    its.place = *place;
  } else {
    waiting_.erase(wait);
  }
  return place.has_value();
}

void sharing::ends_by(std::uint64_t wait, timer its) { waiting_[wait].until = std::move(its); }

void sharing::told(std::uint64_t what) {
  if (what == presence_box::told) return presence_changed();
  const auto found = waiting_.find(what);
  if (found == waiting_.end()) return;
  shared_queues& queues = in_.all().queues();
  item_on_its_way item(queues, found->second.queue,
                       queues.take_told(found->second.queue, found->second.place));
  if (item.what() == shared_queues::taken::outcome::none) return;  // it keeps its position
  found->second.until.cancel();
  waiting_.erase(found);
  tasks_.resume(what, [&](lua_State* to) { return item.push(to); });
}

bool sharing::due(std::uint64_t wait) {
  const auto found = waiting_.find(wait);
  if (found == waiting_.end()) return false;
  const waiting its = std::move(found->second);
  waiting_.erase(found);
  shared_queues& queues = in_.all().queues();
  item_on_its_way item(queues, its.queue, queues.take_told(its.queue, its.place));
  if (item.what() == shared_queues::taken::outcome::none) queues.leave(its.queue, its.place);
  tasks_.resume(wait, [&](lua_State* to) { return item.push(to); });
  return true;
}

}  // namespace troupe::lua::detail
