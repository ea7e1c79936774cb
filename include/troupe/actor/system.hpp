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
#include <troupe/actor/dispatcher.hpp>
#include <troupe/actor/function_actor.hpp>
#include <troupe/actor/observer.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/shutdown_report.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/actor/system_options.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/actor_type.hpp>
#include <troupe/detail/actor/spawning.hpp>

namespace troupe {

/// An actor system: owns threads, timers and actors, which run from its construction to its
/// destruction.
///
/// Threads: any, except for the constructor and the destructor.
class system {
 public:
  system() : system(system_options{}) {}
  /// Starts the threads of the system.
  ///
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
  /// After the first call of shutdown(), and in the destructor, no further actors are spawned. The
  /// actor's constructor is then not called, and the returned reference is to a stopped actor.
  /// Messages to it are refused, a request gets `stopped`, and join() returns exit_reason::stopped.
  /// If another thread calls shutdown() while the constructor of an actor runs, that actor is told
  /// to stop at once.
  ///
  /// Errors: what the constructor throws, with nothing left behind; std::bad_alloc; with own_thread
  ///         std::system_error.
  /// Cost:   one slot of the memory pool: 104 bytes plus the actor object (8 bytes of the base
  ///         class, and the actor's own members).
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
  /// terminated or `deadline` has passed. In the latter case, the report contains the actors that
  /// are left, their current activity, and the number of messages in their mailboxes. Those actors
  /// keep running; shutdown() can be called again.
  ///
  /// Threads: any outside a handler. On the thread of a pump, it runs that pump.
  /// Errors:  std::logic_error inside a handler, which would wait for itself. std::bad_alloc, with
  ///          only some of the actors told.
  shutdown_report shutdown(duration deadline);

  /// Stops all actors as shutdown() does, but discards the contents of the mailboxes: every actor
  /// stops after the message that it is handling, as with stop_now(). shutdown_report::discarded
  /// counts the discarded messages, which are dead letters. An actor in the report is in a handler
  /// that has not returned, or its pump does not run.
  ///
  /// Threads, Errors: as shutdown().
  shutdown_report shutdown_now(duration deadline);

  /// Returns true after the first call of shutdown() or shutdown_now(): spawn() creates no more
  /// actors.
  [[nodiscard]] bool is_stopping() const noexcept;

  /// Waits until all actors have terminated, without telling any of them to stop. An actor that a
  /// reference keeps alive does not terminate by itself, nor does a supervisor; join_all() keeps
  /// waiting for them. Actors that other threads spawn meanwhile are also awaited. join_all_until()
  /// and join_all_for() return false if their time runs out first.
  ///
  /// Threads: any outside a handler. On the thread of a pump, it runs that pump.
  /// Errors:  std::logic_error inside a handler, which would wait for itself.
  void join_all();
  [[nodiscard]] bool join_all_until(time_point deadline);
  [[nodiscard]] bool join_all_for(duration time) {
    return join_all_until(later(clock::now(), time));
  }

  [[nodiscard]] troupe::statistics statistics() const;

  /// A live actor whose limits have refused, dropped or redirected messages, or suspended senders.
  /// overloaded_actors() lists them. Cost: looks at every slot.
  /// Errors: std::bad_alloc.
  struct overloaded_actor {
    troupe::address who;
    std::string name;
    overload_counts counts;
  };
  [[nodiscard]] std::vector<overloaded_actor> overloaded_actors() const;

  /// Terminates actors that are referenced only by each other, and returns their number. Each
  /// terminates in a turn of its own, as `unreachable`. The search finds actors whose classes have
  /// `references` and that are idle: their mailboxes are empty and they have no suspended handlers.
  /// The system does this automatically; see system_options::cycle_search.
  ///
  /// Threads: any outside a handler; concurrent calls run one at a time.
  /// Cost:    a look at every slot, and 0.2 ms for a thousand actors whose classes have
  ///          `references`. An idle actor of such a class is not scheduled while it lists its
  ///          references. Actors that seem to be referenced only by each other are not scheduled
  ///          until this has been decided.
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
  /// in their cycles have no `references`. A suspect is idle and has no suspended handler and no
  /// timer, but references to it exist. As far as is known, no actor with work holds such a
  /// reference, directly or through other actors. Actors that collect_cycles() finds are left out.
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
