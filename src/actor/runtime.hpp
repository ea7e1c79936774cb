// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <troupe/actor/conductor.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/actor/extension.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/cache_line.hpp>
#include <troupe/scheduler/thread_executor.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/futex.hpp>
#include <troupe/sync/mutex.hpp>

#include "bound_executor.hpp"
#include "circles.hpp"
#include "cycle_search.hpp"
#include "dispatchers.hpp"
#include "memory_budget.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "timeline_recorder.hpp"
#include "timer_service.hpp"

namespace troupe::detail {

/// The limits that a system was made with.
struct system_bounds {
  std::size_t messages;
  std::size_t bytes;
  std::size_t budget;
  bool looked_at;
  bool traces;
  friend bool operator==(const system_bounds&, const system_bounds&) = default;
};

/// What on_failure does by default.
void print_failure(const failure& f);

/// What stands behind one system. Its memory is never freed but used again by the next system, so
/// that a reference which outlives its system still has somewhere to count its dead letters.
///
/// Threads: any, but open() and close().
class runtime : public system_state {
 public:
  [[nodiscard]] static runtime& open(troupe::system& owner, system_options options);
  void close();

  // ── Spawning ────────────────────────────────────────────────────────────────────────────────
  /// `options`: null if all is as usual. `again`: null if it has one object only.
  control_block& make_actor(const actor_type& type, const spawn_options* options,
                            std::unique_ptr<incarnations> again);
  /// One of the runtime's own, idle, with a reference for the caller; in the pool.
  control_block& make_hidden(const actor_type& type);
  /// When nobody gives turns any more.
  void end_hidden(control_block& block) noexcept;
  /// `mine`: of the turn in which it ended; null: it ended in none.
  void actor_ended(activity* mine) noexcept;
  /// Empty: the system's own. Throws std::invalid_argument. Not in a simulation.
  [[nodiscard]] worker_pool& pool(std::string_view dispatcher) const {
    return dispatcher.empty() ? dispatchers_.first() : dispatchers_.named(dispatcher);
  }
  /// The same, or who stands in for it.
  [[nodiscard]] executor& executor_of(std::string_view dispatcher) const;
  /// In a simulation; else null.
  [[nodiscard]] conductor* conducted_by() const noexcept { return conductor_; }
  [[nodiscard]] conducted_executor* conducted() const noexcept { return conducted_.get(); }
  [[nodiscard]] bool stopping() const noexcept { return stopping_.load(seq_cst); }  // [stopping]

  // ── Ending ──────────────────────────────────────────────────────────────────────────────────
  shutdown_report shutdown(duration deadline);
  void stop_bound_to(const bound_executor& pump);

  // ── Telling and counting ────────────────────────────────────────────────────────────────────
  void actor_failed(const failure& f) noexcept;
  void dead(const dead_letter& letter) noexcept;
  void overloaded(const overload_event& event) noexcept;
  void pool_changed(pool_event event, const runnable* whose) noexcept;
  /// Calls tell(observer&), if there is one and it is not being told something already.
  template <class Tell>
  void observe(Tell&& tell) noexcept;
  /// By a thread that is in no turn of this system.
  void count_foreign(std::int64_t accepted, std::int64_t handled, std::int64_t bytes) noexcept;
  /// An answer for which nobody waits any more.
  void count_late_answer() noexcept {
    answers_late_.fetch_add(1, relaxed);  // [counter]
  }
  void count_restart() noexcept { restarts_.fetch_add(1, relaxed); }  // [counter]
  /// From the thread whose counts these are.
  void settle(activity& counts) noexcept;
  [[nodiscard]] troupe::statistics statistics() const;
  [[nodiscard]] std::vector<troupe::system::overloaded_actor> overloaded_actors();

  /// Calls fn(control_block&) for each actor of this system that has a slot, with a reference held; so
  /// also for those that have ended while somebody refers to them.
  template <class Function>
  void for_each_actor(Function&& fn);

  // ── Higher layers ───────────────────────────────────────────────────────────────────────────
  system_extension& extension(make_extension make);

  // ── Parts ───────────────────────────────────────────────────────────────────────────────────
  timer_service& timers() noexcept { return timers_; }
  detail::pauses& pauses() noexcept { return pauses_; }
  detail::circles& circles() noexcept { return circles_; }
  cycle_search& cycles() noexcept { return cycles_; }
  [[nodiscard]] std::size_t max_messages() const noexcept { return bounds_.messages; }
  [[nodiscard]] std::size_t max_bytes() const noexcept { return bounds_.bytes; }
  /// So many bytes a thread counts for itself.
  [[nodiscard]] std::int64_t settles_at() const noexcept { return settles_at_; }
  /// Null if nobody wants to know what the threads do.
  [[nodiscard]] timeline* draws() const noexcept {
    return recorder_ != nullptr ? &recorder_->lanes() : nullptr;
  }
  [[nodiscard]] troupe::system* owner() const noexcept { return owner_; }
  /// Which of the systems that it has stood behind; wraps.
  [[nodiscard]] std::uint16_t epoch() const noexcept { return epoch_.load(relaxed); }  // [epoch]
  void add(bound_executor& pump);
  void remove(bound_executor& pump) noexcept;
  [[nodiscard]] bound_executor* pump_of_this_thread() const noexcept;
  [[nodiscard]] bool is_pump(const executor& one) const noexcept;

 private:
  struct hooks {
    std::function<void(const failure&)> on_failure;
    std::function<void(const dead_letter&)> on_dead_letter;
    std::function<void(const overload_event&)> on_overload;
    std::function<void(const pool_event&)> on_pool;
    std::shared_ptr<troupe::observer> observer;
  };

