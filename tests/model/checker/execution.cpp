// SPDX-License-Identifier: Apache-2.0
// Threads and their scheduling. Their operations are in operations.cpp, waiting.cpp and
// watching.cpp.
#include "execution.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

namespace troupe::model {
namespace {

constexpr std::size_t stack_bytes = 512 * 1024;

// Fibres are reused and never destroyed: an abandoned fibre cannot be destroyed.
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
    // A destructor that creates it again would otherwise find it here.
    std::erase_if(of.own, [&](const own_object& each) { return each.object == last.object; });
  }
}

void* execution::make_shared(const void* key, void* (*make)(), void (*destroy)(void*)) {
  const bool before = std::exchange(making_shared_, true);
  void* const fresh = make();
  making_shared_ = before;
  shared_.push_back({key, fresh, destroy});
  return fresh;
}

// The last thread is over. The destructors of the shared objects run.
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

// ── Scheduling ────────────────────────────────────────────────────────────────────────────────

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

// Spinning threads run when no other thread can, and threads whose deadline may pass come last.
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

// A change has occurred that a spinning thread may be waiting for.
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
  abandon("deadlock: all threads sleep, and no thread can wake them\n" + what_they_wait_for());
}

void execution::fail(const std::string& what, source_line where) {
  if (traced_) tell(where, "fails: ", what);
  abandon(what + " (" + to_string(where) + ")");
}

void execution::abandon(std::string what) {
  if (finishing_) {
    std::fprintf(stderr, "in the state that all threads share, after they have terminated: %s\n",
                 what.c_str());
    std::abort();
  }
  if (!failure_) failure_ = failure{std::move(what), {}};
  for (;;) me().runs_on->suspend();
}

// ── Reporting ─────────────────────────────────────────────────────────────────────────────────

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

}  // namespace troupe::model
