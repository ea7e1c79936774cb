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

#include <troupe/actor/system.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/extension.hpp>
#include <troupe/detail/actor/simulation_driver.hpp>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/scheduler/thread_executor.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/futex.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/rarely_replaced.hpp>
#include <troupe/detail/sync/stripe.hpp>

#include "bound_executor.hpp"
#include "cycle_search.hpp"
#include "dispatchers.hpp"
#include "memory_budget.hpp"
#include "overdraft.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "request_cycles.hpp"
#include "stop_reserve.hpp"
#include "timeline_recorder.hpp"
#include "timer_service.hpp"

namespace troupe::detail {

/// The limits that a system was created with.
struct system_bounds {
  std::size_t messages;
  std::size_t bytes;
  std::size_t budget;
  bool looked_at;
  bool traces;
  friend bool operator==(const system_bounds&, const system_bounds&) = default;
};

/// How shutdown() treats the messages that are in mailboxes.
enum class backlog : std::uint8_t { handled, discarded };

/// The default of on_failure: prints the failure.
void print_failure(const failure& f);

/// The implementation of one system. Its memory is never freed; the next system reuses it, so that
/// a reference which outlives its system can still count its dead letters. While there is such a
/// reference, the next system has the same limits.
///
/// Threads: any, except open() and close().
class runtime : public system_state {
 public:
  [[nodiscard]] static runtime& open(troupe::system& owner, system_options options);
  void close();

  // ── Spawning ────────────────────────────────────────────────────────────────────────────────
  /// `options`: null for the defaults. `again`: null if the actor has only one incarnation.
  control_block& make_actor(const actor_type& type, const spawn_options* options,
                            std::unique_ptr<incarnations> again);
  /// Creates an actor that has stopped and never had an object, with a reference for the caller.
  control_block& make_ended(const actor_type& type, const spawn_options* options);
  /// Creates one of the runtime's own actors, in the pool; idle, with a reference for the caller.
  control_block& make_hidden(const actor_type& type);
  /// Call when no turns are given any more.
  void end_hidden(control_block& block) noexcept;
  /// `mine`: of the turn in which the actor terminated; null: it terminated in no turn.
  void actor_ended(activity* mine) noexcept;
  /// Empty: the system's default pool. Throws std::invalid_argument. Not in a simulation.
  [[nodiscard]] worker_pool& pool(std::string_view dispatcher) const {
    return dispatcher.empty() ? dispatchers_.first() : dispatchers_.named(dispatcher);
  }
  /// The pool, or the executor that replaces it in a simulation.
  [[nodiscard]] executor& executor_of(std::string_view dispatcher) const;
  /// In a simulation; otherwise null.
  [[nodiscard]] simulation_driver* driver() const noexcept { return driver_; }
  [[nodiscard]] driven_executor* driven() const noexcept { return driven_.get(); }
  [[nodiscard]] bool stopping() const noexcept { return stopping_.load(seq_cst); }  // [stopping]
  [[nodiscard]] stop_reserve& stops_in_reserve() noexcept { return stops_in_reserve_; }

  // ── In a forked child ───────────────────────────────────────────────────────────────────────
  void is_in_forked_child() noexcept;
  /// No thread runs any more, and any mutex may be locked forever.
  [[nodiscard]] bool is_forked() const noexcept { return is_forked_.load(relaxed); }  // [forked]
  /// Throws std::logic_error in such a child; `what`: what cannot be done there.
  void check_threads(const char* what) const {
    if (is_forked()) throw_forked(what);
  }
  [[noreturn]] static void throw_forked(const char* what);

  // ── Termination ─────────────────────────────────────────────────────────────────────────────
  shutdown_report shutdown(duration deadline, backlog what);
  /// False if the deadline came first.
  [[nodiscard]] bool join_all(time_point deadline);
  void stop_bound_to(const bound_executor& pump);

  // ── Notifying and counting ──────────────────────────────────────────────────────────────────
  void actor_failed(const failure& f) noexcept;
  void dead(const dead_letter& letter) noexcept;
  void overloaded(const overload_event& event) noexcept;
  /// The memory budget, or the overdraft, has refused a message. Reported at most once per second,
  /// and by default printed.
  void exhausted(const overload_event& event) noexcept;
  void pool_changed(pool_event event, const runnable* whose) noexcept;
  /// Calls tell(observer&) if there is an observer and this thread is not already inside a hook.
  template <class Tell>
  void observe(Tell&& tell) noexcept;
  /// Counts for a thread that is in no turn of this system.
  void count_foreign(std::int64_t accepted, std::int64_t handled, std::int64_t bytes) noexcept;
  /// Counts a reply that nothing waits for any more.
  void count_late_answer() noexcept {
    answers_late_.fetch_add(1, relaxed);  // [counter]
  }
  /// Counts users' messages that were in the mailbox of an actor that has terminated.
  void count_discarded(std::size_t messages) noexcept {
    if (messages == 0 || !stopping()) return;
    discarded_.fetch_add(messages, relaxed);  // [counter]
  }
  void count_restart() noexcept { restarts_.fetch_add(1, relaxed); }  // [counter]
  /// Call from the thread whose counts these are.
  void settle(activity& counts) noexcept;
  [[nodiscard]] troupe::statistics statistics() const;
  [[nodiscard]] std::vector<troupe::system::overloaded_actor> overloaded_actors();

