// SPDX-License-Identifier: Apache-2.0
// Something is created, does nothing and ends, and the creator has waited for that.
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/troupe.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/lightness/cycles.hpp"
#include "lab/lightness/processes.hpp"
#include "lab/lightness/routine.hpp"
#include "lab/waiting/sample.hpp"

namespace troupe::lab::experiments {

namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

// ── The memory of a process that creates another one ──────────────────────────────────────────

enum class pages { never_touched, small, large };

class image {
 public:
  image(std::size_t megabytes, pages kind) : bytes_(megabytes * megabyte) {
    if (bytes_ == 0) return;
    void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) refuse(errno, "cannot allocate the memory image");
    at_ = static_cast<std::byte*>(at);
    // Only a hint: where the kernel does not support it, the figures are those of its default
    // pages.
    (void)::madvise(at, bytes_, kind == pages::large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    if (kind != pages::never_touched) touch();
  }
  image(const image&) = delete;
  image& operator=(const image&) = delete;
  ~image() {
    if (at_ != nullptr) ::munmap(at_, bytes_);
  }

  /// Writes to each page, so that it is allocated.
  void touch() noexcept {
    for (std::size_t i = 0; i < bytes_; i += 4'096) {
      *const_cast<volatile std::byte*>(at_ + i) = std::byte{1};
    }
  }

 private:
  std::size_t bytes_;
  std::byte* at_ = nullptr;
};

// ── Measuring ─────────────────────────────────────────────────────────────────────────────────

/// Measures `times` calls, each of which creates `of_each`. A first call with cold caches is not
/// counted.
template <class Make>
void measure(trial& t, std::uint64_t times, double of_each, Make&& make) {
  sample took(times);
  make();
  for (std::uint64_t i = 0; i < times; ++i) {
    const std::uint64_t began = cycles();
    make();
    took.add(static_cast<double>(cycles() - began) / of_each);
  }
  const double median = took.percentile(0.5);
  t.report("each", "us", median / cycles_per_us());
  t.report("each_p99", "us", took.percentile(0.99) / cycles_per_us());
  t.report("each_cycles", "cycles", median);
  report_counter(t);
}

template <std::size_t Megabytes, pages Kind>
void run_fork(trial& t) {
  const image mine(Megabytes, Kind);
  measure(t, t["times"], 1, [] { wait_for_process(make_process([] {})); });
}

// Each process has to get its own copy of the pages.
template <std::size_t Megabytes>
void run_fork_that_writes(trial& t) {
  image mine(Megabytes, pages::small);
  measure(t, std::max<std::uint64_t>(t["times"] / 10, 1), 1,
          [&] { wait_for_process(make_process([&] { mine.touch(); })); });
}

// A program that ends at once. Most of this is the time to load it.
template <std::size_t Megabytes>
void run_posix_spawn(trial& t) {
  const image mine(Megabytes, pages::small);
  measure(t, t["times"], 1, [] {
    std::string name = "true";
    char* const arguments[] = {name.data(), nullptr};
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, "true", nullptr, nullptr, arguments, ::environ);
    if (error != 0) refuse(error, "cannot start the program \"true\"");
    wait_for_process(child);
  });
}

