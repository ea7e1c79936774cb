// SPDX-License-Identifier: Apache-2.0
#include <troupe/supervision/registry.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

#include "actor/forked.hpp"
#include "name_registry.hpp"

namespace troupe {

using detail::control_block;
using detail::name_entry;
using detail::name_registry;
using detail::name_waiter;

namespace {

void check(std::string_view name) {
  if (!name.empty() && name.size() <= registry::bytes_max) return;
  throw std::invalid_argument("troupe: a registered name has " + std::to_string(name.size()) +
                              " bytes; it must have between 1 and " +
                              std::to_string(registry::bytes_max));
}

// In a forked child, a mutex may stay locked.
name_registry::part& usable_part(name_registry& all, std::string_view name) {
  detail::check_not_forked("no name can be looked up");
  return all.part_of(name);
}

// Releases an actor that was found under a mutex once the mutex is free. It may be the last
// reference, and destroying the actor may run user code.
class held_actor {
 public:
  explicit held_actor(control_block* block = nullptr) noexcept : block_(block) {}
  held_actor(const held_actor&) = delete;
  held_actor& operator=(const held_actor&) = delete;
  ~held_actor() {
    if (block_ != nullptr) block_->let_go();
  }
  void set(control_block* block) noexcept { block_ = block; }
  [[nodiscard]] bool is_there() const noexcept { return block_ != nullptr; }

 private:
  control_block* block_;
};

// Waiters that are to be notified of a name. They are taken off the table under the mutex of the
// part and notified without it.
class told_waiters {
 public:
  told_waiters() = default;
  told_waiters(const told_waiters&) = delete;
  told_waiters& operator=(const told_waiters&) = delete;

  // Requires the mutex of the part.
  void take_out(name_registry::part& here, const name_entry& added) noexcept {
    const auto at = here.waiting.find(added.name);
    if (at == here.waiting.end()) return;
    holder_ = added.who;
    for (const auto& waiter : at->second) {
      name_waiter& each = *waiter.value;
      each.in_table = false;
      if (!detail::unlisten_to_end(each.block, each)) continue;  // its last turn frees it
      // If the actor has terminated meanwhile, no notification is needed.
      each.held = control_block::hold_to_the_end(each.key.who);
      *end_ = &each;
      end_ = &each.later;
    }
    here.waiting.erase(at);
  }

  ~told_waiters() {
    for (name_waiter* next = first_; next != nullptr;) {
      const std::unique_ptr<name_waiter> one(std::exchange(next, next->later));
      if (one->held == nullptr) continue;
      one->tell(holder_);
      one->held->let_go();
    }
  }