  /// Calls fn(control_block&) for each actor of this system that has a slot, with a reference held.
  /// That includes actors that have terminated but are still referenced.
  template <class Function>
  void for_each_actor(Function&& fn);

  // ── Higher layers ───────────────────────────────────────────────────────────────────────────
  system_extension& extension(make_extension make);

  // ── Parts ───────────────────────────────────────────────────────────────────────────────────
  timer_service& timers() noexcept { return timers_; }
  detail::pauses& pauses() noexcept { return pauses_; }
  [[nodiscard]] overdraft& overdrafts() noexcept { return overdraft_; }
  detail::request_cycles& request_cycles() noexcept { return request_cycles_; }
  cycle_search& cycles() noexcept { return cycles_; }
  [[nodiscard]] std::size_t max_messages() const noexcept { return bounds_.messages; }
  [[nodiscard]] std::size_t max_bytes() const noexcept { return bounds_.bytes; }
  /// The number of bytes that a thread counts locally before it reports them.
  [[nodiscard]] std::int64_t settles_at() const noexcept { return settles_at_; }
  [[nodiscard]] std::size_t budget() const noexcept { return bounds_.budget; }
  /// Null if no timeline is recorded.
  [[nodiscard]] timeline* draws() const noexcept {
    return recorder_ != nullptr ? &recorder_->lanes() : nullptr;
  }
  [[nodiscard]] troupe::system* owner() const noexcept { return owner_; }
  /// Distinguishes the systems that have used this memory; wraps.
  [[nodiscard]] std::uint16_t epoch() const noexcept { return epoch_.load(relaxed); }  // [epoch]
  void add(bound_executor& pump);
  void remove(bound_executor& pump) noexcept;
  [[nodiscard]] bound_executor* pump_of_this_thread() const noexcept;
  [[nodiscard]] bool is_pump(const executor& one) const noexcept;

 private:
  // The user's hooks. Most systems have few: the bits say which.
  enum hook : std::uint8_t {
    of_failures = 1,
    of_dead_letters = 2,
    of_overload = 4,
    of_pools = 8,
    of_observer = 16
  };
  struct hooks {
    [[nodiscard]] std::uint8_t those_there() const noexcept;

    std::function<void(const failure&)> on_failure;
    std::function<void(const dead_letter&)> on_dead_letter;
    std::function<void(const overload_event&)> on_overload;
    std::function<void(const pool_event&)> on_pool;
    std::shared_ptr<troupe::observer> observer;
  };
  // [hooks] relaxed: a thread that may use the system learned of it after this was stored.
  [[nodiscard]] bool has_hook(hook which) const noexcept {
    return (hooks_there_.load(relaxed) & which) != 0;
  }

  // Indexes into activity::events and foreign_counts::events: the kinds of overload_event, and one
  // more.
  static constexpr std::size_t dead_letter_event = 8;

  // Counts of threads that have no activity of their own; spread to avoid contention.
  struct alignas(cache_line_bytes) foreign_counts {
    atomic<std::uint64_t> accepted{0};
    atomic<std::uint64_t> handled{0};
    atomic<std::uint64_t> bytes{0};
    atomic<std::int64_t> bytes_told{0};  // the part of `bytes` that the budget was told of
    lives actors;
    std::array<atomic<std::uint64_t>, 9> events{};
  };
  foreign_counts& foreign() noexcept { return foreign_[this_stripe()]; }
  void count_event(std::size_t which) noexcept;

  // Accessed under mutex_.
  struct population {
    std::uint64_t spawned = 0;
    std::uint64_t ended = 0;
    [[nodiscard]] std::uint64_t alive() const noexcept { return spawned - ended; }
  };
  [[nodiscard]] population count_actors() const;
  // Calls fn(const activity&) for everything that gives turns.
  template <class Function>
  void for_each_activity(Function&& fn) const;

