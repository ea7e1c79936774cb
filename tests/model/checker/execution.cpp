// SPDX-License-Identifier: Apache-2.0
#include "execution.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include <troupe/base/assert.hpp>

#include "sites.hpp"
#include "trace.hpp"

namespace troupe::model {
namespace {

constexpr std::size_t stack_bytes = 512 * 1024;

// Fibres are used again, and never destroyed: one that has been abandoned cannot be.
struct fibre_store {
  std::vector<fibre*> free;
  std::vector<fibre*> abandoned;

  fibre* take() {
    if (free.empty()) return new fibre(stack_bytes);
    fibre* const one = free.back();
    free.pop_back();
    return one;
  }
};
fibre_store& fibres() {
  static auto* const those = new fibre_store;
  return *those;
}

execution* active = nullptr;
int inside = 0;  // calls of the engine that are under way; while there are, memory is its own

struct inside_scope {
  inside_scope() noexcept { ++inside; }
  inside_scope(const inside_scope&) = delete;
  inside_scope& operator=(const inside_scope&) = delete;
  ~inside_scope() { --inside; }
};

bool acquires(std::memory_order order) noexcept {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool is_seq_cst(std::memory_order order) noexcept { return order == std::memory_order_seq_cst; }

bits raw_value(detail::cell of) noexcept {
  bits raw = 0;
  std::memcpy(&raw, of.at, of.bytes);
  return raw;
}
void set_raw_value(detail::cell of, bits value) noexcept { std::memcpy(of.at, &value, of.bytes); }
bits cut(bits value, std::size_t bytes) noexcept {
  return bytes == sizeof(bits) ? value : value & ((bits{1} << (8 * bytes)) - 1);
}
bits changed(detail::change how, bits before, bits operand, std::size_t bytes) noexcept {
  switch (how) {
    case detail::change::exchange:
      return operand;
    case detail::change::add:
      return cut(before + operand, bytes);
    case detail::change::subtract:
      return cut(before - operand, bytes);
    case detail::change::bit_and:
      return before & operand;
    case detail::change::bit_or:
      return before | operand;
    case detail::change::bit_xor:
      return before ^ operand;
  }
  return before;
}

// The kinds of event that a thread's history is made of.
enum event : std::uint64_t {
  began,
  made,
  loaded,
  stored,
  changed_it,
  failed_to_change,
  locked,
  unlocked,
  joined,
  woke,
  was_woken,
  timed_out,
  did_not_sleep,
  was_finished
};

}  // namespace

// ── An execution ──────────────────────────────────────────────────────────────────────────────

execution::execution(chooser& decides, const limits& within, bool traced)
    : decides_(decides),
      within_(within),
      traced_(traced),
      spurious_left_(within.spurious),
      timeouts_left_(within.timeouts) {
  threads_.reserve(threads_max);
}

execution::~execution() = default;

std::optional<failure> execution::run(const std::function<void()>& body) {
  active = this;
  inside = 1;
  const std::terminate_handler before =
      std::set_terminate([] { detail::fail("std::terminate() was called", {}); });
  begin(body, "main", {});
  next_ = 0;
  while (!failure_) {
    current_ = next_;
    threads_[current_].runs_on->resume();
    const bool all_over = std::all_of(threads_.begin(), threads_.end(), [](const thread_state& t) {
      return t.what == waits::is_over;
    });
    if (all_over) break;
  }
  for (const thread_state& each : threads_) {
    (each.runs_on->busy() ? fibres().abandoned : fibres().free).push_back(each.runs_on);
  }
  destroy_shared();
  if (!failure_) check_mutexes();
  if (!failure_) check_leaks();
  free_blocks();
  active = nullptr;
  inside = 0;
  std::set_terminate(before);
  if (failure_) failure_->trace = std::move(trace_);
  return std::move(failure_);
}

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

thread_index execution::begin(std::function<void()> body, std::string name, source_line where) {
  if (threads_.size() == threads_max) {
    abandon("more than " + std::to_string(threads_max) + " threads: make the case smaller");
  }
  const auto index = static_cast<thread_index>(threads_.size());
  std::uint64_t identity = began;
  if (index != 0) {
    tick(where);
    identity = happened(began, index);
    if (traced_) tell(where, "starts ", name.empty() ? "thread" : name);
  }
  thread_state& fresh = threads_.emplace_back();
  fresh.name = std::move(name);
  fresh.history = mix(identity, index);
  if (index != 0) fresh.clock = me().clock;
  fresh.runs_on = fibres().take();
  fresh.runs_on->start([this, index, body = std::move(body)] { thread_main(index, body); });
  decides_.thread_begins(index);
  return index;
}

void execution::thread_main(thread_index self, const std::function<void()>& body) {
  tick({});
  --inside;
  try {
    body();
  } catch (const std::exception& e) {
    ++inside;
    abandon(std::string("an exception leaves a thread: ") + e.what());
  } catch (...) {
    ++inside;
    abandon("an exception leaves a thread");
  }
  ++inside;
  destroy_own(threads_[self]);
  tick({});
  happened(was_finished, 0);
  if (traced_) tell({}, "is over");
  threads_[self].what = waits::is_over;
  progress();
  const bool all_over = std::all_of(threads_.begin(), threads_.end(),
                                    [](const thread_state& t) { return t.what == waits::is_over; });
  if (!all_over) next_ = choose_next(false);
}

void execution::destroy_own(thread_state& of) {
  while (!of.own.empty()) {
    const own_object last = of.own.back();
    --inside;
    last.destroy(last.object);
    ++inside;
    // Making it anew in a destructor would find it here.
    std::erase_if(of.own, [&](const own_object& each) { return each.object == last.object; });
  }
}

// The last thread is over; what is left of it acts.
void execution::destroy_shared() {
  if (failure_) return;
  finishing_ = true;
  for (const thread_state& each : threads_) me().clock.join(each.clock);
  --inside;
  while (!shared_.empty()) {
    const own_object last = shared_.back();
    shared_.pop_back();
    last.destroy(last.object);
  }
  ++inside;
}

void execution::join(thread_index other, source_line where) {
  point(where);
  if (threads_[other].what != waits::is_over) {
    me().joins = other;
    block_on(waits::for_join, nullptr);
  }
  tick(where);
  me().clock.join(threads_[other].clock);
  happened(joined, threads_[other].history);
  if (traced_) tell(where, "joins ", describe_thread(other));
}

// ── Whose turn ────────────────────────────────────────────────────────────────────────────────

void execution::point(source_line where) {
  if (finishing_) return;
  me().where = where;
  if (++steps_ > within_.steps) {
    abandon("livelock: more than " + std::to_string(within_.steps) + " steps in one execution");
  }
  switch_to(choose_next(true));
}

thread_index execution::choose_next(bool current_goes_on) {
  find_candidates(current_goes_on);
  if (candidates_.empty()) all_asleep();
  thread_index chosen = candidates_[0];
  if (candidates_.size() > 1) {
    decides_.arrive(state());
    const bool preempts = current_goes_on && chosen == current_ && may_go_on(me());
    chosen = candidates_[decides_.pick_thread(candidates_, preempts)];
  }
  if (!may_go_on(threads_[chosen]) && may_go_on(threads_[candidates_[0]])) --timeouts_left_;
  return chosen;
}

void execution::switch_to(thread_index chosen) {
  if (chosen == current_) return;
  next_ = chosen;
  me().runs_on->suspend();
}

bool execution::may_go_on(const thread_state& t) const {
  switch (t.what) {
    case waits::for_nothing:
      return true;
    case waits::for_mutex:
      return mutexes_.at(t.on).holder < 0;
    case waits::for_futex:
      return t.woken;
    case waits::for_join:
      return threads_[t.joins].what == waits::is_over;
    case waits::is_over:
      return false;
  }
  return false;
}

// Those who spin go on when there is nobody else, and those whose deadline may pass last of all.
void execution::find_candidates(bool current_goes_on) {
  candidates_.clear();
  const auto consider = [&](auto&& wanted) {
    if (current_goes_on && wanted(threads_[current_])) candidates_.push_back(current_);
    for (thread_index t = 0; t < threads_.size(); ++t) {
      if ((t != current_ || !current_goes_on) && wanted(threads_[t])) candidates_.push_back(t);
    }
  };
  consider([&](const thread_state& t) { return may_go_on(t) && !t.yielded; });
  if (candidates_.empty()) {
    consider([&](const thread_state& t) { return may_go_on(t); });
    for (thread_state& t : threads_) t.yielded = false;
  }
  if (candidates_.empty() || timeouts_left_ > 0) {
    consider(
        [&](const thread_state& t) { return t.what == waits::for_futex && t.timed && !t.woken; });
  }
}

// Something has changed that a spinning thread may be waiting for.
void execution::progress() {
  for (thread_index t = 0; t < threads_.size(); ++t) {
    if (t != current_) threads_[t].yielded = false;
  }
}

std::uint64_t execution::state() const {
  std::uint64_t sum = memory_.hash();
  for (thread_index t = 0; t < threads_.size(); ++t) {
    const thread_state& each = threads_[t];
    sum += mix(each.history, (static_cast<std::uint64_t>(each.what) << 8) |
                                 (std::uint64_t{each.yielded} << 1) | std::uint64_t{each.woken} |
                                 (std::uint64_t{t} << 16));
  }
  return mix(
      sum, current_ | (std::uint64_t{spurious_left_} << 8) | (std::uint64_t{timeouts_left_} << 24));
}

void execution::block_on(waits what, const void* on) {
  me().what = what;
  me().on = on;
  me().woken = false;
  switch_to(choose_next(false));
  me().what = waits::for_nothing;
}

void execution::all_asleep() {
  abandon("deadlock: all are asleep, and nobody is left to wake them\n" + what_they_wait_for());
}

void execution::abandon(std::string what) {
  if (finishing_) {
    std::fprintf(stderr, "in what all threads share, after their end: %s\n", what.c_str());
    std::abort();
  }
  if (!failure_) failure_ = failure{std::move(what), {}};
  for (;;) me().runs_on->suspend();
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────

moment execution::tick(source_line where) {
  thread_state& self = me();
  return {current_, ++self.clock.at[current_], where};
}

// Adds to the thread's history; what it returns names the event.
std::uint64_t execution::happened(std::uint64_t kind, std::uint64_t with) {
  return me().history = mix(mix(me().history, kind), with);
}

void execution::make_location(detail::cell of, source_line where) {
  names_.erase(of.at);
  if (making_shared_) {  // whoever comes first: all others know of it
    memory_.make(of.at, of.bytes, raw_value(of), mix(made, ++shared_made_), {0, 0, where}, true);
    return;
  }
  const moment now = tick(where);
  const std::uint64_t name = happened(made, ++me().made);
  memory_.make(of.at, of.bytes, raw_value(of), name, now, false);
}

location& execution::locate(detail::cell of, source_line where) {
  location* found = memory_.find(of.at);
  if (found == nullptr) {
    if (const block* in = find_block(of.at); in != nullptr && in->is_freed) {
      abandon("use after free: an atomic in a block that was given back by " + describe(in->freed));
    }
    // It was there before the execution, so its address is a name.
    found = &memory_.make(of.at, of.bytes, raw_value(of), reinterpret_cast<std::uintptr_t>(of.at),
                          {0, 0, where}, true);
  }
  if (traced_ && !names_.contains(of.at)) {
    const std::string used_as = name_in_use(where);
    if (!used_as.empty()) names_[of.at] = used_as + "#" + std::to_string(found->number);
  }
  if (found->is_freed) {
    if (traced_) tell(where, "uses ", describe(*found));
    abandon("use after free: " + describe(*found) + " was given back by " + describe(found->freed));
  }
  if (!memory::is_known(*found, me().clock)) {
    if (traced_) tell(where, "uses ", describe(*found));
    abandon("data race: " + describe(*found) + " is used by " + describe_thread(current_) +
            ", which does not know of its construction by " + describe(found->born));
  }
  return *found;
}

// Whether the next store was made by a read-modify-write that read this one.
bool execution::is_bound(const location& at, std::uint32_t position) const {
  return position + 1 < at.order.size() && at.order[position + 1]->is_rmw;
}

// Reading the same stale store over and over leads nowhere: stores become visible some time.
bool execution::is_repeated(const location& at, const store& from) {
  for (const repeated_read& each : me().last_reads) {
    if (each.at == &at) return each.from == &from && each.times > 1;
  }
  return false;
}

void execution::read_from(location& at, const store& from, std::memory_order order, moment now) {
  memory_.note_read(at, now, from);
  if (acquires(order)) me().clock.join(from.released);
  const std::uint32_t stale = from.position + 1 < at.order.size() ? 1 : 0;
  for (repeated_read& each : me().last_reads) {
    if (each.at != &at) continue;
    each.times = each.from == &from ? each.times + stale : stale;
    each.from = &from;
    return;
  }
  me().last_reads.push_back({&at, &from, stale});
}

void execution::note_seq_cst(location& at, moment now, const store* read, const store* written) {
  if (memory_.is_full()) abandon("too many seq_cst operations in one execution: make it shorter");
  memory_.note_seq_cst(at, now, me().clock, read, written);
}

store& execution::write_behind(location& at, const store& behind, bits value,
                               std::memory_order order, moment now, const store* read) {
  const std::uint64_t identity =
      happened(read != nullptr ? changed_it : stored, mix(at.name, behind.identity));
  store& fresh = memory_.insert(at, behind, value, now, identity, read != nullptr);
  if (releases(order)) fresh.released = me().clock;
  if (read != nullptr) fresh.released.join(read->released);
  if (is_seq_cst(order)) note_seq_cst(at, now, read, &fresh);
  set_raw_value({const_cast<void*>(at.at), at.bytes}, at.order.back()->value);
  progress();
  return fresh;
}

const store* execution::pick_store(const std::vector<const store*>& among) {
  return among[among.size() == 1 ? 0 : decides_.pick(static_cast<std::uint32_t>(among.size()))];
}

bits execution::load(detail::cell of, std::memory_order order, source_line where) {
  order = order_at(where, operation::load, order);
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, me().clock);
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    const model::store& from = *at.order[p];
    if (p + 1 < at.order.size() && is_repeated(at, from) && !readable_.empty()) continue;
    if (is_seq_cst(order)) {
      vector_clock then = me().clock;
      then.join(from.released);
      if (!memory_.permits(at, then, &from, nullptr)) continue;
    }
    readable_.push_back(&from);
  }
  const model::store& from = *pick_store(readable_);
  read_from(at, from, order, now);
  if (is_seq_cst(order)) note_seq_cst(at, now, &from, nullptr);
  happened(loaded, mix(at.name, from.identity));
  if (traced_)
    tell(where, "loads ", describe(at), " → ", describe(from.value), order_name(order),
         from.position + 1 < at.order.size()
             ? "   (stale: the newest is " + describe(at.order.back()->value) + ")"
             : "");
  return from.value;
}

void execution::write(detail::cell of, bits value, std::memory_order order, source_line where) {
  order = order_at(where, operation::store, order);
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, me().clock);
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    if (is_bound(at, p)) continue;
    if (is_seq_cst(order) && !memory_.permits(at, me().clock, nullptr, at.order[p])) continue;
    readable_.push_back(at.order[p]);
  }
  const model::store& behind = *pick_store(readable_);
  const bool is_newest = behind.position + 1 == at.order.size();
  write_behind(at, behind, value, order, now, nullptr);
  if (traced_)
    tell(where, "stores ", describe(at), " = ", describe(value), order_name(order),
         is_newest ? "" : "   (before the newest in modification order)");
}