  // Counts of threads that have no activity of their own; spread, so that they do not meet.
  struct alignas(cache_line_bytes) foreign_counts {
    atomic<std::uint64_t> accepted{0};
    atomic<std::uint64_t> handled{0};
    atomic<std::uint64_t> bytes{0};
    lives actors;
  };
  foreign_counts& foreign() noexcept;

  // Under mutex_.
  struct population {
    std::uint64_t spawned = 0;
    std::uint64_t ended = 0;
    [[nodiscard]] std::uint64_t alive() const noexcept { return spawned - ended; }
  };
  [[nodiscard]] population count_actors() const;
  // Calls fn(const activity&) for all who give turns.
  template <class Function>
  void for_each_activity(Function&& fn) const;

  explicit runtime(const system_bounds& bounds);
  [[nodiscard]] std::shared_ptr<const hooks> current_hooks() const noexcept;
  void start(system_options options);
  void give_back() noexcept;
  [[nodiscard]] bool wait_for_everybody(time_point deadline);
  void reap_threads() noexcept;
  [[nodiscard]] std::vector<shutdown_report::straggler> stragglers();
  [[nodiscard]] std::string doing(const control_block& block) const;
  void remember(const address& spawned);
  [[nodiscard]] executor& pool_for(const spawn_options& options) const;
  static void add_activity(troupe::statistics& to, const activity& done) noexcept;
  void is_gone(const activity& done) noexcept;
  void await(std::uint64_t more) noexcept;

  troupe::system* owner_ = nullptr;
  std::unique_ptr<timeline_recorder> recorder_;    // before all that have lanes
  conductor* conductor_ = nullptr;                 // null: there are threads
  std::unique_ptr<conducted_executor> conducted_;  // null: likewise
  std::vector<address> spawned_;                   // in a simulation: in order, some of them ended
  detail::dispatchers dispatchers_{*this};
  mutable timer_service timers_{*this};  // who counts them takes back what has been handled
  detail::pauses pauses_{timers_};
  detail::circles circles_;
  cycle_search cycles_{*this};
  const system_bounds bounds_;
  std::int64_t settles_at_ = activity::never;
  troupe::observer* observer_ = nullptr;  // constant while turns are given

  // Looked at for each actor, and rarely changed.
  alignas(cache_line_bytes) atomic<std::uint32_t> shutting_down_{0};  // callers of shutdown()
  atomic<bool> stopping_{false};
  atomic<std::uint16_t> epoch_{0};

  alignas(cache_line_bytes) atomic<std::uint64_t> dead_letters_{0};
  atomic<std::uint64_t> failures_{0};
  atomic<std::uint64_t> answers_late_{0};
  atomic<std::uint64_t> restarts_{0};
  memory_budget budget_;
  overload_tally overloads_;
  std::array<foreign_counts, 8> foreign_;

  mutable mutex mutex_;  // guards what follows
  std::shared_ptr<const hooks> hooks_;
  std::list<std::unique_ptr<thread_executor>> threads_;
  std::vector<bound_executor*> pumps_;
  troupe::statistics past_;  // of executors that are gone
  population past_actors_;   // likewise
  std::vector<std::pair<make_extension, std::unique_ptr<system_extension>>> extensions_;
  std::uint64_t awaited_ = 0;       // see await()
  atomic<std::uint32_t> woken_{0};  // who waits for the end of all actors sleeps on it
};

inline runtime& control_block::home() const noexcept { return static_cast<runtime&>(*home_); }

template <class Tell>
void runtime::observe(Tell&& tell) noexcept {
  turn_context& here = this_turn();
  if (here.in_hook) return;
  // A thread outside of its turns may outlive the system.
  std::shared_ptr<const hooks> those;
  const bool in_turn = here.counts != nullptr && &here.running->home() == this;
  if (!in_turn) those = current_hooks();
  troupe::observer* const to =
      in_turn ? observer_ : (those != nullptr ? those->observer.get() : nullptr);
  if (to == nullptr) return;
  const bool must_not_wait = std::exchange(here.must_not_wait, true);
  here.in_hook = true;
  try {
    tell(*to);
  } catch (...) {
    // As promised: forgotten.
  }
  here.in_hook = false;
  here.must_not_wait = must_not_wait;
}

template <class Function>
void runtime::for_each_activity(Function&& fn) const {
  dispatchers_.for_each_activity([&](const activity& done) { fn(done); });
  if (conducted_ != nullptr) fn(conducted_->done());
  for (const auto& each : threads_) fn(each->done());
  for (bound_executor* each : pumps_) fn(each->done());
}

template <class Function>
void runtime::for_each_actor(Function&& fn) {
  if (conducted_ != nullptr) {
    // Where slots lie depends on what was there before.
    for (const address& each : std::vector<address>(spawned_)) {
      control_block* const block = control_block::hold_to_the_end(each);
      if (block == nullptr) continue;
      fn(*block);
      block->let_go();
    }
    return;
  }
  stable_pool<slot_head>::for_each_slot([&](slot_head& slot) {
    if (!slot.life.try_hold_in_use()) return;
    control_block& block = control_block::of(slot.life);
    struct let_go {
      control_block& held;
      ~let_go() { held.let_go(); }
    } guard{block};
    if (&block.home() == this && !block.type().is_hidden) fn(block);
  });
}

struct system_access {
  static runtime& of(troupe::system& s) noexcept { return *s.runtime_; }
};

}  // namespace troupe::detail
