// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/sync/thread_probe.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string_view>

namespace troupe {
inline namespace native {

// [probe] relaxed: the thread stores each value once; a caller that asks too early gets no value.

void thread_probe::begin_here() noexcept {
  clockid_t its = 0;
  if (::pthread_getcpuclockid(::pthread_self(), &its) == 0) cpu_clock_.store(its, relaxed);
  thread_id_.store(static_cast<int>(::syscall(SYS_gettid)), relaxed);
}

duration thread_probe::cpu_time() const noexcept {
  const clockid_t its = cpu_clock_.load(relaxed);  // [probe]
  timespec used{};
  if (its == 0 || ::clock_gettime(its, &used) != 0) return duration::zero();
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

bool thread_probe::is_blocked() const noexcept {
  const int id = thread_id_.load(relaxed);  // [probe]
  if (id == 0) return true;
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "/proc/self/task/%d/stat", id);
  const int file = ::open(text.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  const auto size = ::read(file, text.data(), text.size());
  ::close(file);
  // The text is «4711 (troupe/1) R …». Troupe sets the name, so it has no bracket.
  const std::string_view stat(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto at = stat.find(") ");
  return at == std::string_view::npos || at + 2 >= stat.size() || stat[at + 2] != 'R';
}

// Once the thread's number is free, the kernel has already cleared the word on which join() sleeps.
bool thread_probe::has_ended() const noexcept {
  const int id = thread_id_.load(relaxed);  // [probe]
  return id != 0 && ::syscall(SYS_tgkill, ::getpid(), id, 0) != 0 && errno == ESRCH;
}

}  // namespace native
}  // namespace troupe
