// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>

#include <troupe/base/clock.hpp>

namespace troupe::testkit {

/// What was expected in a test, and what came instead.
struct mismatch {
  std::string expected;
  std::string came;
  std::source_location where = {};         // the test's line
  std::optional<std::uint64_t> seed = {};  // of the simulation on this thread, if there is one
  std::string trace = {};                  // its last lines

  /// One line, without the place. It is the same in each run that fails in the same way.
  [[nodiscard]] std::string what() const;
  /// That, and how to have the same run again, and the trace.
  [[nodiscard]] std::string text() const;
};

/// What a failed expectation throws where no hook does otherwise. what() has the place, and what the mismatch's
/// has, and nothing that differs between runs which fail in the same way: sim::explore() compares it.
class expectation_failed : public std::runtime_error {
 public:
  explicit expectation_failed(mismatch details);
  [[nodiscard]] const mismatch& details() const noexcept { return details_; }

 private:
  mismatch details_;
};

/// Tells a test framework that an expectation has failed. It leaves the test by throwing; if it returns,
/// expectation_failed is thrown.
using mismatch_hook = void (*)(const mismatch&);

/// From now on, in the whole process; null: none. Returns the one before.
///
/// Threads: any; a test in which something fails at the same time has either.
mismatch_hook on_mismatch(mismatch_hook hook) noexcept;

/// An expectation of the test's own has failed.
[[noreturn]] void fail(std::string expected, std::string came,
                       std::source_location where = std::source_location::current());

namespace detail {

/// std::logic_error within an actor's turn: what waits there would wait for itself, and what fails would fail the
/// actor instead of the test.
void refuse_in_a_turn(const char* what);

/// "50 ms".
[[nodiscard]] std::string to_text(duration time);

}  // namespace detail
}  // namespace troupe::testkit
