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
  /// How long a turn takes: so time passes also where there is always something to do.
  duration turn_takes = std::chrono::microseconds(1);

  /// So much of the trace is kept, from its end.
  std::size_t trace_lines = 10'000;

  /// What is found not to be true says where the log of all choices is, which is written then: see write_log().
  bool writes_log = true;
};

/// Something that is to be true in every run was not. what() says which, when, and how to have the same run again.
class broken_invariant : public std::runtime_error {
 public:
  broken_invariant(std::string name, const std::string& what)
      : std::runtime_error(what), name_(std::move(name)) {}
  /// As it was given to always().
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

/// As long as there is one, the systems that are made on its thread run in it: on this thread alone, without any
/// other, in an order that a seed decides, and in a time of their own, which passes when they have nothing to
/// do. Everything else is as it is outside: the same actors, the same code.
///
///   troupe::sim::simulation sim(seed);
///   troupe::system system;
///   const auto till = system.spawn<cashier>();
///   till.send(pay{100});
///   sim.run_until_idle();
///
/// Whatever waits on this thread (get(), join(), a channel's receive(), a pump, the end of a system) lets the
/// actors run meanwhile, and time pass. troupe::clock, and so all of Troupe, tells the simulation's time.
///
/// The same seed makes the same run, and the same trace, byte for byte, as long as the program itself does the
/// same: it looks at no other clock, draws its random numbers from a seed, does not depend on the order of
/// pointers or hashes, and starts no threads.
///
/// Threads:   the one that made it. A message from another one is an error: where it finds its actor idle it ends
///            the program.
/// Invariant: one at a time on a thread; systems that were made in it end before it does.
/// Cost:      a turn and its lines of trace; memory for 16 bytes a choice, of which a turn makes two.
class simulation {
 public:
  explicit simulation(std::uint64_t seed, simulation_options options = {});
  /// As it was decided before; where the log ends, by what comes first.
  explicit simulation(choice_log replayed, simulation_options options = {});
  explicit simulation(sim::choices by, simulation_options options = {});
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// The one of this thread; null if there is none.
  [[nodiscard]] static simulation* here() noexcept;

  [[nodiscard]] std::uint64_t seed() const noexcept;
  /// It begins at a day after the beginning of the clock.
  [[nodiscard]] time_point now() const noexcept;

  // ── What is to be true ──────────────────────────────────────────────────────────────────────

  /// From now on `holds` is true after each turn that the simulation gives; a pump's are not looked at. It must
  /// not send, ask or wait. If it is not true, or throws, the next check(), or the function below that runs the
  /// actors, throws broken_invariant; who waits on this thread gets what he waits for before. Only the first
  /// one is told; then none is looked at any more.
  void always(std::string name, std::function<bool()> holds);

  /// Throws broken_invariant if one is broken.
  void check();

  /// Lets it run until that is true; throws broken_invariant if it is not within `limit`: nothing has happened that
  /// should have. Usually behind end_faults().
  void must_happen(const std::string& name, const std::function<bool()>& condition, duration limit);

  // ── What may go wrong ───────────────────────────────────────────────────────────────────────

  /// From now on, in all actors.
  void inject(const faults& those);
  /// In that one: its handlers, its turns, and what is sent to it. In the place of what is for all.
  void inject(const address& into, const faults& those);
  /// What the one sends to the other, in the place of what is for that one: late_messages and full_mailboxes.
  void inject(const address& from, const address& to, const faults& those);
  /// It fails at one of its next messages, of so many, or not at all: that is chosen now.
  void fail_at_one_of(const address& whom, std::size_t messages);
  /// From now on nothing goes wrong any more: neither what has been injected, nor what a simulated network may do. What
  /// is late or paused already stays so.
  void end_faults();
  /// How often something has.
  [[nodiscard]] std::uint64_t faults_so_far() const noexcept;

  /// For what goes wrong in the program's own world: whether it does so now, once in so many times; not after
  /// end_faults(). `of`: what it is, a constant.
  [[nodiscard]] bool strikes(unsigned one_in, const char* of);
  /// For whatever else a test leaves open: one of so many, from 0, the plainest. `count` is not 0.
  [[nodiscard]] std::size_t choose(std::size_t count, const char* of);

  // ── Letting it run ──────────────────────────────────────────────────────────────────────────

  // Errors, of all three: broken_invariant.

  /// Until nobody has anything to do, before time has to pass for the next timer. Returns how many turns there were.
  std::size_t run_until_idle();
  /// For so long, all included that is due by then; what is due just at the end fires in the half millisecond
  /// behind it (see send_after()), which then has passed as well.
  std::size_t advance(duration by);
  /// Until that is true, looked at before each turn; false if it is not after so long, and what a timer may
  /// take more, as in advance().
  bool run_until(const std::function<bool()>& condition, duration limit);

  // ── Looking back ────────────────────────────────────────────────────────────────────────────

  /// What has happened: a line for each start, message, failure, end and so on, the last ones. It ends where
  /// something was found not to be true.
  [[nodiscard]] std::string trace() const;
  /// Of all lines: equal runs have equal ones.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept;
  [[nodiscard]] std::uint64_t turns() const noexcept;
  [[nodiscard]] const choice_log& choices() const noexcept;

 private:
  class world;
  friend const recorder& record_of(const simulation& of) noexcept;
  const std::unique_ptr<world> world_;
};

}  // namespace troupe::sim
