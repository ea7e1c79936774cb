// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/channel/channel_core.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>

#include <troupe/detail/actor/simulation_driver.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/sync/per_thread.hpp>

#include "actor/forked.hpp"
#include "base/accounts.hpp"

// A channel's state is guarded by its mutex. A waiter that cannot proceed stands in the channel's
// line, with the address of its value, or of room for one. A thread that changes the channel so
// that the waiter could proceed completes the waiter's operation (the hand-over), takes the waiter
// out of the line, and notifies it after the lock is released. So no waiter is overtaken, none is
// woken in vain, and no wake-up is lost: the operation is complete before the waiter is notified.
//
// A waiter for several channels (select) inspects all of them and joins their lines while it holds
// all of their locks, which are taken in the order of their addresses: no operation can be
// completed for it before it stands in all lines. From then on each of the channels may do so
// concurrently, under its own lock. So a thread first claims the waiter with decide(). The waiter
// claims itself when its time-out expires. A claimed waiter is skipped in the lines where it still
// stands, until it has left them. To leave, it takes the locks one at a time, so a waiter in a line
// lives as long as the lock is held.
//
// A thread that was given a value takes it. A handler may be destroyed instead, because its actor
// terminates: then the value is given back, and is the oldest again. The ring may have no room for
// it, so it is kept in a block of its own; there are never more of these than simultaneously
// waiting handlers.

namespace troupe::detail {

// ── Lines ─────────────────────────────────────────────────────────────────────────────────────

void channel_line::push(channel_case& c) noexcept {
  c.in_line = true;
  ++size_;
  c.next = nullptr;
  c.previous = last_;
  (last_ == nullptr ? first_ : last_->next) = &c;
  last_ = &c;
}

void channel_line::remove(channel_case& c) noexcept {
  c.in_line = false;
  --size_;
  (c.previous == nullptr ? first_ : c.previous->next) = c.next;
  (c.next == nullptr ? last_ : c.next->previous) = c.previous;
}

channel_case* channel_line::pop() noexcept {
  channel_case* const c = first_;
  if (c != nullptr) remove(*c);
  return c;
}

/// The waiters to notify when the locks are released. Declare it before the locks.
class channel_core::told_list {
 public:
  told_list() = default;
  told_list(const told_list&) = delete;
  told_list& operator=(const told_list&) = delete;
  ~told_list() {
    while (first_ != nullptr) std::exchange(first_, first_->next_told_)->tell();
  }

  /// Adds a waiter for which decide() returned true.
  void add(channel_waiter& who, channel_case* done) noexcept {
    who.done_ = done;
    who.next_told_ = std::exchange(first_, &who);
  }

 private:
  channel_waiter* first_ = nullptr;
};

/// Holds the locks of all channels of some cases.
class channel_core::all_locked {
 public:
  all_locked(std::span<channel_case* const> cases, std::span<channel_core*> room) {
    std::transform(cases.begin(), cases.end(), room.begin(), [](auto* c) { return c->of; });
    std::sort(room.begin(), room.end(), std::less<>{});
    those_ = room.first(static_cast<std::size_t>(
        std::distance(room.begin(), std::unique(room.begin(), room.end()))));
    for (channel_core* each : those_) each->mutex_.lock();
  }
  all_locked(const all_locked&) = delete;
  all_locked& operator=(const all_locked&) = delete;
  ~all_locked() {
    for (channel_core* each : those_) each->mutex_.unlock();
  }

 private:
  std::span<channel_core*> those_;
};

/// A value that was given back, in a block from the pool; the value lies after this header.
struct channel_core::returned_value {
  returned_value* next;
  std::uint64_t turn;

