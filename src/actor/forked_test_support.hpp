// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

// Runs code in a child of fork(), and returns what it says.

namespace troupe::test {

/// The error of a system in a forked child.
inline constexpr const char* forked_error = "forked while its parent had a troupe::system";

/// The result of `run` in a child.
inline std::string in_child(const std::function<std::string()>& run) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // it must not hang
    const std::string text = run();
    const bool is_written = ::write(ends[1], text.data(), text.size()) >= 0;
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string all;
  char some[256];
  for (ssize_t got = 0; (got = ::read(ends[0], some, sizeof some)) > 0;) {
    all.append(some, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? all : all + " and died";
}

template <class Call>
std::string error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace troupe::test
