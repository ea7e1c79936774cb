// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace troupe::lab {

[[noreturn]] inline void refuse(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Threads and processes that the caller creates from now on stay on this processor, too.
inline void stay_on_one_processor() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const int here = ::sched_getcpu();
  if (here < 0) refuse(errno, "the current CPU cannot be determined");
  CPU_SET(static_cast<std::size_t>(here), &mine);
  if (::sched_setaffinity(0, sizeof mine, &mine) != 0)
    refuse(errno, "cannot pin a thread to a CPU");
}

/// Creates a process that calls `body` and ends.
template <class Body>
[[nodiscard]] pid_t make_process(Body&& body) {
  const pid_t child = ::fork();
  if (child < 0) refuse(errno, "cannot create a process");
  if (child == 0) {
    // An exception must not continue in a copy of this program.
    try {
      std::forward<Body>(body)();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  return child;
}

/// Waits for a process and returns its status.
inline int end_of_process(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) refuse(errno, "cannot wait for the child process");
  }
  return status;
}

/// Errors: std::runtime_error if the process has failed.
inline void wait_for_process(pid_t child) {
  const int status = end_of_process(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("the child process failed");
  }
}

}  // namespace troupe::lab