  static std::size_t offset(const value_operations& of) noexcept {
    return (sizeof(returned_value) + of.alignment - 1) / of.alignment * of.alignment;
  }
  static std::size_t alignment(const value_operations& of) noexcept {
    return std::max(of.alignment, alignof(returned_value));
  }
  void* value(const value_operations& of) noexcept {
    return reinterpret_cast<std::byte*>(this) + offset(of);
  }
};

// ── Construction ──────────────────────────────────────────────────────────────────────────────

namespace {

constexpr const char* no_channel = "a troupe::channel cannot be used";

std::byte* make_slots(const value_operations& of, std::size_t capacity, overflow::policy policy) {
  if (policy == overflow::policy::fail_receiver || policy == overflow::policy::redirect ||
      policy == overflow::policy::of_class) {
    throw std::invalid_argument(
        "a channel has no receiving actor: its overflow policy must be backpressure, refuse, "
        "drop_newest or drop_oldest");
  }
  if (capacity == 0) {
    if (policy != overflow::policy::drop_oldest) return nullptr;
    throw std::invalid_argument(
        "a channel of capacity 0 has no oldest value to drop: drop_oldest needs at least 1");
  }
  if (capacity > std::numeric_limits<std::size_t>::max() / of.bytes) {
    throw std::invalid_argument("a channel of capacity " + std::to_string(capacity) +
                                " is too large: all of its slots are allocated at once");
  }
  return static_cast<std::byte*>(
      ::operator new(capacity* of.bytes, std::align_val_t{of.alignment}));
}

}  // namespace

channel_core::channel_core(const value_operations& of, std::size_t capacity,
                           overflow::policy on_full)
    : of_(of), capacity_(capacity), on_full_(on_full), slots_(make_slots(of, capacity, on_full)) {}

channel_core::~channel_core() {
  expect_settled("waiters in the lines of a channel",
                 static_cast<std::int64_t>(senders_.size() + receivers_.size()));
  while (count_ != 0) of_.destroy(pop_slot());
  while (returned_ != nullptr) {
    returned_value* const one = std::exchange(returned_, returned_->next);
    of_.destroy(one->value(of_));
    free_returned(one);
  }
  if (slots_ != nullptr) ::operator delete(slots_, std::align_val_t{of_.alignment});
}

void* channel_core::slot(std::size_t index) const noexcept {
  return slots_ + (index < capacity_ ? index : index - capacity_) * of_.bytes;
}

void* channel_core::push_slot() noexcept { return slot(first_ + count_++); }

void* channel_core::pop_slot() noexcept {
  void* const oldest = slot(first_);
  first_ = first_ + 1 < capacity_ ? first_ + 1 : 0;
  --count_;
  return oldest;
}

void channel_core::free_returned(returned_value* one) const noexcept {
  pool_release(one, returned_value::offset(of_) + of_.bytes, returned_value::alignment(of_));
}

// There must be one.
void channel_core::take_oldest(void* to) noexcept {
  if (returned_ == nullptr) return of_.relocate(to, pop_slot());
  returned_value* const one = std::exchange(returned_, returned_->next);
  --returned_count_;
  of_.relocate(to, one->value(of_));
  free_returned(one);
}

// ── One step, under the lock ──────────────────────────────────────────────────────────────────

// A waiter that was decided elsewhere leaves the line by itself.
channel_case* channel_core::first_undecided(channel_line& line) noexcept {
  while (channel_case* const c = line.pop()) {
    if (c->who->decide()) return c;
  }
  return nullptr;
}

channel_core::progress channel_core::attempt(channel_case& c, told_list& told) noexcept {
  return c.sends ? send(c, told) : receive(c, told);
}

channel_core::progress channel_core::send(channel_case& c, told_list& told) noexcept {
  if (closed_) return progress::closed;
  if (channel_case* const to = first_undecided(receivers_)) {
    of_.move(to->value, c.value);
    to->turn = ++turns_;
    told.add(*to->who, to);
    return progress::done;
  }
  if (is_full()) {
    if (on_full_ != overflow::policy::drop_oldest) return progress::must_wait;
    take_oldest(c.dropped);
    c.has_dropped = true;
    ++counts_.dropped;
  }
  of_.move(push_slot(), c.value);
  return progress::done;
}

channel_core::progress channel_core::receive(channel_case& c, told_list& told) noexcept {
  if (count_ + returned_count_ == 0) {
    // A sender waits on an empty channel only if the channel has no places.
    channel_case* const from = first_undecided(senders_);
    if (from == nullptr) return closed_ ? progress::closed : progress::must_wait;
    of_.move(c.value, from->value);
    told.add(*from->who, from);
    return progress::done;
  }
  take_oldest(c.value);
  if (is_full()) return progress::done;
  if (channel_case* const from = first_undecided(senders_)) {
    of_.move(push_slot(), from->value);
    told.add(*from->who, from);
  }
  return progress::done;
}

void channel_core::line_up(channel_case& c, channel_waiter& who) noexcept {
  c.who = &who;
  (c.sends ? senders_ : receivers_).push(c);
  if (c.sends) ++counts_.paused;
}

// ── Operations of callers ─────────────────────────────────────────────────────────────────────

namespace {

// Where a select looks next, so that no channel starves. Round-robin would let one starve: two
// selects that alternate on one thread would each always begin with the same channel.
std::size_t random_below(std::size_t end) noexcept {
  if (simulation_driver* const by = simulation_driver::here()) [[unlikely]]
    return by->choose(end, "where a select looks");
  struct xorshift {
    std::uint32_t state = 2463534242;  // G. Marsaglia, Xorshift RNGs, 2003
  };
  std::uint32_t& x = per_thread<xorshift>::here().state;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return x % end;
}

}  // namespace

std::pair<channel_core::progress, channel_case*> channel_core::begin(std::span<channel_case*> cases,
                                                                     std::span<channel_core*> locks,
                                                                     channel_waiter* who) {
  check_not_forked(no_channel);
  told_list told;
  const all_locked lock(cases, locks);
  std::size_t open = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    // Picks one of the remaining cases with equal probability. So each ready case has the same
    // chance, however many are not ready.
    if (const std::size_t left = cases.size() - i; left > 1) {
      std::swap(cases[i], cases[i + random_below(left)]);
    }
    channel_case& c = *cases[i];
    switch (c.of->attempt(c, told)) {
      case progress::done:
        return {progress::done, &c};
      case progress::must_wait:
        ++open;
        break;
      case progress::closed:
        if (!c.tells_end) break;
        c.at_end = true;
        return {progress::done, &c};
    }
  }
  if (open == 0) return {progress::closed, nullptr};
  if (who != nullptr) {
    // [open] relaxed: other threads decrement it under a lock that is held here.
    who->open_.store(open, relaxed);
    for (channel_case* c : cases) {
      if (!c->of->closed_) c->of->line_up(*c, *who);
    }
  }
  return {progress::must_wait, nullptr};
}

