// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace troupe::lab {

progress::progress() : on_terminal_(::isatty(STDERR_FILENO) == 1) {}

void progress::begin(const std::string& what) {
  if (!on_terminal_) return;
  clear();
  std::fprintf(stderr, "%.78s …", what.c_str());
  std::fflush(stderr);
  shows_ = true;
}

void progress::end(const std::string& what) {
  clear();
  std::fprintf(stderr, on_terminal_ ? "%.79s" : "%s\n", what.c_str());
  std::fflush(stderr);
  shows_ = on_terminal_;
}

void progress::clear() {
  if (shows_) std::fputs("\r\033[K", stderr);
  shows_ = false;
}

}  // namespace troupe::lab
