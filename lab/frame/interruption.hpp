// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace troupe::lab {

/// While an object exists, SIGINT, SIGTERM and SIGHUP do not terminate this process. They can be
/// read here, unless they are ignored. Programs that run_process() starts receive them as usual.
///
/// Threads: only for a process with one thread.
class interruption {
 public:
  interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
  ~interruption();

  /// Returns the first signal that has arrived; 0 if none has.
  int signal();

  /// A descriptor that is readable while a signal has arrived that signal() has not returned yet.
  int descriptor() const { return descriptor_; }

 private:
  sigset_t before_;
  int descriptor_;
  int signal_ = 0;
};

}  // namespace troupe::lab
