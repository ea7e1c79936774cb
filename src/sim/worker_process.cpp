// SPDX-License-Identifier: Apache-2.0
#include "worker_process.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <system_error>
#include <troupe/memory/poison.hpp>
#include <utility>

#include "log_text.hpp"
#include "recorder.hpp"

namespace troupe::sim {

namespace {

[[noreturn]] void refuse(const char* what) {
  throw std::system_error(errno, std::generic_category(), std::string("troupe: explore: ") + what);
}

// The time limit of a run, clamped to a range that alarm() accepts.
std::chrono::seconds limit_of(const exploration& how) {
  return std::clamp<std::chrono::seconds>(how.longest_run, std::chrono::seconds(0),
                                          std::chrono::hours(24 * 1'000));
}

// ── One run ───────────────────────────────────────────────────────────────────────────────────

// The simulation that runs in this process. The crash handler reads it to report how the run ended.
simulation* running = nullptr;

outcome run_here(choices by, simulation_options options,
                 const std::function<void(simulation&)>& run) {
  options.writes_log = false;
  simulation sim(std::move(by), options);
  running = &sim;
  outcome came;
  const auto failed = [&](std::string kind, std::string why) {
    came.failed = true;
    came.kind = std::move(kind);
    came.why = std::move(why);
  };
  try {
    run(sim);
    sim.check();
  } catch (const broken_invariant& e) {
    failed("invariant " + e.name(), e.what());
  } catch (const std::exception& e) {
    failed(std::string("exception ") + e.what(), std::string("threw: ") + e.what());
  } catch (...) {
    failed("exception", "threw an exception that is not a std::exception");
  }
  if (came.failed) {
    came.log = sim.choices().text();
    came.trace = sim.trace();
  }
  running = nullptr;
  return came;
}

// ── In another process ────────────────────────────────────────────────────────────────────────

// Texts are sent through a pipe, each preceded by its length.
void put(std::string& to, std::string_view text) {
  const std::uint64_t size = text.size();
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to.append(text);
}
bool take(std::string_view& from, std::string& into) {
  std::uint64_t size = 0;
  if (from.size() < sizeof size) return false;
  std::memcpy(&size, from.data(), sizeof size);
  if (from.size() - sizeof size < size) return false;
  into.assign(from.substr(sizeof size, size));
  from.remove_prefix(sizeof size + size);
  return true;
}

void write_all(int to, std::string_view what) {
  while (!what.empty()) {
    const ssize_t written = ::write(to, what.data(), what.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reader is gone
    what.remove_prefix(static_cast<std::size_t>(written));
  }
}

void say_failed(int to, const outcome& came) {
  std::string says = "f";
  for (const std::string* each : {&came.kind, &came.why, &came.log, &came.trace}) put(says, *each);
  write_all(to, says);
}

std::string how_ended(int signal) {
  return signal == SIGALRM ? std::string(too_long)
                           : std::string("terminated its process: ") + ::strsignal(signal);
}

// ── The report of a crashing run ──────────────────────────────────────────────────────────────

volatile std::sig_atomic_t crashes_to = -1;
constexpr std::chrono::seconds time_for_last_words(3);

// Writes a text whose pieces `give(take)` produces. It is called twice, because the length comes
// first. Allocates nothing.
template <class Give>
void put_pieces(int to, const Give& give) {
  std::uint64_t size = 0;
  give([&](std::string_view piece) { size += piece.size(); });
  std::array<char, 4'096> some;
  std::size_t filled = sizeof size;
  std::memcpy(some.data(), &size, sizeof size);
  give([&](std::string_view piece) {
    if (piece.size() > some.size() - filled) {
      write_all(to, {some.data(), std::exchange(filled, 0)});
      if (piece.size() > some.size()) return write_all(to, piece);
    }
    filled += piece.copy(some.data() + filled, piece.size());
  });
  write_all(to, {some.data(), filled});
}

// The signal may interrupt any code, so this calls only functions that are safe in signal handlers,
// and only reads the simulation. The data may be half changed. If that stops this function, the
// process ends through the signal or the alarm as it would have anyway, and only the log is
// missing.
void say_last_words(int signal) {
  const int to = std::exchange(crashes_to, -1);
  std::signal(signal, SIG_DFL);
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(static_cast<unsigned>(time_for_last_words.count()));
  if (to >= 0 && running != nullptr) {
    write_all(to, "c");
    const auto number = static_cast<char>(signal);
    put_pieces(to, [&](const auto& take) { take(std::string_view(&number, 1)); });
    put_pieces(to, [&](const auto& take) { text_of(running->choices(), take); });
    put_pieces(to, [&](const auto& take) { record_of(*running).each_line(take); });
    ::_exit(1);
  }
  std::raise(signal);
}

void hear_of_crashes() {
  static std::array<std::byte, 256 * 1024> stack;  // the normal stack may have overflowed
  const stack_t other{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  (void)::sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = say_last_words;
  // SA_NODEFER: the alarm that limits the handler has to arrive while it handles an alarm.
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int each : {SIGALRM, SIGABRT, SIGILL, SIGFPE})
    (void)::sigaction(each, &action, nullptr);
#ifndef TROUPE_ASAN  // AddressSanitizer reports these in more detail
  for (const int each : {SIGSEGV, SIGBUS}) (void)::sigaction(each, &action, nullptr);
#endif
}

}  // namespace

// ── The process ───────────────────────────────────────────────────────────────────────────────

worker_process::worker_process(const order& what) : longest_run_(limit_of(*what.how)) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) refuse("cannot create a pipe");
  std::fflush(nullptr);
  process_ = ::fork();
  if (process_ < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    refuse("cannot create a process");
  }
  if (process_ == 0) {
    ::close(ends[0]);
    // An exception must not propagate into this copy of the caller's program.
    try {
      work(what, ends[1]);
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  from_ = ends[0];
  hear();
}

worker_process::~worker_process() {
  if (from_ >= 0) ::close(from_);
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

std::vector<worker_process*> worker_process::wait(std::span<worker_process* const> all) {
  std::vector<pollfd> pipes;
  auto until = clock::time_point::max();
  for (const worker_process* each : all) {
    pipes.push_back({each->from_, POLLIN, 0});
    until = std::min(until, each->ends_at_);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
  const int limit =
      until == clock::time_point::max()
          ? -1
          : static_cast<int>(std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max()));
  if (::poll(pipes.data(), pipes.size(), limit) < 0 && errno != EINTR) refuse("poll");
  std::vector<worker_process*> ready;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (pipes[i].revents != 0) {
      ready.push_back(all[i]);
    } else if (all[i]->ends_at_ <= clock::now()) {
      all[i]->end_as_too_long();
    }
  }
  return ready;
}

bool worker_process::read() {
  std::array<char, 65'536> some;
  const ssize_t got = ::read(from_, some.data(), some.size());
  if (got < 0 && errno == EINTR) return true;
  if (got > 0) {
    said_.append(some.data(), static_cast<std::size_t>(got));
    hear();
    return true;
  }
  while (::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return false;
}

worker_process::report worker_process::heard() const {
  report all;
  bool is_over = false;
  std::string_view rest = said_;
  while (!rest.empty()) {
    const char what = rest.front();
    rest.remove_prefix(1);
    std::string text;
    if (what == 'b') {
      if (!take(rest, text)) break;
      std::from_chars(text.data(), text.data() + text.size(), all.seed);
      ++all.runs;
    } else if (what == 'e') {
      is_over = true;
    } else if (what == 'c') {
      if (!take(rest, text) || text.empty()) break;
      all.last.why = all.last.kind = how_ended(text.front());
      if (!take(rest, all.last.log) || !take(rest, all.last.trace)) break;
      all.last.failed = true;
    } else if (!take(rest, all.last.kind) || !take(rest, all.last.why) ||
               !take(rest, all.last.log) || !take(rest, all.last.trace)) {
      break;
    } else {
      all.last.failed = true;
    }
  }
  if (all.last.failed || process_ > 0) return all;
  if (WIFSIGNALED(status_)) {
    all.last.failed = true;
    all.last.why = how_ended(was_too_long_ ? SIGALRM : WTERMSIG(status_));
    all.last.kind = all.last.why;
  } else if (!is_over) {
    all.last.failed = true;
    all.last.why = "exited its process with status " + std::to_string(WEXITSTATUS(status_));
    all.last.kind = all.last.why;
  }
  return all;
}

void worker_process::hear() {
  const bool has_limit = longest_run_.count() != 0;
  ends_at_ =
      has_limit ? clock::now() + longest_run_ + time_for_last_words : clock::time_point::max();
}
void worker_process::end_as_too_long() {
  was_too_long_ = true;
  ends_at_ = clock::time_point::max();
  ::kill(process_, SIGKILL);
}

// Runs in the forked process.
void worker_process::work(const order& what, int to) {
  hear_of_crashes();
  const auto one = [&](choices by) {
    std::string begins = "b";
    put(begins, std::to_string(by.seed()));
    write_all(to, begins);
    crashes_to = to;
    ::alarm(static_cast<unsigned>(limit_of(*what.how).count()));
    const outcome came = run_here(std::move(by), what.how->options, *what.run);
    ::alarm(0);
    crashes_to = -1;
    if (!came.failed) return true;
    say_failed(to, came);
    return false;
  };
  if (what.log != nullptr) {
    if (!one(choices(*what.log))) return;
  } else {
    for (std::uint64_t i = what.from; i < what.how->seeds; i += what.step) {
      if (!one(choices(what.how->first_seed + i))) return;
    }
  }
  write_all(to, "e");  // all runs succeeded
}

}  // namespace troupe::sim