void channel_core::leave(std::span<channel_case* const> cases) {
  if (is_forked_child()) return;
  for (channel_case* c : cases) {
    const std::lock_guard lock(c->of->mutex_);
    if (c->in_line) (c->sends ? c->of->senders_ : c->of->receivers_).remove(*c);
  }
}

channel_core::progress channel_core::try_send(channel_case& c) {
  check_not_forked(no_channel);
  told_list told;
  const std::lock_guard lock(mutex_);
  const progress result = send(c, told);
  if (result == progress::must_wait) {
    ++(on_full_ == overflow::policy::drop_newest ? counts_.dropped : counts_.refused);
  }
  return result;
}

// ── Giving back ───────────────────────────────────────────────────────────────────────────────

void channel_core::give_back(channel_case& c) noexcept {
  if (!is_forked_child()) {
    told_list told;
    const std::lock_guard lock(mutex_);
    if (receiving_ends_ == 0) {
      // It cannot be received any more, and is destroyed like the values that were left.
    } else if (channel_case* const to = first_undecided(receivers_)) {
      of_.move(to->value, c.value);
      to->turn = c.turn;
      told.add(*to->who, to);
    } else if (on_full_ == overflow::policy::drop_oldest && is_full()) {
      ++counts_.dropped;  // this value is the dropped one
    } else {
      keep_returned(c);
    }
  }
  of_.destroy(c.value);  // moved from, or not wanted
}