  runtime(const system_bounds& bounds, const sending_rules& first);
  [[nodiscard]] static runtime* spare_one(const system_bounds& bounds, const sending_rules& first);
  [[nodiscard]] bool is_referenced() const noexcept;
  void set(const system_bounds& bounds, const sending_rules& first) noexcept;
  void start(system_options options);
  void give_back() noexcept;
  void forget_hooks() noexcept;
  // Under mutex_: turns, messages and events of all threads, and nothing else.
  [[nodiscard]] troupe::statistics message_counts() const;
  void expect_settled() const;
  [[nodiscard]] bool tell_all_to_stop(backlog what) noexcept;
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
  std::unique_ptr<timeline_recorder> recorder_;  // constructed before everything that has lanes
  simulation_driver* driver_ = nullptr;          // null: there are threads
  std::unique_ptr<driven_executor> driven_;      // null: there are threads
  // in a simulation: in order, some of them terminated
  std::vector<address> spawned_;
  detail::dispatchers dispatchers_{*this};
  mutable timer_service timers_{*this};  // mutable: counting timers takes back handled entries
  detail::pauses pauses_;
  detail::request_cycles request_cycles_;
  cycle_search cycles_{*this};
  stop_reserve stops_in_reserve_;
  system_bounds bounds_;
  std::int64_t settles_at_ = activity::never;
  troupe::observer* observer_ = nullptr;  // constant while turns are given

  // Read for each actor, or for each message that is not taken, and rarely written.
  alignas(cache_line_bytes) atomic<std::uint32_t> shutting_down_{0};  // callers of shutdown()
  atomic<bool> stopping_{false};
  atomic<bool> is_forked_{false};
  atomic<std::uint16_t> epoch_{0};
  atomic<std::uint8_t> hooks_there_{0};
  rarely_replaced<hooks> hooks_;

  alignas(cache_line_bytes) atomic<std::uint64_t> failures_{0};
  atomic<std::uint64_t> answers_late_{0};
  atomic<std::uint64_t> restarts_{0};
  atomic<std::uint64_t> discarded_{0};
  memory_budget budget_;
  overdraft overdraft_;
  atomic<std::int64_t> exhausted_told_{0};  // when, in the units of the clock
  std::array<foreign_counts, stripes> foreign_;

  mutable mutex mutex_;  // guards the following members
  std::list<std::unique_ptr<thread_executor>> threads_;
  std::vector<bound_executor*> pumps_;
  troupe::statistics past_;  // of executors that no longer exist
  population past_actors_;   // the same
  std::vector<std::pair<make_extension, std::unique_ptr<system_extension>>> extensions_;
  std::uint64_t awaited_ = 0;       // see await()
  atomic<std::uint32_t> woken_{0};  // threads that wait for the end of all actors sleep on it
};

inline runtime& control_block::home() const noexcept { return static_cast<runtime&>(*home_); }

template <class Tell>
void runtime::observe(Tell&& tell) noexcept {
  turn_context& here = this_turn();
  if (here.in_hook) return;
  // A thread outside its turns may outlive the system.
  rarely_replaced<hooks>::use those;
  const bool in_turn = here.counts != nullptr && &here.running->home() == this;
  if (!in_turn && has_hook(of_observer)) those = hooks_.here();
  troupe::observer* const to = in_turn ? observer_ : (those ? those->observer.get() : nullptr);
  if (to == nullptr) return;
  const bool must_not_wait = std::exchange(here.must_not_wait, true);
  here.in_hook = true;
  try {
    tell(*to);
  } catch (...) {
    // Exceptions of an observer are ignored, as documented.
  }
  here.in_hook = false;
  here.must_not_wait = must_not_wait;
}

template <class Function>
void runtime::for_each_activity(Function&& fn) const {
  dispatchers_.for_each_activity([&](const activity& done) { fn(done); });
  if (driven_ != nullptr) fn(driven_->done());
  for (const auto& each : threads_) fn(each->done());
  for (bound_executor* each : pumps_) fn(each->done());
}

template <class Function>
void runtime::for_each_actor(Function&& fn) {
  struct held_here {
    control_block& block;
    ~held_here() { block.let_go(); }
  };
  if (driven_ != nullptr) {
    // In a simulation, the order of the slots depends on earlier runs, so it is not used.
    for (const address& each : std::vector<address>(spawned_)) {
      control_block* const block = control_block::hold_to_the_end(each);
      if (block == nullptr) continue;
      const held_here guard{*block};
      fn(*block);
    }
    return;
  }
  actor_slots::for_each_slot([&](slot_head& slot) {
    control_block* const block = control_block::hold_in(slot.life, *this);
    if (block == nullptr) return;
    const held_here guard{*block};
    if (!block->type().is_hidden) fn(*block);
  });
}

struct system_access {
  static runtime& of(troupe::system& s) noexcept { return *s.runtime_; }
};

}  // namespace troupe::detail
