// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/actor_type.hpp>
#include <troupe/actor/dispatcher.hpp>
#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/observer.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/shutdown_report.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/actor/timeline_options.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/scheduler/tuning.hpp>

namespace troupe {

/// Selects the action of ~system() if a handler has not returned by `shutdown_deadline`, nor by
/// `hang_deadline`, which starts after the mailboxes have been discarded. No memory is ever freed
/// while a thread may still use it.
enum class hang_policy : std::uint8_t {
  terminate,  // print the report and call std::terminate()
  wait,       // print the report and wait for as long as it takes
};

/// Configures a system; the constructor of system takes it.
struct system_options {
  unsigned workers = 0;  // of the pool; 0: one for each core that the program may use

  /// Blocking threshold. If a handler runs for longer than this while other actors wait to be
  /// scheduled on the same worker, another thread takes over the worker and runs them. A handler
  /// that is about to block announces this with troupe::blocking(); its worker is then replaced at
  /// once. Zero: only handlers that call blocking() are replaced.
  duration blocking_threshold = std::chrono::milliseconds(10);

  /// Upper limit for the pool's threads; at least one thread for each worker is always allowed.
  /// Threads that are no longer needed end after one second.
  unsigned max_threads = 512;

  /// A turn ends after this many messages (at least one), so that other actors are scheduled. With
  /// a higher value a busy actor is queued less often, and the other actors wait longer.
  unsigned turn_messages = detail::tuning::turn_messages;

  /// How many times a worker without work searches for work, a few pause instructions apart, before
  /// it sleeps. At least one search is always made, because that is how a woken worker finds its
  /// work. A higher value finds new work sooner and burns CPU time meanwhile.
  unsigned spin_rounds = detail::tuning::spin_rounds;

  /// CPUs and niceness of the pool's threads; see dispatcher_options.
  std::vector<unsigned> cpus = {};
  int niceness = 0;

  /// Further pools, for actors that name one in spawn_options::dispatcher. Names must be unique and
  /// must not be "pool", which is the system's own pool.
  std::vector<dispatcher_options> dispatchers = {};

  /// Called when a pool gets another thread, cannot get one, or has one less. It runs on a thread
  /// of the runtime, or within the handler that calls blocking() or get(). It must not block. By
  /// default it does nothing; these events are always counted.
  std::function<void(const pool_event&)> on_pool = {};

  /// Called for each actor that failed, in that actor's last turn. By default it prints a line to
  /// stderr.
  std::function<void(const failure&)> on_failure = {};

  /// Called for each message that will never be handled, on the thread that sent it or that
  /// terminated its receiver. By default it does nothing; dead letters are always counted. Messages
  /// that the callback itself sends to terminated actors are counted, but not reported again. A
  /// foreign thread that sends while the system is being destroyed may still be inside this
  /// callback after the destructor has returned.
  std::function<void(const dead_letter&)> on_dead_letter = {};

  /// Called for each message that a full mailbox or a budget has refused, dropped or redirected,
  /// for each suspension of a sender, and when the memory budget is exhausted. It runs on the
  /// sending thread and must not block. By default an exhausted memory budget prints a line to
  /// stderr, and everything else is only counted.
  std::function<void(const overload_event&)> on_overload = {};

  /// Receives all events of all actors; see observer.
  std::shared_ptr<troupe::observer> observer = {};
  /// Propagates traces through this system; see trace_scope. Cost: that of an observer, plus a
  /// block of 32 bytes for each message that belongs to a trace.
  bool traces = false;

  /// Records the activity of every thread as a timeline; see timeline_options.
  timeline_options timeline = {};

  /// Mailbox limits of actors whose spawn_options do not set their own.
  std::size_t max_messages = 65'536;
  std::size_t max_bytes = 8 * 1024 * 1024;

  /// Memory budget: bytes of the messages in all mailboxes together. A message that would exceed it
  /// is refused, and on_overload is called; with backpressure, messages are refused for no other
  /// reason. Messages that backpressure accepts beyond the limits of full mailboxes are charged to
  /// an overdraft of at most half of the budget. An exhausted overdraft refuses only messages
  /// beyond their receiver's limit.
  ///
  /// Zero: a quarter of the memory that the process may use, which is the smallest of the host's
  /// memory, the limits of its cgroups and its resource limits (in a simulation: 1 GiB). Each
  /// thread counts for itself and settles every 64 KiB, or every 64th of the budget if that is
  /// less. The budget is inexact by that amount for each thread.
  std::size_t memory_budget = 0;

  /// Interval of the search for unreachable cycles: actors that hold references only to each other
  /// and that are held from nowhere else. It finds actors whose classes have `references` (see
  /// reference_visitor). The interval doubles after each search that finds nothing, up to 64 times
  /// its length, until another such actor is spawned. It is longer where searching would take more
  /// than a 64th of one core's time. No search runs while no such actors exist. Zero: only
  /// collect_cycles() searches.
  duration cycle_search = std::chrono::seconds(1);