// Moves from the value. If there is no memory, the value is dropped.
void channel_core::keep_returned(channel_case& c) noexcept {
  void* block;
  try {
    block = pool_allocate(returned_value::offset(of_) + of_.bytes, returned_value::alignment(of_));
  } catch (...) {
    ++counts_.dropped;
    return;
  }
  returned_value** before = &returned_;
  while (*before != nullptr && (*before)->turn < c.turn) before = &(*before)->next;
  auto* const one = ::new (block) returned_value{*before, c.turn};
  of_.move(one->value(of_), c.value);
  *before = one;
  ++returned_count_;
}

// ── Closing ───────────────────────────────────────────────────────────────────────────────────

bool channel_core::close() {
  check_not_forked(no_channel);
  told_list told;
  const std::lock_guard lock(mutex_);
  return close_locked(told);
}

bool channel_core::close_locked(told_list& told) noexcept {
  if (closed_) return false;
  closed_ = true;
  // A waiting receiver has found the channel empty, so nothing is left for it.
  close_line(receivers_, told);
  close_line(senders_, told);
  return true;
}

void channel_core::close_line(channel_line& line, told_list& told) noexcept {
  while (channel_case* const c = line.pop()) {
    // [open] relaxed: exactly one thread reaches zero, and notifies the waiter unless it was
    // already decided.
    const bool was_last = c->who->open_.fetch_sub(1, relaxed) == 1;
    if (!was_last && !c->tells_end) continue;
    if (!c->who->decide()) continue;
    c->at_end = c->tells_end;
    told.add(*c->who, c->tells_end ? c : nullptr);
  }
}

// In a forked child, the ends are not counted any more: what is left is not destroyed.
void channel_core::open_end(bool sends, bool receives) {
  if (is_forked_child()) return;
  const std::lock_guard lock(mutex_);
  if (sends) ++sending_ends_;
  if (receives) ++receiving_ends_;
}

void channel_core::end_ends(bool sends, bool receives) {
  if (is_forked_child()) return;
  std::size_t left = 0;
  returned_value* returned = nullptr;
  {
    told_list told;
    const std::lock_guard lock(mutex_);
    if (sends) --sending_ends_;
    if (receives) --receiving_ends_;
    if (sending_ends_ == 0 || receiving_ends_ == 0) close_locked(told);
    if (receiving_ends_ == 0) {
      left = std::exchange(count_, 0);
      returned = std::exchange(returned_, nullptr);
      returned_count_ = 0;
    }
  }
  // Nothing can be sent or received any more: the values belong to this thread, and are destroyed
  // without the lock.
  for (; left != 0; --left, first_ = first_ + 1 < capacity_ ? first_ + 1 : 0) {
    of_.destroy(slot(first_));
  }
  while (returned != nullptr) {
    returned_value* const one = std::exchange(returned, returned->next);
    of_.destroy(one->value(of_));
    free_returned(one);
  }
}

// ── Inspection ────────────────────────────────────────────────────────────────────────────────

void channel_core::count_timed_out() {
  check_not_forked(no_channel);
  const std::lock_guard lock(mutex_);
  ++counts_.pauses_timed_out;
}

overload_counts channel_core::counts() const {
  check_not_forked(no_channel);
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::size_t channel_core::size() const {
  check_not_forked(no_channel);
  const std::lock_guard lock(mutex_);
  return count_ + returned_count_;
}

std::size_t channel_core::waiting() const {
  check_not_forked(no_channel);
  const std::lock_guard lock(mutex_);
  return senders_.size() + receivers_.size();
}

bool channel_core::is_closed() const {
  check_not_forked(no_channel);
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace troupe::detail