// Nor does changing it again and again where all others have moved on.
bool execution::is_left_behind(const location& at) {
  for (const repeated_read& each : me().last_reads) {
    if (each.at == &at) return each.behind > 1;
  }
  return false;
}

bits execution::change(detail::cell of, detail::change how, bits operand, std::memory_order order,
                       source_line where) {
  order = order_at(where, operation::change, order);
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, me().clock);
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    if (is_bound(at, p)) continue;
    if (!readable_.empty() && is_left_behind(at)) break;
    const model::store* const from = at.order[p];
    if (is_seq_cst(order)) {
      vector_clock then = me().clock;
      then.join(from->released);
      if (!memory_.permits(at, then, from, from)) continue;
    }
    readable_.push_back(from);
  }
  const model::store& from = *pick_store(readable_);
  read_from(at, from, order, now);
  const bits after = changed(how, from.value, operand, at.bytes);
  const bool is_newest = from.position + 1 == at.order.size();
  for (repeated_read& each : me().last_reads) {
    if (each.at == &at) each.behind = is_newest ? 0 : each.behind + 1;
  }
  write_behind(at, from, after, order, now, &from);
  if (traced_)
    tell(where, "changes ", describe(at), ": ", describe(from.value), " → ", describe(after),
         order_name(order), is_newest ? "" : "   (before the newest in modification order)");
  return from.value;
}

