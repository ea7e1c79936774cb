// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace troupe::lab {

namespace {

class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {
    if (number < 0) throw std::system_error(errno, std::system_category());
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { ::close(number_); }

  int number() const { return number_; }

 private:
  int number_;
};

std::string contents(const descriptor& file) {
  std::string text;
  char block[4096];
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(file.number(), block, sizeof block, at);
    if (n <= 0) return text;
    text.append(block, static_cast<std::size_t>(n));
    at += n;
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

[[noreturn]] void become(const std::vector<char*>& arguments, const process_options& options,
                         const descriptor& output, const descriptor& errors, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // undoes an interruption's mask
  if (::getppid() != parent) ::_exit(127);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output.number(), STDOUT_FILENO);
  ::dup2(errors.number(), STDERR_FILENO);
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (options.folder.empty() || ::chdir(options.folder.c_str()) == 0) {
    ::execvp(arguments[0], arguments.data());
  }
  const char* why = std::strerror(errno);
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, why, std::strlen(why));
  ::_exit(127);
}

enum class waited { ended, too_long, stopped };

waited wait_for(pid_t child, std::chrono::seconds limit, int stop) {
  const descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(until - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration{}));
    pollfd ready[] = {{watch.number(), POLLIN, 0}, {stop, POLLIN, 0}};  // poll() ignores -1
    const int n = ::poll(ready, 2, static_cast<int>(left.count()));
    if (n > 0) return ready[0].revents != 0 ? waited::ended : waited::stopped;
    if (n == 0) return waited::too_long;
    if (errno != EINTR) throw std::system_error(errno, std::system_category(), "poll");
  }
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

std::string failure_of(int status, const std::string& errors) {
  std::string what;
  if (WIFSIGNALED(status)) {
    what = "killed by signal " + std::to_string(WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    what = "exit status " + std::to_string(WEXITSTATUS(status));
  } else {
    return {};
  }
  return errors.empty() ? what : what + ": " + first_line(errors);
}

}  // namespace

process_outcome run_process(const std::vector<std::string>& command,
                            const process_options& options) {
  // Files in memory instead of pipes, so that they need not be read while the program writes.
  const descriptor output(::memfd_create("stdout", MFD_CLOEXEC));
  const descriptor errors(::memfd_create("stderr", MFD_CLOEXEC));
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);

  // fork, not vfork or posix_spawn: the kernel counts the resident memory before exec into
  // ru_maxrss. After a fork that is only the memory that the caller itself has written.
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::system_category(), "fork");
  if (child == 0) become(arguments, options, output, errors, parent);

  ::setpgid(child, child);  // in parent and child, because either may run first
  const waited how = wait_for(child, options.limit, options.stop);
  if (how != waited::ended) ::kill(-child, SIGKILL);
  int status = 0;
  rusage used{};
  while (::wait4(child, &status, 0, &used) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::system_category(), "wait4");
  }

  process_outcome outcome{.failure = {},
                          .stopped = false,
                          .output = contents(output),
                          .errors = contents(errors),
                          .usage = {.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime),
                                    .peak_rss_bytes = static_cast<double>(used.ru_maxrss) * 1024,
                                    .switches = static_cast<double>(used.ru_nvcsw),
                                    .preemptions = static_cast<double>(used.ru_nivcsw)}};
  outcome.failure = failure_of(status, outcome.errors);
  if (how == waited::too_long) {
    outcome.failure = "did not terminate within " + std::to_string(options.limit.count()) + " s";
  }
  outcome.stopped = how == waited::stopped;
  return outcome;
}

}  // namespace troupe::lab
