// SPDX-License-Identifier: Apache-2.0
#include "watchdog.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define TROUPE_TEST_NO_TSAN __attribute__((no_sanitize("thread")))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TROUPE_TEST_NO_TSAN __attribute__((no_sanitize("thread")))
#endif
#endif
#ifndef TROUPE_TEST_NO_TSAN
#define TROUPE_TEST_NO_TSAN
#endif

namespace troupe::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Each thread records its stack in the handler of the signal, one thread at a time, each in its own
// place.
std::array<std::array<void*, 64>, 512> stacks;
std::atomic<std::size_t> whose{0};
std::atomic<int> depth{0};
std::atomic<bool> is_watching{false};

std::array<void*, 64>& stack_of(std::size_t which) { return stacks[which % stacks.size()]; }

TROUPE_TEST_NO_TSAN void write_down_stack(int) {
  std::array<void*, 64>& stack = stack_of(whose.load());
  depth.store(::backtrace(stack.data(), static_cast<int>(stack.size())));
}

int signal_for_stacks() { return SIGRTMAX - 1; }

// ThreadSanitizer's sigaction() delays a signal until the thread calls a function that it
// intercepts, which a thread that waits in a futex does not do. So the handler is installed by a
// direct system call.
bool handle_signals() {
  struct sigaction action {};
  action.sa_handler = write_down_stack;
  action.sa_flags = SA_RESTART;
  if (::sigaction(signal_for_stacks(), &action, nullptr) != 0) return false;
#if defined(__x86_64__)
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
  } raw{};
  const auto size = sizeof raw.mask;
  if (::syscall(SYS_rt_sigaction, signal_for_stacks(), nullptr, &raw, size) != 0) return false;
  raw.handler = write_down_stack;
  raw.flags &= ~static_cast<unsigned long>(SA_SIGINFO);
  if (::syscall(SYS_rt_sigaction, signal_for_stacks(), &raw, nullptr, size) != 0) return false;
#endif
  return true;
}

std::string name_of(const std::filesystem::path& task) {
  std::string name;
  if (std::FILE* file = std::fopen((task / "comm").c_str(), "r")) {
    std::array<char, 64> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), file)) name = line.data();
    std::fclose(file);
  }
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

// Uses addr2line, which comes with the compiler. Without it, only addresses are printed.
void write_names(const std::vector<std::string>& offsets) {
  std::vector<std::string> words{"addr2line", "-Cfpise", "/proc/self/exe"};
  words[2] = std::filesystem::read_symlink("/proc/self/exe").string();
  words.insert(words.end(), offsets.begin(), offsets.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t process = 0;
  if (::posix_spawnp(&process, "addr2line", &actions, nullptr, arguments.data(), environ) == 0) {
    int status = 0;
    ::waitpid(process, &status, 0);
  }
  ::posix_spawn_file_actions_destroy(&actions);
}

TROUPE_TEST_NO_TSAN void write_stack_of(pid_t thread, const std::string& name) {
  std::fprintf(stderr, "\nthread %d, %s:\n", static_cast<int>(thread), name.c_str());
  depth.store(0);
  const std::array<void*, 64>& stack = stack_of(whose.fetch_add(1) + 1);
  if (::syscall(SYS_tgkill, ::getpid(), thread, signal_for_stacks()) != 0) return;
  for (const auto until = clock::now() + 1s; depth.load() == 0 && clock::now() < until;) {
    std::this_thread::sleep_for(1ms);
  }
  const int frames = depth.load();
  if (frames == 0) std::fprintf(stderr, "  blocks signals\n");
  std::vector<std::string> offsets;
  // The first two are the handler and the kernel's return from it.
  for (int i = 2; i < frames; ++i) {
    void* const address = stack[static_cast<std::size_t>(i)];
    Dl_info library{};
    if (::dladdr(address, &library) == 0 || library.dli_fname == nullptr) continue;
    const auto offset = reinterpret_cast<std::uintptr_t>(address) -
                        reinterpret_cast<std::uintptr_t>(library.dli_fbase);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "0x%zx", offset - 1);
    if (const std::string file = library.dli_fname; file.find(".so") != std::string::npos) {
      std::fprintf(stderr, "  %s in %s\n", library.dli_sname ? library.dli_sname : text.data(),
                   file.c_str());
    } else {
      offsets.emplace_back(text.data());
    }
  }
  if (!offsets.empty()) write_names(offsets);
}

[[noreturn]] void give_up(const char* test, std::chrono::seconds limit) {
  std::fprintf(stderr, "\n[  FAILED  ] %s lasts longer than %lld s. The stacks of all threads:\n",
               test, static_cast<long long>(limit.count()));
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const auto thread =
        static_cast<pid_t>(std::strtol(task.path().filename().c_str(), nullptr, 10));
    if (thread != static_cast<pid_t>(::syscall(SYS_gettid))) {
      write_stack_of(thread, name_of(task.path()));
    }
  }
  std::fflush(nullptr);
  std::_Exit(70);
}

/// Never destroyed, because its thread uses it until the process ends.
struct watched_tests {
  std::chrono::seconds limit{};
  std::string name;
  std::atomic<clock::rep> begun{0};

  static watched_tests& here() {
    static auto* const only = new watched_tests;
    return *only;
  }
};

class watchdog : public testing::EmptyTestEventListener {
 public:
  explicit watchdog(std::chrono::seconds limit) {
    watched_tests::here().limit = limit;
    // The first call loads a library, so it is made in advance.
    (void)::backtrace(stack_of(0).data(), 1);
    if (!handle_signals()) std::fprintf(stderr, "the test watchdog cannot print stacks\n");
    // Signals are delivered to the threads of the tests.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(watch).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    // A test may fork at once. If the thread were still starting, the child would never get the locks that the start
    // holds: unlike glibc, the sanitizers' runtimes do not release them in the child. Once the thread watches, it holds
    // no locks.
    is_watching.wait(false);
  }

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    watched_tests& all = watched_tests::here();
    all.name = std::string(test.test_suite_name()) + "." + test.name();
    // release: the watching thread reads the name after it has seen the time.
    all.begun.store(clock::now().time_since_epoch().count(), std::memory_order_release);
  }
  void OnTestEnd(const testing::TestInfo&) override {
    watched_tests::here().begun.store(0, std::memory_order_release);
  }

  static void watch() {
    const watched_tests& all = watched_tests::here();
    ::pthread_setname_np(::pthread_self(), "watchdog");
    is_watching.store(true);
    is_watching.notify_one();
    for (;;) {
      std::this_thread::sleep_for(200ms);
      const auto begun = all.begun.load(std::memory_order_acquire);
      if (begun == 0) continue;
      if (clock::now() - clock::time_point(clock::duration(begun)) < all.limit) continue;
      // That test may have ended meanwhile, but it has exceeded its time in any case.
      give_up(all.name.c_str(), all.limit);
    }
  }
};

}  // namespace

void watch_tests() {
  const char* const seconds = std::getenv("TROUPE_TEST_SECONDS");
  const long limit = seconds ? std::strtol(seconds, nullptr, 10) : 60;
  if (limit > 0)
    testing::UnitTest::GetInstance()->listeners().Append(new watchdog(std::chrono::seconds(limit)));
}

}  // namespace troupe::test