bool execution::compare_exchange(detail::cell of, bits& expected, bits desired,
                                 std::memory_order success, std::memory_order failing, bool weak,
                                 source_line where) {
  success = order_at(where, operation::change, success);
  failing = order_at(where, operation::failure, failing);
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, me().clock);
  std::size_t spurious_from = 0;  // of readable_: equal, but fails all the same
  const auto consider = [&](const model::store& from, bool succeeds) {
    const std::memory_order order = succeeds ? success : failing;
    if (is_seq_cst(order)) {
      vector_clock then = me().clock;
      if (acquires(order)) then.join(from.released);
      if (!memory_.permits(at, then, &from, succeeds ? &from : nullptr)) return;
    }
    readable_.push_back(&from);
  };
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    const model::store& from = *at.order[p];
    if (from.value == expected) {
      if (!is_bound(at, p)) consider(from, true);
    } else if (p + 1 == at.order.size() || !is_repeated(at, from) || readable_.empty()) {
      consider(from, false);
    }
  }
  spurious_from = readable_.size();
  if (weak && spurious_left_ > 0) {
    for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
      if (at.order[p]->value == expected) consider(*at.order[p], false);
    }
  }
  const std::size_t picked =
      readable_.size() == 1 ? 0 : decides_.pick(static_cast<std::uint32_t>(readable_.size()));
  const model::store& from = *readable_[picked];
  const bool is_spurious = picked >= spurious_from;
  if (from.value == expected && !is_spurious) {
    read_from(at, from, success, now);
    const bool is_newest = from.position + 1 == at.order.size();
    write_behind(at, from, desired, success, now, &from);
    if (traced_)
      tell(where, "changes ", describe(at), ": ", describe(from.value), " → ", describe(desired),
           order_name(success), is_newest ? "" : "   (before the newest in modification order)");
    return true;
  }
  if (is_spurious) --spurious_left_;
  read_from(at, from, failing, now);
  if (is_seq_cst(failing)) note_seq_cst(at, now, &from, nullptr);
  happened(failed_to_change, mix(at.name, mix(from.identity, is_spurious)));
  if (traced_)
    tell(where, "fails to change ", describe(at), ": it is ", describe(from.value), ", not ",
         describe(expected), order_name(failing),
         is_spurious ? "   (spurious)"
         : from.position + 1 < at.order.size()
             ? "   (stale: the newest is " + describe(at.order.back()->value) + ")"
             : "");
  expected = from.value;
  return false;
}

