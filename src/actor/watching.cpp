// SPDX-License-Identifier: Apache-2.0
#include "watching.hpp"

#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/actor/end_of.hpp>
#include <troupe/actor/told_of_ends.hpp>
#include <troupe/memory/stable_pool.hpp>

#include "side_block.hpp"

namespace troupe::detail {

struct monitor_access {
  static monitor make(watch_slot& slot) noexcept {
    return {&slot, slot.generation.load(relaxed)};  // [watch] relaxed: it is the caller's
  }
  static watch_slot* slot(const monitor& m) noexcept { return m.slot_; }
  static std::uint64_t generation(const monitor& m) noexcept { return m.generation_; }
};

namespace {

using slots = stable_pool<watch_slot>;

// For a watcher that is terminating and will not handle it: not a dead letter.
constexpr dispatch quiet_dispatch{
    .run = nullptr, .discard = discard_down, .message = "down", .internal = true};

watch_slot& slot_of(watch& one) noexcept {
  return *std::launder(reinterpret_cast<watch_slot*>(&one) - 1);
}
watch& watch_in(watch_slot& slot) noexcept {
  return *std::launder(reinterpret_cast<watch*>(&slot + 1));
}

watch& make(control_block& watcher, const address& watched, end_waiter* handler) {
  watch_slot* const slot = slots::take(watch_bytes);
  slot->watcher.store(&watcher, relaxed);  // [watch]
  return *::new (slot + 1) watch(watcher, watched, handler);
}

address watcher_of(watch& one) noexcept {
  // [watch] relaxed: written before `one` was constructed, and constant while it lives.
  return address_access::make(&slot_of(one).watcher.load(relaxed)->line(), one.watcher);
}

// Delivers to a suspended handler, even while an exclusive one runs.
void run_awaited_down(void*, envelope& message) {
  end_waiter* const handler = static_cast<watch&>(message).awaited;
  if (auto one = take_down(message)) handler->ended(std::move(*one));
}

constexpr dispatch awaited_dispatch{.run = run_awaited_down,
                                    .discard = discard_down,
                                    .message = "the end of an actor that a handler waits for",
                                    .internal = true,
                                    .at_once = true};

void free(watch& one) noexcept {
  watch_slot& slot = slot_of(one);
  std::destroy_at(&one);
  // [watch] relaxed: only the watcher's turn checks its own watches, and it runs after the turn in
  // which this was freed.
  slot.generation.store(slot.generation.load(relaxed) + 1, relaxed);
  slots::give_back(&slot, watch_bytes);
}

void add_own(side_block& its, watch& one) noexcept {
  one.next_own = std::exchange(its.watches, &one);
  if (one.next_own != nullptr) one.next_own->previous_own = &one;
}

void remove_own(side_block& its, watch& one) noexcept {
  (one.previous_own != nullptr ? one.previous_own->next_own : its.watches) = one.next_own;
  if (one.next_own != nullptr) one.next_own->previous_own = one.previous_own;
}

// Calls `then(termination_notices&)` under their mutex if the watch is listed. False: it is on its way to the
// watcher.
template <class Then>
bool if_listed(watch& one, Then&& then) noexcept {
  control_block* const watched = control_block::hold_to_the_end(one.watched);
  if (watched == nullptr) return false;
  termination_notices& its = watched->side_if_any()->termination_notices;
  bool listed;
  {
    const std::lock_guard lock(its.guard);
    listed = its.now != termination_notices::phase::told;
    if (listed) then(its);
  }
  watched->let_go();
  return listed;
}

// True: it now belongs to the caller.
bool take_back(watch& one) noexcept {
  return one.in_envelope || if_listed(one, [&](termination_notices& its) { its.remove(one); });
}

down what_is_told(watch& one) noexcept {
  down d;
  d.who = one.watched;
  d.reason = one.reason;
  d.unhandled = one.unhandled;
  d.monitor = monitor_access::make(slot_of(one));
  try {
    if (one.what != nullptr) d.what = *one.what;
  } catch (...) {
    // No memory for the text: the rest matters more.
  }
  return d;
}

}  // namespace

watch::watch(control_block& by, const address& other, end_waiter* awaited_by) noexcept
    : envelope{nullptr, &quiet_dispatch},
      watched(other),
      awaited(awaited_by),
      watcher(address_access::generation(by.where())) {}

monitor watch_it(control_block& watcher, const address& watched, control_block* target,
                 end_waiter* handler) {
  side_block& mine = watcher.side();
  termination_notices* const theirs =
      target != nullptr ? &target->side().termination_notices : nullptr;
  watch& one = make(watcher, watched, handler);
  add_own(mine, one);
  const monitor named = monitor_access::make(slot_of(one));
  if (theirs != nullptr) {
    const std::lock_guard lock(theirs->guard);
    if (!theirs->is_over(*target)) {
      theirs->add(one);
      return named;
    }
  }
  end_cause why;
  if (target != nullptr) why.reason = target->reason();
  send_down(one, why);
  return named;
}

bool is_on_its_way(const monitor& which) noexcept {
  watch_slot* const slot = monitor_access::slot(which);
  // [watch] relaxed: as in unwatch().
  if (slot == nullptr || slot->generation.load(relaxed) != monitor_access::generation(which)) {
    return false;
  }
  watch& one = watch_in(*slot);
  return !one.unwatched && !if_listed(one, [](termination_notices&) {});
}

bool unwatch(control_block& watcher, const monitor& which) {
  watch_slot* const slot = monitor_access::slot(which);
  // [watch] relaxed, both: a turn sees what earlier turns of the same actor did with its watches.
  if (slot == nullptr || slot->generation.load(relaxed) != monitor_access::generation(which)) {
    return false;
  }
  if (slot->watcher.load(relaxed) != &watcher) {
    throw std::logic_error(std::string(watcher.name()) +
                           " called unwatch() with a monitor of another actor");
  }
  watch& one = watch_in(*slot);
  if (one.unwatched) return false;
  remove_own(*watcher.side_if_any(), one);
  if (take_back(one)) {
    free(one);
  } else {
    one.unwatched = true;
  }
  return true;
}

void end_watches(side_block& of) noexcept {
  for (watch* next = of.watches; next != nullptr;) {
    watch& one = *std::exchange(next, next->next_own);
    if (take_back(one)) free(one);
  }
  of.watches = nullptr;
}

void unwatch_all(side_block& of) noexcept {
  while (of.watches != nullptr) {
    watch& one = *of.watches;
    remove_own(of, one);
    if (take_back(one)) {
      free(one);
    } else {
      one.unwatched = true;
    }
  }
}

void send_down(watch& one, const end_cause& why) noexcept {
  control_block* const watcher = control_block::hold_to_the_end(watcher_of(one));
  if (watcher == nullptr) return free(one);
  one.reason = why.reason;
  one.unhandled = why.unhandled;
  one.what = why.what;
  if (!watcher->line().now().ending()) {
    one.how = one.awaited != nullptr ? &awaited_dispatch : watcher->type().on_down;
  }
  if (!watcher->try_deliver(one)) free(one);
  watcher->let_go();
}

std::optional<down> take_down(envelope& message) noexcept {
  auto& one = static_cast<watch&>(message);
  struct free_after {
    watch& one;
    ~free_after() { free(one); }
  } guard{one};
  if (one.unwatched) return {};
  control_block& me = *this_turn().running;
  remove_own(*me.side_if_any(), one);
  return what_is_told(one);
}

std::optional<down> look_at_down(envelope& message) noexcept {
  auto& one = static_cast<watch&>(message);
  if (one.unwatched) {
    free(one);
    return {};
  }
  one.in_envelope = true;
  return what_is_told(one);
}

bool is_to_be_told(const down& what) noexcept {
  watch_slot* const slot = monitor_access::slot(what.monitor);
  // [watch] relaxed: as in unwatch().
  return slot->generation.load(relaxed) == monitor_access::generation(what.monitor);
}

void end_of_telling(const down& what) noexcept {
  if (!is_to_be_told(what)) return;
  watch& one = watch_in(*monitor_access::slot(what.monitor));
  remove_own(*this_turn().running->side_if_any(), one);
  free(one);
}

void discard_down(envelope& message) noexcept { free(static_cast<watch&>(message)); }

}  // namespace troupe::detail
