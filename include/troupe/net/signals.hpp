// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

namespace troupe::net {

/// Lets a thread wait for signals of the process.
///
/// Once one of `numbers` has come, all of these have their default effect: a second SIGTERM ends a process that
/// does not get done with the first, whatever it hangs in. The destructor restores what was there
/// before.
///
/// Threads:   cancel() from anywhere; the rest from one. One set at a time in a process.
/// Invariant: a signal after construction is not lost.
/// Errors:    std::system_error if a signal cannot be caught.
class signals {
 public:
  explicit signals(std::initializer_list<int> numbers);
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;
  ~signals();

  /// Waits for this one too, which tells a program something and does not end it: it stays caught however often it
  /// comes, and wait() is called again.
  void repeat(int number);

  /// Sleeps until one of them comes and returns its number; nothing if cancel() was called first.
  [[nodiscard]] std::optional<int> wait();

  void cancel() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::net