// ── Waiting ───────────────────────────────────────────────────────────────────────────────────

// The kernel compares under a lock that futex_wake() takes as well: what came before a wake that
// came too early for this sleeper, it sees.
bool execution::futex_wait(detail::cell of, bits expected, bool timed, source_line where) {
  point(where);
  location& at = locate(of, where);
  const moment now = tick(where);
  vector_clock known = me().clock;
  known.join(at.wakes);
  readable_.clear();
  const std::uint32_t floor = memory::floor(at, known);
  for (std::uint32_t p = static_cast<std::uint32_t>(at.order.size()); p-- > floor;) {
    readable_.push_back(at.order[p]);
  }
  const model::store& from = *pick_store(readable_);
  memory_.note_read(at, now, from);
  if (from.value != expected) {
    happened(did_not_sleep, mix(at.name, from.identity));
    if (traced_)
      tell(where, "does not sleep on ", describe(at), ": it is ", describe(from.value), ", not ",
           describe(expected));
    return false;
  }
  if (spurious_left_ > 0 && decides_.pick(2) == 1) {
    --spurious_left_;
    happened(did_not_sleep, mix(at.name, from.identity + 1));
    if (traced_) tell(where, "wakes from ", describe(at), " for no reason");
    return false;
  }
  happened(did_not_sleep, mix(at.name, from.identity + 2));
  if (traced_) tell(where, "sleeps on ", describe(at), " while it is ", describe(expected));
  me().timed = timed;
  sleepers_[of.at].push_back(current_);
  block_on(waits::for_futex, of.at);
  tick(where);
  if (me().woken) {
    if (traced_) tell(where, "wakes");
    return false;
  }
  std::erase(sleepers_[of.at], current_);
  happened(timed_out, 0);
  if (traced_) tell(where, "has waited till its deadline");
  return true;
}

