// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace troupe::lab {

/// While there is one, SIGINT, SIGTERM and SIGHUP do not end this process; they can be read here, unless
/// they are ignored.
/// Programs that run_process() starts get them as usual.
///
/// Threads: of a process with one thread.
class interruption {
 public:
  interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
  ~interruption();

  /// Which of them has come first; 0 if none has.
  int signal();

  /// Can be read when one has come that signal() has not returned yet.
  int descriptor() const { return descriptor_; }

 private:
  sigset_t before_;
  int descriptor_;
  int signal_ = 0;
};

}  // namespace troupe::lab