 private:
  name_waiter* first_ = nullptr;
  name_waiter** end_ = &first_;
  address holder_;
};

// Retires one entry or waiter that has been removed from the table. Returns true if the caller must
// free it.
template <class Entry>
bool take_out(Entry& one) noexcept {
  one.in_table = false;
  return detail::unlisten_to_end(one.block, one);
}

}  // namespace

registry::registry(system& of) : registry_(&detail::extension_of<name_registry>(of)) {}

registration registry::add_block(std::string_view name, control_block& who,
                                 const detail::named_type& type) const {
  using outcome = registration::outcome;
  check(name);
  registry_->check_home(who);
  auto fresh = std::make_unique<name_entry>(*registry_, name, who, type);
  name_registry::part& here = usable_part(*registry_, name);
  told_waiters told;
  const std::lock_guard lock(here.guard);
  const auto [at, is_new] = here.names.try_emplace(fresh->name, fresh.get());
  if (!is_new) {
    const address holder = at->second->who;
    return {holder == fresh->who ? outcome::registered : outcome::taken, holder};
  }
  bool lives = false;
  try {
    lives = detail::listen_to_end(who, *fresh);
  } catch (...) {
    here.names.erase(at);
    throw;
  }
  if (!lives) {
    here.names.erase(at);
    return {outcome::ended, {}};
  }
  name_entry& added = *fresh.release();
  added.in_table = true;
  told.take_out(here, added);
  here.added.notify_all();
  return {outcome::registered, added.who};
}

registration registry::add_listed(std::string_view name, control_block& who,
                                  std::span<const detail::known_message> known) const {
  return add_block(name, who, registry_->type_of(who.type(), known));
}

bool registry::remove(std::string_view name, const address& who) const {
  std::unique_ptr<name_entry> own;
  name_registry::part& here = usable_part(*registry_, name);
  const std::lock_guard lock(here.guard);
  const auto at = here.names.find(name);
  if (at == here.names.end() || at->second->who != who) return false;
  name_entry& one = *at->second;
  here.names.erase(at);
  if (take_out(one)) own.reset(&one);
  return true;
}

void registry::check_name(std::string_view name) { check(name); }

// ── Lookup ────────────────────────────────────────────────────────────────────────────────────

namespace {

struct entry_seen {
  address who;
  const detail::named_type* type = nullptr;  // null if the name is not registered
};

// Requires the mutex of the part.
entry_seen look(name_registry::part& here, std::string_view name) noexcept {
  const auto at = here.names.find(name);
  return at == here.names.end() ? entry_seen{} : entry_seen{at->second->who, &at->second->type};
}

detail::miss not_there(std::string_view name) {
  return {not_found::not_there, std::string(name), {}, {}};
}

// Returns a held actor. If it is null, `none` gives the reason.
control_block* hold_if_it_is(const entry_seen& seen, std::string_view name,
                             const detail::named_type& type, detail::miss& none) {
  if (seen.type != nullptr && seen.type->actor->identity != type.actor->identity) {
    none = {not_found::another_type, std::string(name), type.actor->name, seen.type->actor->name};
    return nullptr;
  }
  control_block* const held = control_block::hold(seen.who);
  if (held == nullptr) none = not_there(name);
  return held;
}

}  // namespace

control_block* registry::find_block(std::string_view name, const detail::named_type& type,
                                    detail::miss& none) const {
  name_registry::part& here = usable_part(*registry_, name);
  std::unique_lock lock(here.guard);
  const entry_seen seen = look(here, name);
  lock.unlock();
  return hold_if_it_is(seen, name, type, none);
}

control_block* registry::find_block(std::string_view name,
                                    const detail::message_identity* const* wanted,
                                    const detail::dispatch** how, std::size_t count,
                                    detail::miss& none) const {
  name_registry::part& here = usable_part(*registry_, name);
  std::unique_lock lock(here.guard);
  const entry_seen seen = look(here, name);
  lock.unlock();
  for (std::size_t i = 0; seen.type != nullptr && i < count; ++i) {
    how[i] = seen.type->how_to(*wanted[i]);
    if (how[i] != nullptr) continue;
    none = {not_found::not_understood, std::string(name),
            seen.type->messages != nullptr ? wanted[i]->name : std::string_view{},
            seen.type->actor->name};
    return nullptr;
  }
  control_block* const held = control_block::hold(seen.who);
  if (held == nullptr) none = not_there(name);
  return held;
}

address registry::find_address(std::string_view name) const {
  name_registry::part& here = usable_part(*registry_, name);
  std::unique_lock lock(here.guard);
  const entry_seen seen = look(here, name);
  lock.unlock();
  // A terminating actor keeps its name for a moment longer, but can no longer be found by it.
  const held_actor holder(control_block::hold(seen.who));
  return holder.is_there() ? seen.who : address{};
}

control_block* registry::wait_for_block(std::string_view name, const detail::named_type& type,
                                        time_point deadline, detail::miss& none) const {
  check(name);
  if (const control_block* const running = detail::this_turn().running;
      running != nullptr && !running->runs_on().may_block()) {
    throw std::logic_error("registry::wait_for() in a handler of " + std::string(running->name()) +
                           " would block a thread that it shares with other actors: use "
                           "registry::notify_on_register()");
  }
  name_registry::part& here = usable_part(*registry_, name);
  std::unique_lock lock(here.guard);
  for (;;) {
    control_block* const held = hold_if_it_is(look(here, name), name, type, none);
    if (held != nullptr || none.why == not_found::another_type) return held;
    const event_count::ticket since = here.added.prepare_wait();
    lock.unlock();
    bool is_late = false;
    if (deadline == time_point::max()) {
      here.added.wait(since);
    } else {
      is_late = !here.added.wait_until(since, deadline);
    }
    lock.lock();
    if (is_late) return hold_if_it_is(look(here, name), name, type, none);
  }
}

// ── Notification ──────────────────────────────────────────────────────────────────────────────

void registry::notify_block(std::string_view name, control_block& whom,
                            detail::name_notice notice) const {
  registry_->notify_on_register(name, whom, notice, nullptr);
}

bool registry::cancel_notification(std::string_view name, const address& whom) const {
  return registry_->cancel_notification(name, whom, nullptr);
}

namespace detail {

const named_type& name_registry::type_of(const actor_type& of,
                                         std::span<const known_message> known) {
  check_not_forked("no name can be registered");
  const std::lock_guard lock(listed_guard_);
  for (const listed_type& each : listed_) {
    if (each.is(of, known)) return each.type;
  }
  return listed_.emplace_back(of, known).type;
}

void name_registry::notify_on_register(std::string_view name, control_block& whom,
                                       name_notice notice, const awaited_name* handler) {
  std::unique_ptr<name_waiter> fresh;
  try {
    fresh = std::make_unique<name_waiter>(*this, whom, notice, handler);
  } catch (...) {
    notice.message->how->discard(*notice.message);
    throw;
  }
  check(name);
  check_home(whom);
  part& here = usable_part(*this, name);
  held_actor holder;
  std::unique_lock lock(here.guard);
  const entry_seen seen = look(here, name);
  holder.set(control_block::hold(seen.who));
  if (holder.is_there()) {
    lock.unlock();
    fresh->tell(seen.who);
    return;
  }
  const auto group = here.waiting.try_emplace(std::string(name)).first;
  struct erase_if_empty {
    name_registry::part& here;
    decltype(group) at;
    ~erase_if_empty() {
      if (at->second.empty()) here.waiting.erase(at);
    }
  } guard{here, group};
  if (!group->second.try_add(fresh->key, fresh.get()).second) return;
  bool lives = false;
  try {
    lives = detail::listen_to_end(whom, *fresh);
  } catch (...) {
    group->second.erase(fresh->key);
    throw;
  }
  if (!lives) {
    group->second.erase(fresh->key);
    return;
  }
  fresh.release()->in_table = true;
}

bool name_registry::cancel_notification(std::string_view name, const address& whom,
                                        const awaited_name* handler) {
  std::unique_ptr<name_waiter> own;
  part& here = usable_part(*this, name);
  const std::lock_guard lock(here.guard);
  const auto group = here.waiting.find(name);
  if (group == here.waiting.end()) return false;
  name_waiter** const at = group->second.find({whom, handler});
  if (at == nullptr) return false;
  name_waiter& one = **at;
  group->second.erase(one.key);
  if (group->second.empty()) here.waiting.erase(group);
  if (take_out(one)) own.reset(&one);
  return true;
}

}  // namespace detail

// ── Listing ───────────────────────────────────────────────────────────────────────────────────

std::vector<named_actor> registry::all() const {
  std::vector<named_actor> those;
  for (name_registry::part& each : registry_->parts()) {
    const std::lock_guard lock(each.guard);
    for (const auto& [name, entry] : each.names) {
      those.push_back({entry->name, entry->who, entry->type.actor->name});
    }
  }
  return those;
}

std::size_t registry::count() const {
  std::size_t sum = 0;
  for (name_registry::part& each : registry_->parts()) {
    const std::lock_guard lock(each.guard);
    sum += each.names.size();
  }
  return sum;
}

std::string detail::to_string(const miss& what) {
  const std::string name = "the name \"" + what.name + "\"";
  const std::string registered(what.registered);
  switch (what.why) {
    case not_found::nothing:
      break;
    case not_found::not_there:
      return name + " is not registered: register it first, or wait for it";
    case not_found::another_type:
      return name + " belongs to an actor of the class " + registered + ", not " +
             std::string(what.asked);
    case not_found::not_understood:
      if (what.asked.empty()) {
        return name + " belongs to an actor of the class " + registered +
               ", which does not list its message types: add using messages = "
               "troupe::messages<...>";
      }
      return name + " belongs to an actor of the class " + registered +
             ", which does not understand " + std::string(what.asked);
  }
  return {};
}

}  // namespace troupe