// The address is all that is used.
void execution::futex_wake(const void* of, std::uint32_t count, source_line where) {
  point(where);
  tick(where);
  location* const at = memory_.find(of);
  if (at != nullptr) at->wakes.join(me().clock);
  const std::uint64_t identity = happened(woke, at != nullptr ? at->name : 0);
  std::vector<thread_index>& sleeping = sleepers_[of];
  if (traced_)
    tell(where, "wakes ", std::min<std::size_t>(count, sleeping.size()), " of ", sleeping.size(),
         " that sleep", at != nullptr ? " on " + describe(*at) : "");
  for (; count > 0 && !sleeping.empty(); --count) {
    const std::size_t chosen =
        sleeping.size() == 1 ? 0 : decides_.pick(static_cast<std::uint32_t>(sleeping.size()));
    thread_state& one = threads_[sleeping[chosen]];
    sleeping.erase(sleeping.begin() + static_cast<std::ptrdiff_t>(chosen));
    one.woken = true;
    one.history = mix(mix(one.history, was_woken), identity);
  }
  progress();
}

// Not chosen before another thread has changed something.
void execution::yield(source_line where) {
  me().yielded = true;
  decides_.thread_yields(current_);
  point(where);
}

void execution::mutex_born(const void* mutex) { mutexes_[mutex] = mutex_state{}; }

void execution::mutex_ends(const void* mutex) {
  mutex_state& of = mutexes_[mutex];
  if (of.holder >= 0) {
    abandon("a mutex is destroyed while " + describe_thread(static_cast<thread_index>(of.holder)) +
            " holds it");
  }
  of.is_over = true;
}

execution::mutex_state& execution::usable(const void* mutex, source_line where) {
  mutex_state& of = mutexes_[mutex];
  const block* const in = find_block(mutex);
  if (of.is_over || (in != nullptr && in->is_freed)) {
    if (traced_) tell(where, "uses a mutex that was destroyed");
    abandon("use after free: a mutex that was destroyed");
  }
  return of;
}

void execution::lock(const void* mutex, source_line where) {
  point(where);
  if (usable(mutex, where).holder == current_) {
    abandon("deadlock: a mutex is locked by the thread that holds it");
  }
  while (usable(mutex, where).holder >= 0) block_on(waits::for_mutex, mutex);
  take(mutexes_[mutex], where);
}

bool execution::try_lock(const void* mutex, source_line where) {
  point(where);
  mutex_state& of = usable(mutex, where);
  if (of.holder >= 0) {
    tick(where);
    happened(failed_to_change, of.identity);
    if (traced_) tell(where, "finds a mutex locked");
    return false;
  }
  take(of, where);
  return true;
}

void execution::take(mutex_state& of, source_line where) {
  tick(where);
  of.holder = current_;
  me().clock.join(of.released);
  happened(locked, of.identity);
  if (traced_) tell(where, "locks a mutex");
}

void execution::unlock(const void* mutex, source_line where) {
  mutex_state& of = usable(mutex, where);
  if (of.holder != current_) abandon("a mutex is unlocked by a thread that does not hold it");
  tick(where);
  of.holder = -1;
  of.released = me().clock;
  of.identity = happened(unlocked, of.identity);
  if (traced_) tell(where, "unlocks it");
  progress();
}

void execution::check_mutexes() {
  for (const auto& each : mutexes_) {
    if (each.second.holder < 0) continue;
    failure_ = failure{"a mutex is still locked at the end, by " +
                           describe_thread(static_cast<thread_index>(each.second.holder)),
                       {}};
  }
}

// ── Plain memory ──────────────────────────────────────────────────────────────────────────────

plain_cell& execution::plain(const void* at, source_line where) {
  plain_cell* cell = memory_.find_plain(at);
  if (cell == nullptr) {
    if (const block* in = find_block(at); in != nullptr && in->is_freed) {
      abandon("use after free: memory that was given back by " + describe(in->freed));
    }
    cell = &memory_.make_plain(at, where);
  }
  if (cell->is_freed) {
    if (traced_) tell(where, "uses ", name_at(cell->born), ", which was given back");
    abandon("use after free: memory that was given back by " + describe(cell->freed));
  }
  return *cell;
}