  /// How long the destructor lets actors handle the messages in their mailboxes. After that it
  /// prints which actors are not done, discards the contents of their mailboxes as stop_now() does,
  /// and prints how many messages that were. A backlog therefore costs time and messages, but never
  /// hangs the process.
  duration shutdown_deadline = std::chrono::seconds(10);

  /// How much longer handlers may take that are still running at `shutdown_deadline`. After that
  /// the destructor prints which actors are in which handlers, and then follows `on_hang`.
  duration hang_deadline = std::chrono::seconds(10);
  hang_policy on_hang = hang_policy::terminate;
};

/// Never defined. The compiler names it, with all the types, when the arguments of spawn() do not
/// match any constructor of the actor.
template <class Actor, class... Arguments>
struct actor_is_not_constructible_from;

namespace detail {

struct system_access;

template <class... Arguments>
inline constexpr bool starts_with_options = false;
template <class First, class... Rest>
inline constexpr bool starts_with_options<First, Rest...> =
    std::is_same_v<std::remove_cvref_t<First>, spawn_options>;

/// An actor whose slot is allocated and whose object is not yet constructed.
class spawning {
 public:
  /// `options`: null for the defaults.
  spawning(runtime& home, const actor_type& type, const spawn_options* options);
  spawning(const spawning&) = delete;
  spawning& operator=(const spawning&) = delete;
  ~spawning();  // without finish(): the constructor threw

  /// Where to construct the object; null: the system is shutting down, and no actor is made.
  [[nodiscard]] void* object() const noexcept { return is_refused_ ? nullptr : block_->object(); }
  [[nodiscard]] control_block* finish();

 private:
  const bool is_refused_;
  control_block* block_;
  const constructing_scope scope_;
};

}  // namespace detail

/// An actor system: its threads, timers and actors. They run from its construction to its
/// destruction.
///
/// Threads: any, except for the constructor and the destructor.
class system {
 public:
  system() : system(system_options{}) {}
  /// Errors: std::system_error if a thread cannot be started or the timeline cannot be written.
  ///         std::invalid_argument for a dispatcher without a name or with a duplicate name, or
  ///         with CPUs or a niceness that the program may not use; its text says what is allowed.
  explicit system(system_options options);
  system(const system&) = delete;
  system& operator=(const system&) = delete;

  /// Calls shutdown(shutdown_deadline). If actors are left, it discards their mailboxes with
  /// shutdown_now(hang_deadline). If a handler still runs after that, hang_policy decides. Both
  /// reports go to stderr. See system_options. Must not be called inside a handler.
  ~system();

  /// Spawns an actor. Its constructor runs in this call, on the calling thread; its handlers run
  /// where `options.where` says.
  ///
  /// After the first call of shutdown(), and in the destructor, no further actors are spawned: the
  /// constructor does not run, and the returned reference is to an actor that has stopped. Messages
  /// to it are refused, a request gets `stopped`, and join() returns exit_reason::stopped. An actor
  /// whose constructor runs while another thread calls shutdown() is told to stop at once.
  ///
  /// Errors: what the constructor throws, with nothing left behind; std::bad_alloc; with own_thread
  ///         std::system_error.
  /// Cost:   one slot of the pool: 104 bytes, with the 8 bytes of the base class and the actor's
  ///         own.
  template <class A, class... Arguments>
    requires(!detail::starts_with_options<Arguments...> &&
             !detail::is_spawned_as_function<A, Arguments...>)
  ref<A> spawn(Arguments&&... arguments) {
    return make<A>(nullptr, std::forward<Arguments>(arguments)...);
  }
  template <class A, class... Arguments>
    requires(!detail::is_spawned_as_function<A, Arguments...>)
  ref<A> spawn(const spawn_options& options, Arguments&&... arguments) {
    return make<A>(&options, std::forward<Arguments>(arguments)...);
  }

  /// Spawns an actor from a function that is a coroutine, `task<>(troupe::context& self)`. The
  /// template arguments are the messages that can be sent to it; see context.
  template <class M, class... Ms, detail::actor_function F>
    requires(!std::is_base_of_v<actor, M>)
  recipient<M, Ms...> spawn(F function) {
    return make<detail::function_actor<F, M, Ms...>>(nullptr, std::move(function));
  }
  template <class M, class... Ms, detail::actor_function F>
    requires(!std::is_base_of_v<actor, M>)
  recipient<M, Ms...> spawn(const spawn_options& options, F function) {
    return make<detail::function_actor<F, M, Ms...>>(&options, std::move(function));
  }

