// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "plain.hpp"
#include "sync.hpp"

// The interface of the checker. A body is run over and over, each time with another interleaving of
// its threads and with other choices where the memory model leaves one, until all are done or one
// fails:
//
//   TEST(flag, hands_over_what_was_written_before) {
//     model::expect_holds([] {
//       atomic<bool> ready{false};
//       model::plain<int> value{0};
//       jthread writer([&] {
//         value = 42;
//         ready.store(true, release);
//       });
//       if (ready.load(acquire)) model::require(value == 42, "the value is seen");
//     });
//   }
//
// The body starts afresh each time, so it creates everything that it uses. It must be
// deterministic: no clocks, no random numbers, and no decisions that depend on addresses.

namespace troupe::model {

/// A promise of the body. If it is broken, the execution fails.
void require(bool holds, std::string_view promise,
             std::source_location where = std::source_location::current());

/// Notes that an execution has come here: see options::sees.
void seen(std::string_view label);

/// Returns `result`, and declares that it varies: among all executions of the check, one must come
/// here with true and one with false. A body that branches on a result holds as well if one of the
/// branches is never taken; this makes it fail.
///
///   if (!model::varies(guard.try_lock(), "the lock is free")) return;
bool varies(bool result, std::string_view question,
            std::source_location where = std::source_location::current());

/// Gives an atomic, or whatever lies at this address, a name for traces.
template <class T>
void name(const T& what, std::string_view called) {
  detail::name(&what, called);
}

struct options {
  /// How often a runnable thread may be preempted. All executions with fewer preemptions are tried
  /// before one with more.
  std::uint32_t preemptions = 3;
  /// 0 searches all executions, up to `preemptions`. Otherwise this many are chosen at random, by
  /// the PCT algorithm (Burckhardt, Kothari, Musuvathi, Nagarakatti, «A Randomized Scheduler with
  /// Probabilistic Guarantees of Finding Bugs», 2010), with `priority_changes` changes of priority
  /// in each.
  std::uint64_t random = 0;
  std::uint32_t priority_changes = 3;
  std::uint64_t seed = 1;
  /// After this many, the search stops and is reported as incomplete.
  std::uint64_t executions_max = 1'000'000;
  std::chrono::milliseconds time_max{60'000};  // processor time
  /// Maximum steps in one execution. More count as a livelock.
  std::uint32_t steps_max = 5'000;
  /// How many weak compare-exchanges may fail, and futex waits may return, without a reason.
  std::uint32_t spurious = 1;
  /// How many deadlines may pass while other threads can run.
  std::uint32_t timeouts = 1;
  /// The labels that seen() must note, each in one execution at least.
  std::vector<std::string_view> sees = {};
};

struct outcome {
  bool failed = false;
  bool complete = false;  // nothing was cut off
  std::string what;       // the reason for the failure
  std::string trace;
  std::string replay;  // for TROUPE_MODEL_REPLAY
  std::uint64_t executions = 0;
  std::uint64_t states = 0;  // different states in which a thread was chosen
  std::uint32_t preemptions = 0;
  double seconds = 0;
  /// Declared by options::sees or varies(), and shown by no execution. Empty if one has failed.
  std::vector<std::string> never_seen;
  std::string sightings;  // in how many executions each was seen, a line for each
};

/// Runs the body under the checker. TROUPE_MODEL_REPLAY in the environment repeats one execution
/// instead.
[[nodiscard]] outcome explore(const options& how, const std::function<void()>& body);

/// As a test: the body holds in every execution, none was left out, and all that is declared to be
/// seen was seen. Prints how many there were. With TROUPE_MODEL_RUN=long in the environment there
/// is one preemption more, and 20 times as many at random; with TROUPE_MODEL_RUN=short one at most,
/// and a thirtieth. TROUPE_MODEL_SEED=n takes others at random. TROUPE_MODEL_SEEN=1 prints how
/// often each label was seen.
///
/// A search that was cut off, a short one, and the repetition of one execution may miss what is
/// declared: its row says how many labels that are, and nothing fails for them.
void expect_holds(const std::function<void()>& body);
void expect_holds(const options& how, const std::function<void()>& body);

/// Adds a line to the table that the program prints at its end.
void report(const outcome& found, std::string_view result);

/// As a test of the checker: some execution fails, for a reason that contains `what`.
void expect_fails(std::string_view what, const options& how, const std::function<void()>& body);

/// The same: all executions hold, and what none of them has shown is one thing whose name contains
/// `what`.
void expect_misses(std::string_view what, const options& how, const std::function<void()>& body);

}  // namespace troupe::model
