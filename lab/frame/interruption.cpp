// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/interruption.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace troupe::lab {

namespace {

// Under nohup, SIGHUP is to be ignored: if it were blocked, it could be read nevertheless.
bool is_ignored(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

sigset_t that_end_us() {
  sigset_t all;
  ::sigemptyset(&all);
  for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(each)) ::sigaddset(&all, each);
  }
  return all;
}

}  // namespace

// The signals are blocked and read, not handled: a signal between a check and the following wait is
// not missed.
interruption::interruption() {
  const sigset_t all = that_end_us();
  descriptor_ = ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) throw std::system_error(errno, std::system_category(), "signalfd");
  ::sigprocmask(SIG_BLOCK, &all, &before_);
}

interruption::~interruption() {
  (void)signal();  // it was obeyed, and must not terminate this process now
  ::close(descriptor_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int interruption::signal() {
  signalfd_siginfo came;
  while (::read(descriptor_, &came, sizeof came) == sizeof came) {
    if (signal_ == 0) signal_ = static_cast<int>(came.ssi_signo);
  }
  return signal_;
}

}  // namespace troupe::lab
