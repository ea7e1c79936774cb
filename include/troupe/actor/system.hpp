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
#include <troupe/actor/overload.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/shutdown_report.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/actor/timeline_options.hpp>
#include <troupe/scheduler/tuning.hpp>

namespace troupe {

/// What ~system() does if actors are still there after the deadline. Nothing is ever freed under a
/// running thread.
enum class hang_policy : std::uint8_t {
  terminate,  // report and std::terminate()
  wait,       // report and go on waiting
};

struct system_options {
  unsigned workers = 0;  // of the pool; 0: one for each core that the program may use

  /// Whoever is in one handler for longer, while others wait for their turn behind it, loses its place among the
  /// workers to another thread, which goes on with them. A handler that is about to block says so by
  /// troupe::blocking(), and need not be waited for. Zero: only those that say so.
  duration stuck_after = std::chrono::milliseconds(10);

  /// So many threads the pool has at the most, but one for each worker at least; those that it needs no more end after
  /// a second.
  unsigned max_threads = 512;

  /// A turn ends after so many messages, one at least, so that the others get theirs. More of them spare a busy actor
  /// the way through the queue of the pool, and make the others wait longer.
  unsigned turn_messages = detail::tuning::turn_messages;

  /// How often a worker without work looks around, some pauses apart, before it sleeps: once at least, since that is how
  /// it finds what it was woken for. More of them find sooner what comes soon, and burn the core meanwhile.
  unsigned search_rounds = detail::tuning::search_rounds;

  /// Of the pool's threads; see dispatcher_options.
  std::vector<unsigned> cpus = {};
  int niceness = 0;

  /// Further pools, for the actors that name one in spawn_options::dispatcher. Their names differ, and none is «pool»: that
  /// is the system's own.
  std::vector<dispatcher_options> dispatchers = {};

  /// Called when a pool gets another thread, cannot get one, and has one less: on a thread of the runtime, or within
  /// the handler that calls blocking() or get(). It must not block. By default nothing; they are always counted.
  std::function<void(const pool_event&)> on_pool = {};

  /// Called for each actor that failed, in its last turn. By default a line on stderr.
  std::function<void(const failure&)> on_failure = {};

  /// Called for each message that nobody will handle, on the thread that sent it or ended its
  /// receiver. By default nothing; they are always counted. What it sends itself to who has ended is counted, and
  /// not told again. A foreign thread that sends while the system is destroyed may still be in here afterwards.
  std::function<void(const dead_letter&)> on_dead_letter = {};

  /// Called for each message that a full mailbox or a budget has refused, dropped or redirected,
  /// and for each pause; on the thread that sent it, or on the timers' thread for a pause that timed
  /// out. It must not block. By default nothing; they are always counted.
  std::function<void(const overload_event&)> on_overload = {};

  /// Is told what all actors do; see observer.
  std::shared_ptr<troupe::observer> observer = {};
  /// Traces go through this system: see trace_scope. Cost: as an observer, and a block of 32 bytes for each
  /// message that belongs to one.
  bool traces = false;

  /// What every thread does, as a picture; see timeline_options.
  timeline_options timeline = {};

  /// For actors whose spawn_options do not say otherwise.
  std::size_t max_messages = 65'536;
  std::size_t max_bytes = 8 * 1024 * 1024;

  /// For the messages in all mailboxes together; what would exceed it is treated as if the
  /// receiver's mailbox was full, and never pauses. Each thread that gives turns counts for itself
  /// and settles every 64 KiB, or every 64th of the budget if that is less: by so much for each of
  /// them it is inexact.
  std::size_t memory_budget = no_limit;

  /// The longest that a full mailbox makes anybody wait.
  duration pause_max = std::chrono::milliseconds(100);

  /// How soon actors are found that hold each other and whom nobody else holds, of classes that have
  /// `references` (see reference_visitor). Twice as long after each search that finds nothing, up to 64
  /// times, until another one is spawned; longer where that would take more than a 64th of the time of a
  /// core. No search while there are none. Zero: only collect_cycles().
  duration cycle_search = std::chrono::seconds(1);