void execution::plain_read(const void* at, source_line where) {
  plain_cell& cell = plain(at, where);
  if (traced_) tell(where, "reads ", name_at(cell.born));
  if (cell.is_written && !me().clock.covers(cell.written.thread, cell.written.stamp)) {
    race("reads", cell, "writes", cell.written);
  }
  cell.read[current_] = tick(where);
}

void execution::plain_write(const void* at, source_line where) {
  plain_cell& cell = plain(at, where);
  if (traced_) tell(where, "writes ", name_at(cell.born));
  if (cell.is_written && !me().clock.covers(cell.written.thread, cell.written.stamp)) {
    race("writes", cell, "writes", cell.written);
  }
  for (const moment& read : cell.read) {
    if (!me().clock.covers(read.thread, read.stamp)) race("writes", cell, "reads", read);
  }
  cell.is_written = true;
  cell.written = tick(where);
  cell.read = {};
}

void execution::race(const char* mine, const plain_cell& cell, const char* theirs,
                     const moment& other) {
  abandon("data race: " + describe_thread(current_) + " " + mine + " «" + name_at(cell.born) +
          "» (" + to_string(cell.born) + "), " + describe_thread(other.thread) + " " + theirs +
          " it, and neither happens before the other");
}

// ── Allocated memory ──────────────────────────────────────────────────────────────────────────

void execution::allocated(void* at, std::size_t bytes) {
  block_at_[at] = blocks_.size();
  blocks_.push_back({static_cast<std::byte*>(at),
                     bytes,
                     static_cast<std::uint32_t>(blocks_.size() + 1),
                     tick(me().where),
                     false,
                     {}});
}

bool execution::released(void* at) {
  const auto it = block_at_.find(at);
  if (it == block_at_.end()) return false;
  block& it_is = blocks_[it->second];
  if (it_is.is_freed) {
    if (traced_) tell(me().where, "gives block ", it_is.number, " back again");
    abandon("double free: a block that was given back by " + describe(it_is.freed));
  }
  it_is.is_freed = true;
  it_is.freed = tick(me().where);
  forget(at, it_is.bytes, it_is.freed);
  return true;
}

void execution::forget(const void* begin, std::size_t bytes, moment now) {
  if (const location* const shared = memory_.find_unordered(begin, bytes, me().clock)) {
    abandon("data race: " + describe_thread(current_) + " gives back " + describe(*shared) +
            ", which another thread uses, and neither happens before the other");
  }
  const moment* other = nullptr;
  const plain_cell* const used = memory_.free(begin, bytes, now, me().clock, &other);
  if (used != nullptr) race("gives back", *used, "uses", *other);
}

execution::block* execution::find_block(const void* inside_of) noexcept {
  const auto* const p = static_cast<const std::byte*>(inside_of);
  for (block& each : blocks_) {
    if (p >= each.begin && p < each.begin + each.bytes) return &each;
  }
  return nullptr;
}

void execution::check_leaks() {
  for (const block& each : blocks_) {
    if (each.is_freed) continue;
    failure_ = failure{"leak: a block of " + std::to_string(each.bytes) +
                           " bytes is never given back; it was made by " + describe(each.made),
                       {}};
    return;
  }
}

void execution::free_blocks() {
  for (const block& each : blocks_) std::free(each.begin);
  blocks_.clear();
  block_at_.clear();
}

// ── Telling ───────────────────────────────────────────────────────────────────────────────────

template <class... Parts>
void execution::tell(source_line where, const Parts&... parts) {
  trace_ += trace_line(steps_, current_, describe_thread(current_), where, concatenate(parts...));
}

std::string execution::describe_thread(thread_index t) const {
  const std::string& name = threads_[t].name;
  return name.empty() ? "thread " + std::to_string(t) : name;
}

std::string execution::describe(const location& at) const {
  if (const auto it = names_.find(at.at); it != names_.end()) return it->second;
  return name_at(at.born.where) + "#" + std::to_string(at.number);
}

std::string execution::describe(bits value) const {
  if (value < 1'000'000) return std::to_string(value);
  const auto* const p = reinterpret_cast<const std::byte*>(value);
  for (const block& each : blocks_) {
    if (p < each.begin || p >= each.begin + each.bytes) continue;
    const auto offset = p - each.begin;
    return "&block" + std::to_string(each.number) +
           (offset == 0 ? "" : "+" + std::to_string(offset));
  }
  return hexadecimal(value);
}

std::string execution::describe(const moment& at) const {
  return describe_thread(at.thread) + " near " + to_string(at.where);
}

