// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

namespace troupe::net {

/// Lets a thread wait for signals of the process.
///
/// After one of `numbers` has arrived, all of them have their default effect: a second SIGTERM
/// terminates a process that hangs in its shutdown. The destructor restores the previous signal
/// handling.
///
/// Threads:   cancel() from any thread; all else from one. Only one set at a time in a process.
/// Invariant: a signal after construction is not lost.
/// Errors:    std::system_error if a signal cannot be caught.
class signals {
 public:
  explicit signals(std::initializer_list<int> numbers);
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;
  ~signals();

  /// Also waits for this signal, which does not end the program: it stays caught after it has
  /// arrived. After wait() has returned it, call wait() again.
  void repeat(int number);

  /// Sleeps until one of the signals arrives and returns its number; nothing if cancel() was called
  /// first.
  [[nodiscard]] std::optional<int> wait();

  void cancel() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::net
