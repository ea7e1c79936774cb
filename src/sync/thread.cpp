// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <troupe/sync/thread.hpp>
#include <troupe/sync/thread_number.hpp>
#include <utility>

namespace troupe {
inline namespace native {
namespace {

/// A thread inherits what the one that starts it has blocked.
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

std::uint32_t number_this_thread() noexcept {
  return per_thread<thread_number>::here().value = static_cast<std::uint32_t>(::gettid());
}

}  // namespace native
}  // namespace troupe