std::string execution::what_they_wait_for() const {
  std::string text;
  for (thread_index t = 0; t < threads_.size(); ++t) {
    const thread_state& each = threads_[t];
    if (each.what == waits::is_over) continue;
    text += "  " + describe_thread(t);
    switch (each.what) {
      case waits::for_mutex:
        text += " waits for a mutex that " +
                describe_thread(static_cast<thread_index>(mutexes_.at(each.on).holder)) + " holds";
        break;
      case waits::for_futex:
        text += " sleeps on a futex";
        break;
      case waits::for_join:
        text += " joins " + describe_thread(each.joins);
        break;
      default:
        text += " could go on";
    }
    text += ", at " + to_string(each.where) + "\n";
  }
  return text;
}

// ── What the checked types call ───────────────────────────────────────────────────────────────

struct access {
  static execution& now() noexcept { return *active; }
  static void born(detail::cell of, source_line where) { now().make_location(of, where); }
  static bits load(detail::cell of, std::memory_order order, source_line where) {
    return now().load(of, order, where);
  }
  static void store(detail::cell of, bits v, std::memory_order order, source_line where) {
    now().write(of, v, order, where);
  }
  static bits change(detail::cell of, detail::change how, bits operand, std::memory_order order,
                     source_line where) {
    return now().change(of, how, operand, order, where);
  }
  static bool compare_exchange(detail::cell of, bits& expected, bits desired,
                               std::memory_order success, std::memory_order failing, bool weak,
                               source_line where) {
    return now().compare_exchange(of, expected, desired, success, failing, weak, where);
  }
  static bool futex_wait(detail::cell of, bits expected, bool timed, source_line where) {
    return now().futex_wait(of, expected, timed, where);
  }
  static void futex_wake(const void* of, std::uint32_t count, source_line where) {
    now().futex_wake(of, count, where);
  }
  static void yield(source_line where) { now().yield(where); }
  static void mutex_born(const void* m) { now().mutex_born(m); }
  static void mutex_ends(const void* m) { now().mutex_ends(m); }
  static void lock(const void* m, source_line where) { now().lock(m, where); }
  static bool try_lock(const void* m, source_line where) { return now().try_lock(m, where); }
  static void unlock(const void* m, source_line where) { now().unlock(m, where); }
  static thread_index begin(std::function<void()> body, std::string name, source_line where) {
    execution& e = now();
    const thread_index fresh = e.begin(std::move(body), std::move(name), where);
    return fresh;
  }
  static void join(thread_index t, source_line where) { now().join(t, where); }
  static thread_index current() noexcept { return now().current_; }
  static void name_thread(std::string_view name) { now().me().name = name; }
  static void name(const void* of, std::string_view called) { now().names_[of] = called; }
  static std::vector<execution::own_object>& own() { return now().me().own; }
  static void add_own(const void* key, void* object, void (*destroy)(void*)) {
    own().push_back({key, object, destroy});
  }
  static void plain_read(const void* at, source_line where) { now().plain_read(at, where); }
  static void plain_write(const void* at, source_line where) { now().plain_write(at, where); }
  static void plain_born(const void* at, source_line where) {
    now().memory_.make_plain(at, where);
    now().plain_write(at, where);
  }
  [[noreturn]] static void fail(std::string what, source_line where) {
    if (now().traced_) now().tell(where, "fails: ", what);
    now().abandon(what + " (" + to_string(where) + ")");
  }
  static std::vector<execution::own_object>& shared() { return now().shared_; }
  static void* make_shared(const void* key, void* (*make)(), void (*destroy)(void*)) {
    const bool before = std::exchange(now().making_shared_, true);
    void* const fresh = make();
    now().making_shared_ = before;
    shared().push_back({key, fresh, destroy});
    return fresh;
  }
  static void given_back(const void* begin, std::size_t bytes) {
    now().forget(begin, bytes, now().tick(now().me().where));
  }
  static void leaked(std::string what) {
    if (!now().failure_) now().failure_ = failure{"leak: " + std::move(what), {}};
  }
  static std::uint32_t& untracked() { return now().me().untracked; }
  static void allocated(void* at, std::size_t bytes) { now().allocated(at, bytes); }
  static bool released(void* at) { return now().released(at); }
};

namespace detail {

bool running() noexcept { return active != nullptr; }

void born(cell of, source_line where) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::born(of, where);
}

bits load(cell of, std::memory_order order, source_line where) noexcept {
  if (!running()) return raw_value(of);
  const inside_scope scope;
  return access::load(of, order, where);
}

void store(cell of, bits value, std::memory_order order, source_line where) noexcept {
  if (!running()) return set_raw_value(of, value);
  const inside_scope scope;
  access::store(of, value, order, where);
}

bits read_modify_write(cell of, detail::change how, bits operand, std::memory_order order,
                       source_line where) noexcept {
  if (!running()) {
    const bits before = raw_value(of);
    set_raw_value(of, changed(how, before, operand, of.bytes));
    return before;
  }
  const inside_scope scope;
  return access::change(of, how, operand, order, where);
}

bool compare_exchange(cell of, bits& expected, bits desired, std::memory_order success,
                      std::memory_order failing, bool weak, source_line where) noexcept {
  if (!running()) {
    const bits before = raw_value(of);
    if (before == expected) {
      set_raw_value(of, desired);
      return true;
    }
    expected = before;
    return false;
  }
  const inside_scope scope;
  return access::compare_exchange(of, expected, desired, success, failing, weak, where);
}