void run_vfork(trial& t) {
  measure(t, t["times"], 1, [] {
    const pid_t child = ::vfork();
    if (child < 0) refuse(errno, "cannot create a process");
    if (child == 0) {
      ::execlp("true", "true", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    wait_for_process(child);
  });
}

// As many processes as the other kinds at once: all are created, then all are awaited.
void run_forks(trial& t) {
  std::vector<pid_t> all;
  const std::uint64_t batch = t["batch"];
  measure(t, t["times"], static_cast<double>(batch), [&] {
    for (std::uint64_t i = 0; i < batch; ++i) all.push_back(make_process([] {}));
    for (const pid_t each : all) wait_for_process(each);
    all.clear();
  });
}

void run_thread(trial& t) {
  measure(t, t["times"], 1, [] { std::thread([] {}).join(); });
}

void run_threads(trial& t) {
  std::vector<std::thread> all;
  const std::uint64_t batch = t["batch"];
  measure(t, t["times"], static_cast<double>(batch), [&] {
    for (std::uint64_t i = 0; i < batch; ++i) all.emplace_back([] {});
    for (std::thread& each : all) each.join();
    all.clear();
  });
}

// At the priority of the published measurement, which requires a privilege.
template <void (*Run)(trial&)>
void run_at_high_priority(trial& t) {
  if (::setpriority(PRIO_PROCESS, 0, -19) != 0) {
    t.not_measured(std::string("niceness -19 is not permitted: ") + std::strerror(errno));
    return;
  }
  Run(t);
}

// ── In one process ────────────────────────────────────────────────────────────────────────────

// The parameter keeps the compiler from omitting the frame.
routine add_one(std::uint64_t& to) {
  ++to;
  co_return;
}

// Also for a single one.
void run_coroutines(trial& t, std::uint64_t batch) {
  std::uint64_t ran = 0;
  std::vector<routine> all;
  all.reserve(batch);
  measure(t, t["times"], static_cast<double>(batch), [&] {
    for (std::uint64_t i = 0; i < batch; ++i) all.push_back(add_one(ran));
    for (const routine& each : all) each.handle.resume();
    for (const routine& each : all) each.handle.destroy();
    all.clear();
  });
  if (ran != (t["times"] + 1) * batch) throw std::runtime_error("a coroutine did not run");
}

void run_coroutine(trial& t) { run_coroutines(t, 1); }
void run_batch_of_coroutines(trial& t) { run_coroutines(t, t["batch"]); }

struct end {};

class short_lived : public actor {
 public:
  void on(end) { stop(); }
};

// As with the thread: created, told to stop, and joined by a thread outside of the pool.
void run_actor(trial& t) {
  class system system({.workers = static_cast<unsigned>(t["workers"])});
  measure(t, t["times"], 1, [&] {
    const auto one = system.spawn<short_lived>();
    one.send(end{});
    one.join();
  });
}

void run_actors(trial& t) {
  class system system({.workers = static_cast<unsigned>(t["workers"])});
  std::vector<ref<short_lived>> all;
  const std::uint64_t batch = t["batch"];
  all.reserve(batch);
  measure(t, t["times"], static_cast<double>(batch), [&] {
    for (std::uint64_t i = 0; i < batch; ++i) all.push_back(system.spawn<short_lived>());
    for (const auto& each : all) each.send(end{});
    for (const auto& each : all) each.join();
    all.clear();
  });
}

constexpr const char* qnx = "QNX 6.2.1, 535 MHz";

}  // namespace

experiment creation() {
  return {
      .asks =
          "What does it cost to create a process, a thread, a coroutine or an actor that "
          "terminates at once?",
      .options = {{"times", "of each, one at a time; the median is reported", 200, 3, 1, 1'000'000},
                  {"batch", "that exist at once, where the name says batch", 100, 4, 1, 10'000},
                  {"workers", "worker threads, for actors", 2, 2, 1, 1'024}},
      .variants = {{"fork", "0 MB", run_fork<0, pages::small>},
                   {"fork", "1 MB", run_fork<1, pages::small>},
                   {"fork", "2 MB", run_fork<2, pages::small>},
                   {"fork", "5 MB", run_fork<5, pages::small>},
                   {"fork", "20 MB", run_fork<20, pages::small>},
                   {"fork", "50 MB", run_fork<50, pages::small>},
                   {"fork", "100 MB", run_fork<100, pages::small>},
                   {"fork", "100 MB, never touched", run_fork<100, pages::never_touched>},
                   {"fork", "100 MB, in large pages", run_fork<100, pages::large>},
                   {"fork", "100 MB, and the child writes all", run_fork_that_writes<100>},
                   {"exec", "posix_spawn", run_posix_spawn<0>},
                   {"exec", "posix_spawn, 100 MB", run_posix_spawn<100>},
                   {"exec", "vfork", run_vfork},
                   {"fork", "0 MB, niceness -19", run_at_high_priority<run_fork<0, pages::small>>},
                   {"fork", "0 MB, batch", run_forks},
                   {"thread", "", run_thread},
                   {"thread", "niceness -19", run_at_high_priority<run_thread>},
                   {"thread", "batch", run_threads},
                   {"coroutine", "", run_coroutine},
                   {"coroutine", "batch", run_batch_of_coroutines},
                   {"troupe", "actor", run_actor},
                   {"troupe", "actors, batch", run_actors}},
      .figures = {{"fork", "0 MB", "each", 3'433.3, qnx},
                  {"fork", "1 MB", "each", 17'070.6, qnx},
                  {"fork", "2 MB", "each", 31'525.7, qnx},
                  {"fork", "5 MB", "each", 70'723.4, qnx},
                  {"fork", "20 MB", "each", 264'042, qnx},
                  {"fork", "50 MB", "each", 661'312, qnx},
                  {"fork", "100 MB", "each", 1'169'450, qnx},
                  {"fork", "0 MB, niceness -19", "each", 2'536.6, qnx},
                  {"fork", "0 MB, niceness -19", "each_cycles", 1'356'179, qnx},
                  {"thread", "niceness -19", "each", 147.139, qnx},
                  {"thread", "niceness -19", "each_cycles", 78'667, qnx}},
      .means =
          "Create an actor for each independent thing, such as a connection or a request, and do "
          "not pool actors. Creating many at a time is far cheaper than creating one and waiting "
          "for it. A process pays for all the memory that its parent has touched.",
  };
}

}  // namespace troupe::lab::experiments
