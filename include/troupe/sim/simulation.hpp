// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/message/address.hpp>
#include <troupe/sim/choices.hpp>
#include <troupe/sim/faults.hpp>

namespace troupe::sim {

class recorder;

struct simulation_options {
  /// The duration of a turn, so that time passes even while actors are always busy.
  duration turn_takes = std::chrono::microseconds(1);

  /// The number of lines of the trace that are kept, counted from its end.
  std::size_t trace_lines = 10'000;

  /// Writes the log of all choices when an invariant is broken, and names its file in the
  /// exception: see write_log().
  bool writes_log = true;
};

/// Thrown when an invariant or an expected event of a run does not hold. what() says which one,
/// when, and how to reproduce the run.
class broken_invariant : public std::runtime_error {
 public:
  broken_invariant(std::string name, const std::string& what)
      : std::runtime_error(what), name_(std::move(name)) {}
  /// The name passed to always() or eventually().
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

/// A deterministic environment for actor systems. While it exists, systems created on its thread
/// run in it: only on this thread, in an order determined by a seed, and in simulated time, which
/// advances when no actor has work. The actors and their code are the same as outside.
///
///   troupe::sim::simulation sim(seed);
///   troupe::system system;
///   const auto till = system.spawn<cashier>();
///   till.send(pay{100});
///   sim.run_until_idle();
///
/// A call that blocks this thread (get(), join(), a channel's receive(), a pump, the end of a
/// system) runs the actors and advances time meanwhile. troupe::clock, and so all of Troupe, uses
/// simulated time.
///
/// The same seed gives the same run and the same trace, byte for byte, as long as the program is
/// deterministic: it reads no other clock, draws its random numbers from a seed, does not depend on
/// the order of pointers or hashes, and starts no threads.
///
/// Threads:   the thread that created it. A message from another thread is an error, and terminates
///            the program if it finds the receiver idle.
/// Invariant: one per thread at a time; systems created in it must end before it does.
/// Cost:      per turn the turn itself and its lines of trace; 16 bytes of memory per choice, and a
///            turn makes two choices.
class simulation {
 public:
  explicit simulation(std::uint64_t seed, simulation_options options = {});
  /// Replays a log; after its end it always makes the first choice.
  explicit simulation(choice_log replayed, simulation_options options = {});
  explicit simulation(sim::choices by, simulation_options options = {});
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// The simulation of this thread; null: none.
  [[nodiscard]] static simulation* here() noexcept;

  [[nodiscard]] std::uint64_t seed() const noexcept;
  /// Simulated time. It begins one day after the epoch of the clock.
  [[nodiscard]] time_point now() const noexcept;

  // ── Invariants ─────────────────────────────────────────────────────────────────────────────────

  /// Checks the invariant `holds` after each turn of the simulation, but not after turns of a pump.
  /// `holds` must not send, ask or wait. If it returns false or throws, the next check(), or the
  /// next function below that runs the actors, throws broken_invariant; a blocking call on this
  /// thread is completed first. Only the first broken invariant is reported; after that none is
  /// checked.
  void always(std::string name, std::function<bool()> holds);

  /// Throws broken_invariant if an invariant is broken.
  void check();

  /// Runs the actors until `condition` is true. Throws broken_invariant if it is not true within
  /// `limit`, which means that an expected event has not happened. Usually called after
  /// end_faults().
  void eventually(const std::string& name, const std::function<bool()>& condition, duration limit);

  // ── Faults ─────────────────────────────────────────────────────────────────────────────────────

  /// Injects faults in all actors from now on.
  void inject(const faults& those);
  /// Injects faults in one actor: in its handlers, its turns, and messages sent to it. They replace
  /// the faults set for all actors.
  void inject(const address& into, const faults& those);
  /// Injects late_messages and full_mailboxes in messages from one actor to another. They replace
  /// the faults set for the receiver.
  void inject(const address& from, const address& to, const faults& those);
  /// Makes one of the next `messages` messages of this actor fail, or none of them: the choice is
  /// made now.
  void fail_at_one_of(const address& whom, std::size_t messages);
  /// Ends all faults from now on, both injected ones and those of a simulated network. Messages
  /// already delayed and actors already paused stay so.
  void end_faults();
  /// The number of faults so far.
  [[nodiscard]] std::uint64_t faults_so_far() const noexcept;

  /// Decides whether a fault of the program's own environment happens now, once in `one_in` times.
  /// False after end_faults(). `of`: a constant that names the fault.
  [[nodiscard]] bool fault_occurs(unsigned one_in, const char* of);
  /// Makes any other choice of a test: a number below `count`, where 0 is the simplest. `count`
  /// must not be 0.
  [[nodiscard]] std::size_t choose(std::size_t count, const char* of);

  // ── Running ────────────────────────────────────────────────────────────────────────────────────

  // Errors of all three: broken_invariant.

  /// Runs until no actor has work, before time advances to the next timer. Returns the number of
  /// turns.
  std::size_t run_until_idle();
  /// Runs for this time, including everything that is due by then. A timer due exactly at the end
  /// fires within the half millisecond after it (see send_after()), which has then passed as well.
  std::size_t advance(duration by);
  /// Runs until `condition`, which is checked before each turn, is true. False if it is not true
  /// within `limit` and the additional time of a timer, as in advance().
  bool run_until(const std::function<bool()>& condition, duration limit);

  // ── Results ────────────────────────────────────────────────────────────────────────────────────

  /// The last events of the run, one per line: starts, messages, failures, terminations and so on.
  /// It ends where an invariant was found broken.
  [[nodiscard]] std::string trace() const;
  /// A hash of all lines; equal runs have equal hashes.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept;
  [[nodiscard]] std::uint64_t turns() const noexcept;
  [[nodiscard]] const choice_log& choices() const noexcept;

 private:
  class world;
  friend const recorder& record_of(const simulation& of) noexcept;
  const std::unique_ptr<world> world_;
};

}  // namespace troupe::sim
