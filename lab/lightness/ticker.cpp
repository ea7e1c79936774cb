// SPDX-License-Identifier: Apache-2.0
#include "lab/lightness/ticker.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "lab/lightness/processes.hpp"

namespace troupe::lab {

// Only the ticking process writes to it, in shared memory.
struct ticker::shared {
  // [ticks] relaxed: only counted; nothing else depends on them.
  atomic<std::uint64_t> ticks{0};
  atomic<std::uint64_t> missed{0};
};

namespace {

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void sleep_until(std::int64_t ns) {
  const timespec until{static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::string take_priority(bool real_time) {
  const sched_param first{::sched_get_priority_min(SCHED_FIFO)};
  if (real_time && ::sched_setscheduler(0, SCHED_FIFO, &first) == 0) return {};
  const std::string why = real_time ? std::strerror(errno) : "as told";
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // real-time priority does not need it
  if (::setpriority(PRIO_PROCESS, 0, -20) == 0) {
    return "the tick uses niceness -20 instead of real-time priority: " + why;
  }
  return "the tick has neither real-time priority nor a raised priority: " + why;
}

}  // namespace

void ticker::tick(shared& with, std::chrono::microseconds interval, bool real_time, int ready,
                  pid_t maker) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != maker) ::_exit(1);  // it has ended already, so this process would never end
  const std::string priority = take_priority(real_time);
  // The end of the text is the end of the pipe.
  if (::write(ready, priority.data(), priority.size()) < 0) ::_exit(1);
  ::close(ready);
  const std::int64_t step = std::chrono::nanoseconds(interval).count();
  for (std::int64_t next = now_ns() + step;; next += step) {
    const std::int64_t late = now_ns() - next;
    if (late >= 0) {
      const std::int64_t over = late / step + 1;
      with.missed.fetch_add(static_cast<std::uint64_t>(over), relaxed);  // [ticks]
      next += over * step;
    }
    sleep_until(next);
    with.ticks.fetch_add(1, relaxed);  // [ticks]
  }
}

ticker::ticker(std::chrono::microseconds interval, bool real_time) {
  void* const room =
      ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) refuse(errno, "cannot allocate memory for the tick");
  shared_ = ::new (room) shared;
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) refuse(errno, "cannot create a pipe for the tick");
  process_ = make_process([&, maker = ::getpid()] {
    ::close(ends[0]);
    tick(*shared_, interval, real_time, ends[1], maker);
  });
  ::close(ends[1]);
  std::array<char, 256> text{};
  for (ssize_t n = 0; (n = ::read(ends[0], text.data(), text.size())) != 0;) {
    if (n > 0) priority_.append(text.data(), static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
}

ticker::~ticker() {
  ::kill(process_, SIGKILL);
  (void)end_of_process(process_);
  ::munmap(shared_, sizeof(shared));
}

std::uint64_t ticker::ticks() const noexcept { return shared_->ticks.load(relaxed); }    // [ticks]
std::uint64_t ticker::missed() const noexcept { return shared_->missed.load(relaxed); }  // [ticks]

}  // namespace troupe::lab
