// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>

#include <troupe/base/clock.hpp>

namespace troupe::testkit {

/// A failed expectation: the expected and the actual event.
struct mismatch {
  std::string expected;
  std::string came;
  std::source_location where = {};         // the test's line
  std::optional<std::uint64_t> seed = {};  // of the simulation on this thread, if there is one
  std::string trace = {};                  // the last lines of its trace

  /// Returns one line, without the location. The line is identical in all runs that fail in the
  /// same way.
  [[nodiscard]] std::string what() const;
  /// Returns what(), the command to reproduce the run, and the trace.
  [[nodiscard]] std::string text() const;
};

/// Thrown by a failed expectation, unless a hook throws something else. Its what() is the location
/// and the mismatch's what(). sim::explore() compares this text, so it contains nothing that
/// differs between runs that fail in the same way.
class expectation_failed : public std::runtime_error {
 public:
  explicit expectation_failed(mismatch details);
  [[nodiscard]] const mismatch& details() const noexcept { return details_; }

 private:
  mismatch details_;
};

/// Reports a failed expectation to a test framework. It should leave the test by throwing; if it
/// returns, expectation_failed is thrown.
using mismatch_hook = void (*)(const mismatch&);

/// Sets the hook for the whole process; null: no hook. Returns the previous hook.
///
/// Threads: any; an expectation that fails at the same time uses either hook.
mismatch_hook on_mismatch(mismatch_hook hook) noexcept;

/// Reports the failure of an expectation that a test has checked itself.
[[noreturn]] void fail(std::string expected, std::string came,
                       std::source_location where = std::source_location::current());

namespace detail {

/// Throws std::logic_error within an actor's turn. An expectation that waits there would wait for
/// itself, and a failed one would fail the actor instead of the test.
void refuse_in_a_turn(const char* what);

/// "50 ms".
[[nodiscard]] std::string to_text(duration time);

}  // namespace detail
}  // namespace troupe::testkit