  duration shutdown_deadline = std::chrono::seconds(10);  // for the destructor
  hang_policy on_hang = hang_policy::terminate;
};

/// Never defined. The compiler names it, with all the types, when spawn() is given what the actor's
/// constructor does not take.
template <class Actor, class... Arguments>
struct actor_is_not_constructible_from;

namespace detail {

struct system_access;

template <class... Arguments>
inline constexpr bool starts_with_options = false;
template <class First, class... Rest>
inline constexpr bool starts_with_options<First, Rest...> =
    std::is_same_v<std::remove_cvref_t<First>, spawn_options>;

/// An actor between «there is a slot» and «its object is there».
class spawning {
 public:
  /// `options`: null if all is as usual.
  spawning(runtime& home, const actor_type& type, const spawn_options* options);
  spawning(const spawning&) = delete;
  spawning& operator=(const spawning&) = delete;
  ~spawning();  // not finished: the constructor threw

  [[nodiscard]] void* object() const noexcept { return block_->object(); }
  [[nodiscard]] control_block* finish();

 private:
  control_block* block_;
  const constructing_scope scope_;
};

}  // namespace detail

/// Threads, timers and actors; everything runs between its construction and its destruction.
///
/// Threads: any, but constructor and destructor.
class system {
 public:
  system() : system(system_options{}) {}
  /// Errors: std::system_error if a thread cannot be started, or the timeline not be written; std::invalid_argument for
  ///         a dispatcher without a name, with that of another one, or with CPUs or a niceness that the program may not
  ///         use. It says what it may.
  explicit system(system_options options);
  system(const system&) = delete;
  system& operator=(const system&) = delete;

  /// shutdown() with the deadline of the options; what then still runs is reported on stderr, and
  /// hang_policy decides. Not to be called inside a handler.
  ~system();

  /// Makes an actor. Its constructor runs here and now; its handlers run where `options.where`
  /// says. While the system shuts down an actor is made and at once told to stop.
  ///
  /// Errors: what the constructor throws, with nothing left behind; std::bad_alloc; with own_thread
  ///         std::system_error.
  /// Cost:   one slot of the pool: 104 bytes with the base class's 8 and the actor's own.
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

  /// Makes an actor of a function that is a coroutine, `task<>(troupe::context& self)`, and of the
  /// messages that can be sent to it; see context.
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

  /// Tells every actor to stop and waits until they have ended, or until the deadline has passed:
  /// then the report names who is left. Can be called again.
  ///
  /// Threads: any outside a handler. On the thread of a pump it pumps.
  /// Errors:  std::logic_error inside a handler: it would wait for itself. std::bad_alloc, with only
  ///          some of them told.
  shutdown_report shutdown(duration deadline);

  [[nodiscard]] troupe::statistics statistics() const;

  /// The actors whose limits have done something, the ended ones left out. Looks at every slot.
  /// Errors: std::bad_alloc.
  struct overloaded_actor {
    troupe::address who;
    std::string name;
    overload_counts counts;
  };
  [[nodiscard]] std::vector<overloaded_actor> overloaded_actors() const;

  /// Ends the actors that only others of these hold, as `unreachable`, each in a turn of its own; returns how
  /// many. Found are those whose classes have `references` and that are idle: whose mailboxes are empty, of
  /// whom no handler waits. The system does so by itself: see system_options::cycle_search.
  ///
  /// Threads: any outside a handler; one call goes on at a time.
  /// Cost:    a look at every slot; while it looks, the idle actors whose classes have `references` get
  ///          no turn: a tenth of a millisecond for a thousand of them, 50 ms for a hundred thousand. The
  ///          system's own search makes its timers late by as much.
  /// Errors:  std::logic_error inside a handler. std::bad_alloc, with nothing done.
  std::size_t collect_cycles();

  /// An actor that may be held by nobody but others of these.
  struct suspect {
    troupe::address who;
    std::string name;
    std::size_t references;  // that there are to it
    bool lists;              // its class has `references`
  };
  /// The actors that have nothing to do, no handler that waits and no timer, but are referenced, and
  /// of which no reference is known to be held by one that has something to do, directly or through
  /// others: what is left of cycles that cannot be collected because classes in them have no
  /// `references`. What collect_cycles() finds is left out. These are suspects, no proof: threads and
  /// other objects of the program may hold them. To be called when little else goes on, as before
  /// shutdown().
  ///
  /// Threads, Cost, Errors: as collect_cycles(), but that all idle actors get no turn meanwhile.
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
      ::new (spawning.object()) A(std::forward<Arguments>(arguments)...);
      return detail::ref_access::adopt<A>(spawning.finish());
    }
  }

  const duration shutdown_deadline_;
  const hang_policy on_hang_;
  detail::runtime* const runtime_;
};

}  // namespace troupe