void name(const void* of, std::string_view called) {
  if (!running()) return;
  const inside_scope scope;
  access::name(of, called);
}

bool futex_wait(cell of, bits expected, bool has_deadline, source_line where) noexcept {
  if (!running()) return true;
  const inside_scope scope;
  return access::futex_wait(of, expected, has_deadline, where);
}

void futex_wake(const void* of, std::uint32_t count, source_line where) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::futex_wake(of, count, where);
}

void yield(source_line where) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::yield(where);
}

void mutex_born(const void* mutex) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::mutex_born(mutex);
}

void mutex_ends(const void* mutex) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::mutex_ends(mutex);
}

void lock(const void* mutex, source_line where) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::lock(mutex, where);
}

bool try_lock(const void* mutex, source_line where) noexcept {
  if (!running()) return true;
  const inside_scope scope;
  return access::try_lock(mutex, where);
}

void unlock(const void* mutex, source_line where) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::unlock(mutex, where);
}

thread_index start(std::function<void()> body, std::string thread_name, source_line where) {
  if (!running()) {
    std::abort();  // threads are for executions
  }
  const inside_scope scope;
  return access::begin(std::move(body), std::move(thread_name), where);
}

void join(thread_index thread, source_line where) noexcept {
  const inside_scope scope;
  access::join(thread, where);
}

thread_index this_thread() noexcept { return running() ? access::current() : thread_index{0}; }

void name_this_thread(std::string_view called) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::name_thread(called);
}

void* own(const void* key, void* (*make)(), void (*destroy)(void*)) {
  static boost::unordered_flat_map<const void*, void*> outside;
  if (!running()) {
    void*& there = outside[key];
    if (there == nullptr) there = make();
    return there;
  }
  for (const auto& each : access::own()) {
    if (each.key == key) return each.object;
  }
  const inside_scope scope;
  void* const fresh = make();
  access::add_own(key, fresh, destroy);
  return fresh;
}

void* shared(const void* key, void* (*make)(), void (*destroy)(void*)) {
  static boost::unordered_flat_map<const void*, void*> outside;
  if (!running()) {
    void*& there = outside[key];
    if (there == nullptr) there = make();
    return there;
  }
  for (const auto& each : access::shared()) {
    if (each.key == key) return each.object;
  }
  const inside_scope scope;
  return access::make_shared(key, make, destroy);
}

void given_back(const void* begin, std::size_t bytes) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::given_back(begin, bytes);
}

void leaked(std::string what) noexcept {
  if (running()) access::leaked(std::move(what));
}

void plain_born(const void* at, source_line where) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::plain_born(at, where);
}

void plain_read(const void* at, source_line where) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::plain_read(at, where);
}

void plain_write(const void* at, source_line where) noexcept {
  if (!running()) return;
  const inside_scope scope;
  access::plain_write(at, where);
}

void fail(std::string what, source_line where) {
  if (!running()) {
    std::fprintf(stderr, "%s: %s\n", to_string(where).c_str(), what.c_str());
    std::abort();
  }
  const inside_scope scope;
  access::fail(std::move(what), where);
}

untracked::untracked() noexcept {
  if (running()) ++access::untracked();
}
untracked::~untracked() {
  if (running()) --access::untracked();
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  bytes = std::max<std::size_t>(bytes, 1);
  void* const at =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (at == nullptr) throw std::bad_alloc();
  if (active != nullptr && inside == 0 && access::untracked() == 0) {
    const inside_scope scope;
    access::allocated(at, bytes);
  }
  return at;
}

void deallocate(void* at) noexcept {
  if (at == nullptr) return;
  if (active != nullptr) {
    const inside_scope scope;
    if (access::released(at)) return;  // its memory stays till the execution is over
  }
  std::free(at);
}

}  // namespace detail
}  // namespace troupe::model

// In the place of src/base/assert.cpp: a broken contract is a failure like others.
void troupe::detail::contract_broken(const char* file, int line, const char* condition,
                                     const char* text) noexcept {
  model::source_line where;
  where.file = file;
  where.line = static_cast<std::uint32_t>(line);
  model::detail::fail(std::string(text) + " (" + condition + ")", where);
}

// Every block that checked code makes is watched.
void* operator new(std::size_t bytes) { return troupe::model::detail::allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return troupe::model::detail::allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return troupe::model::detail::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return troupe::model::detail::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { troupe::model::detail::deallocate(at); }
void operator delete[](void* at) noexcept { troupe::model::detail::deallocate(at); }
void operator delete(void* at, std::size_t) noexcept { troupe::model::detail::deallocate(at); }
void operator delete[](void* at, std::size_t) noexcept { troupe::model::detail::deallocate(at); }
void operator delete(void* at, std::align_val_t) noexcept { troupe::model::detail::deallocate(at); }
void operator delete[](void* at, std::align_val_t) noexcept {
  troupe::model::detail::deallocate(at);
}
void operator delete(void* at, std::size_t, std::align_val_t) noexcept {
  troupe::model::detail::deallocate(at);
}
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept {
  troupe::model::detail::deallocate(at);
}
