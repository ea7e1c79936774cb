// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <array>
#include <new>
#include <troupe/detail/sync/at_fork.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <troupe/detail/sync/thread_number.hpp>
#include <troupe/detail/sync/timer_slack.hpp>
#include <utility>

namespace troupe {
inline namespace native {
namespace {

/// Blocks signals on this thread while it exists, because a new thread inherits the signal mask of
/// the thread that starts it.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
      ::sigdelset(&blocked, own);
    }
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

void name_this_thread(std::string_view name) noexcept {
  std::array<char, 16> text{};
  std::copy_n(name.begin(), std::min(name.size(), text.size() - 1), text.begin());
  ::pthread_setname_np(::pthread_self(), text.data());
}

thread start_thread(std::string name, std::function<void()> body) {
  const signals_blocked inherited;
  return thread([name = std::move(name), body = std::move(body)] {
    name_this_thread(name);
    body();
  });
}

void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  if (::pthread_atfork(before, in_parent, in_child) != 0) throw std::bad_alloc();
}
#if defined(__linux__)
exact_deadlines::exact_deadlines() noexcept : before_(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) {
  if (before_ > 0) (void)::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}
exact_deadlines::~exact_deadlines() {
  if (before_ > 0) (void)::prctl(PR_SET_TIMERSLACK, before_, 0, 0, 0);
}
#else
exact_deadlines::exact_deadlines() noexcept : before_(-1) {}
exact_deadlines::~exact_deadlines() = default;
#endif

std::uint32_t number_this_thread() noexcept {
  return per_thread<thread_number>::here().value = static_cast<std::uint32_t>(::gettid());
}

}  // namespace native
}  // namespace troupe