  /// Tells every actor to stop after the messages in its mailbox, and waits until all actors have
  /// terminated or the deadline has passed. In the latter case the report names the actors that are
  /// left, what each is doing, and how many messages are in its mailbox. Those actors keep running;
  /// shutdown() can be called again.
  ///
  /// Threads: any outside a handler. On the thread of a pump, it runs that pump.
  /// Errors:  std::logic_error inside a handler, which would wait for itself. std::bad_alloc, with
  ///          only some of the actors told.
  shutdown_report shutdown(duration deadline);

  /// As shutdown(), but discards the contents of the mailboxes: every actor stops after the message
  /// that it is handling, as with stop_now(). shutdown_report::discarded counts the discarded
  /// messages, which are dead letters. An actor that is left in the report is in a handler that has
  /// not returned, or waits for its pump.
  ///
  /// Threads, Errors: as shutdown().
  shutdown_report shutdown_now(duration deadline);

  /// True after the first call of shutdown() or shutdown_now(): spawn() makes no more actors.
  [[nodiscard]] bool is_stopping() const noexcept;

  /// Waits until all actors have terminated, without telling any of them to stop. Actors that are
  /// kept alive stay, among them every supervisor. An actor that another thread spawns meanwhile is
  /// waited for, too. join_all_until() and join_all_for() return false if their time runs out
  /// first.
  ///
  /// Threads: any outside a handler. On the thread of a pump, it runs that pump.
  /// Errors:  std::logic_error inside a handler, which would wait for itself.
  void join_all();
  [[nodiscard]] bool join_all_until(time_point deadline);
  [[nodiscard]] bool join_all_for(duration time) {
    return join_all_until(later(clock::now(), time));
  }

  [[nodiscard]] troupe::statistics statistics() const;

  /// The live actors whose limits have refused, dropped or redirected messages or suspended
  /// senders. Cost: looks at every slot.
  /// Errors: std::bad_alloc.
  struct overloaded_actor {
    troupe::address who;
    std::string name;
    overload_counts counts;
  };
  [[nodiscard]] std::vector<overloaded_actor> overloaded_actors() const;

  /// Terminates actors that are referenced only by each other, as `unreachable`, each in a turn of
  /// its own; returns how many. It finds actors whose classes have `references` and that are idle:
  /// their mailboxes are empty and they have no suspended handlers. The system does this
  /// automatically; see system_options::cycle_search.
  ///
  /// Threads: any outside a handler; concurrent calls run one at a time.
  /// Cost:    a look at every slot, and 0.2 ms for a thousand actors whose classes have
  ///          `references`. An idle actor of such a class is not scheduled while it lists its
  ///          references. Actors that seem to be held only by each other are not scheduled until
  ///          that is certain.
  /// Errors:  std::logic_error inside a handler. std::bad_alloc, with nothing done.
  std::size_t collect_cycles();

  /// An actor that is possibly held only by other suspects.
  struct suspect {
    troupe::address who;
    std::string name;
    std::size_t references;  // how many references to it exist
    bool lists;              // its class has `references`
  };
  /// Lists actors that may be unreachable but that collect_cycles() cannot collect, because classes
  /// in their cycles have no `references`. A suspect has nothing to do, no suspended handler and no
  /// timer, but is referenced; and no reference to it is known to be held, directly or through
  /// others, by an actor that has something to do. Actors that collect_cycles() finds are left out.
  /// The result is a suspicion and not a proof: threads and other objects of the program may hold a
  /// suspect. Call it when there is little other activity, for example before shutdown().
  ///
  /// Threads, Errors: as collect_cycles(). No idle actor is scheduled meanwhile.
  [[nodiscard]] std::vector<suspect> unreachable_suspects();

 private:
  friend class actor;
  friend class pump;
  friend struct detail::system_access;

  template <class A, class... Arguments>
  ref<A> make(const spawn_options* options, Arguments&&... arguments) {
    static_assert(std::is_base_of_v<actor, A>, "an actor class derives from troupe::actor");
    if constexpr (!std::is_constructible_v<A, Arguments...>) {
      return static_cast<void>(sizeof(actor_is_not_constructible_from<A, Arguments...>)), ref<A>{};
    } else {
      detail::spawning spawning(*runtime_, detail::actor_type_of<A>, options);
      if (void* const place = spawning.object()) [[likely]]
        ::new (place) A(std::forward<Arguments>(arguments)...);
      return detail::ref_access::adopt<A>(spawning.finish());
    }
  }

  [[nodiscard]] bool ends_within(duration deadline, const char* which, bool discards) noexcept;

  const duration shutdown_deadline_;
  const duration hang_deadline_;
  const hang_policy on_hang_;
  detail::runtime* const runtime_;
};

}  // namespace troupe
