// SPDX-License-Identifier: Apache-2.0
#include <troupe/sim/explore.hpp>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/base/thread_host.hpp>

#include "log_text.hpp"
#include "recorder.hpp"

namespace troupe::sim {

namespace {

[[noreturn]] void refuse(const char* what) {
  throw std::system_error(errno, std::generic_category(), std::string("troupe: explore: ") + what);
}

// What an alarm can be set to.
std::chrono::seconds limit_of(const exploration& how) {
  return std::clamp<std::chrono::seconds>(how.longest_run, std::chrono::seconds(0),
                                          std::chrono::hours(24 * 1'000));
}

bool is_chosen(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

std::size_t not_the_plainest(const choice_log& log) {
  return static_cast<std::size_t>(std::count_if(log.choices.begin(), log.choices.end(),
                                                [](const auto& c) { return c.chosen != 0; }));
}

// ── One run ───────────────────────────────────────────────────────────────────────────────────

struct outcome {
  bool failed = false;
  std::string kind;  // what is the same in all that fail in the same way
  std::string why;
  std::string log;
  std::string trace;
};

// What runs in this process, for who has to say how it ended.
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
    failed("exception", "threw an exception that is no std::exception");
  }
  if (came.failed) {
    came.log = sim.choices().text();
    came.trace = sim.trace();
  }
  running = nullptr;
  return came;
}

// ── In another process ────────────────────────────────────────────────────────────────────────

// Texts on their way through a pipe: each behind its length.
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
    if (written <= 0) return;  // nobody reads any more
    what.remove_prefix(static_cast<std::size_t>(written));
  }
}

void say_failed(int to, const outcome& came) {
  std::string says = "f";
  for (const std::string* each : {&came.kind, &came.why, &came.log, &came.trace}) put(says, *each);
  write_all(to, says);
}

constexpr std::string_view too_long = "lasted for too long";
std::string how_ended(int signal) {
  return signal == SIGALRM ? std::string(too_long)
                           : std::string("ended its process: ") + ::strsignal(signal);
}

// ── The last words of a run that ends its process ─────────────────────────────────────────────

volatile std::sig_atomic_t crashes_to = -1;
constexpr std::chrono::seconds time_for_last_words(3);

// A text whose pieces `give(take)` hands out, twice: what comes first is how long it is. Allocates nothing.
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

// In the middle of anything, so it calls nothing that a handler may not, and only reads. What it reads may be half
// changed: if it gets no further the process ends as it would have, by the signal or the alarm, and only the log is
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
  static std::array<std::byte, 256 * 1024> stack;  // its own may be what is used up
  const stack_t other{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  (void)::sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = say_last_words;
  action.sa_flags = SA_ONSTACK;
  for (const int each : {SIGALRM, SIGABRT, SIGILL, SIGFPE})
    (void)::sigaction(each, &action, nullptr);
#if !defined(__SANITIZE_ADDRESS__)  // which has more to say of these
  for (const int each : {SIGSEGV, SIGBUS}) (void)::sigaction(each, &action, nullptr);
#endif
}

/// A copy of this process that does some runs, one after the other, and what it has said so far.
class worker {
 public:
  // Its runs: `log`, or each `step`-th of how->seeds, from the one at `from` on.
  struct order {
    const exploration* how;
    const std::function<void(simulation&)>* run;
    const choice_log* log = nullptr;
    std::uint64_t from = 0;
    std::uint64_t step = 1;
  };

  explicit worker(const order& what) : longest_run_(limit_of(*what.how)) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) refuse("no pipe");
    std::fflush(nullptr);
    process_ = ::fork();
    if (process_ < 0) {
      ::close(ends[0]);
      ::close(ends[1]);
      refuse("no process");
    }
    if (process_ == 0) {
      ::close(ends[0]);
      // What it throws must not go on in a copy of the caller's program.
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
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker() {
    if (from_ >= 0) ::close(from_);
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  /// Waits until something is to be read from at least one of them, or has ended; `ready` is told of each. One that
  /// has not been heard of for too long is ended first: it is deaf to its alarm.
  template <class Ready>
  static void wait(std::span<worker* const> all, const Ready& ready) {
    std::vector<pollfd> pipes;
    auto until = clock::time_point::max();
    for (const worker* each : all) {
      pipes.push_back({each->from_, POLLIN, 0});
      until = std::min(until, each->ends_at_);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    const int limit = until == clock::time_point::max()
                          ? -1
                          : static_cast<int>(std::clamp<decltype(left)>(
                                left, 0, std::numeric_limits<int>::max()));
    if (::poll(pipes.data(), pipes.size(), limit) < 0 && errno != EINTR) refuse("poll");
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (pipes[i].revents != 0) {
        ready(*all[i]);
      } else if (all[i]->ends_at_ <= clock::now()) {
        all[i]->end_as_too_long();
      }
    }
  }
  /// Reads what there is; false: that was all, and it has ended.
  bool read() {
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

  struct report {
    std::uint64_t runs = 0;
    std::uint64_t seed = 0;  // of the last one
    outcome last;
  };
  [[nodiscard]] report heard() const {
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
      all.last.why = "ended its process with " + std::to_string(WEXITSTATUS(status_));
      all.last.kind = all.last.why;
    }
    return all;
  }

 private:
  using clock = std::chrono::steady_clock;  // not a simulation's

  void hear() {
    const bool has_limit = longest_run_.count() != 0;
    ends_at_ =
        has_limit ? clock::now() + longest_run_ + time_for_last_words : clock::time_point::max();
  }
  void end_as_too_long() {
    was_too_long_ = true;
    ends_at_ = clock::time_point::max();
    ::kill(process_, SIGKILL);
  }

  static void work(const order& what, int to) {
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
    write_all(to, "e");  // all went well
  }

  pid_t process_ = -1;
  int from_ = -1;
  int status_ = 0;
  const std::chrono::seconds longest_run_;
  clock::time_point ends_at_;
  bool was_too_long_ = false;
  std::string said_;
};

outcome run_alone(const exploration& how, const std::function<void(simulation&)>& run,
                  const choice_log& log) {
  worker one({.how = &how, .run = &run, .log = &log});
  worker* const only[] = {&one};
  for (bool goes_on = true; goes_on;) {
    worker::wait(only, [&](worker& each) { goes_on = each.read(); });
  }
  return one.heard().last;
}

// The seed, and so many choices.
std::string log_text_of(const std::string& text, std::size_t choices) {
  std::size_t end = 0;
  for (std::size_t i = 0; i <= choices && end != text.size(); ++i) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  return text.substr(0, end);
}

// ── A simpler one ─────────────────────────────────────────────────────────────────────────────

/// Makes the choices of a log plainer as long as the run fails in the same way.
class shrinking {
 public:
  shrinking(const exploration& how, const std::function<void(simulation&)>& run, failed_run& best,
            std::string kind)
      : how_(how), run_(run), best_(best), kind_(std::move(kind)), left_(how.shrinks) {}

  void shrink() {
    // Only the beginning, first: most of what is chosen behind the cause means nothing.
    for (std::size_t length = best_.log.choices.size() / 2; length > 0; length /= 2) {
      const std::size_t now = best_.log.choices.size();
      if (length >= now) continue;
      (void)tries(now - length, now);
    }
    for (std::size_t size = std::max<std::size_t>(best_.log.choices.size() / 2, 1); left_ > 0;) {
      bool is_plainer = false;
      for (std::size_t at = 0; at < best_.log.choices.size() && left_ > 0; at += size) {
        is_plainer = tries(at, at + size) || is_plainer;
      }
      if (size == 1 && !is_plainer) return;
      size = std::max<std::size_t>(size / 2, 1);
    }
  }

 private:
  // True if it fails with the plainest choices from here to there, and they were not that already.
  bool tries(std::size_t from, std::size_t to) {
    if (left_ == 0) return false;
    choice_log log = best_.log;
    to = std::min(to, log.choices.size());
    bool is_new = false;
    for (std::size_t i = from; i < to; ++i) {
      is_new = is_new || log.choices[i].chosen != 0;
      log.choices[i].chosen = 0;
    }
    if (!is_new) return false;
    --left_;
    outcome came = run_alone(how_, run_, log);
    if (!came.failed || came.kind != kind_ || came.log.empty()) return false;
    choice_log made = choice_log::parse(came.log);
    // Plainer choices may lead to more of others.
    if (not_the_plainest(made) >= best_.chosen) return false;
    while (!made.choices.empty() && made.choices.back().chosen == 0) made.choices.pop_back();
    best_.log_text = log_text_of(came.log, made.choices.size());
    best_.log = std::move(made);
    best_.chosen = not_the_plainest(best_.log);
    best_.why = std::move(came.why);
    best_.trace = std::move(came.trace);
    return true;
  }

  const exploration& how_;
  const std::function<void(simulation&)>& run_;
  failed_run& best_;
  const std::string kind_;
  std::size_t left_;
};

std::string last_lines(const std::string& text, std::size_t lines) {
  std::size_t at = text.size();
  for (std::size_t i = 0; i <= lines && at != 0 && at != std::string::npos; ++i) {
    at = at < 2 ? std::string::npos : text.rfind('\n', at - 2);
    if (at != std::string::npos) ++at;
    if (i == lines - 1) break;
  }
  return at == std::string::npos ? text : text.substr(at);
}

}  // namespace

// Without the end of the trace, which is below.
static std::string without_trace(const std::string& why) {
  return why.substr(0, why.find(" The last that happened:"));
}

std::string explored::text() const {
  if (!failure) return "all " + std::to_string(runs) + " runs went well";
  const failed_run& f = *failure;
  std::string all = "the run with the seed " + std::to_string(f.seed) + " failed (" +
                    std::to_string(runs) + " were tried): " + without_trace(f.why) + "\n";
  if (!f.log.choices.empty() || !f.trace.empty()) {
    all += "The simplest that was found has " + std::to_string(f.chosen) +
           " choices that are not the plainest, of " + std::to_string(f.chosen_at_first) +
           ". Its end:\n" + last_lines(f.trace, 40);
  }
  all += "To have it again: TROUPE_SIM_SEED=" + std::to_string(f.seed);
  if (!f.log_file.empty()) all += ", or the simplest: TROUPE_SIM_LOG=" + f.log_file;
  return all + "\n";
}

explored explore(const exploration& how, const std::function<void(simulation&)>& run) {
  explored all;
  if (is_chosen("TROUPE_SIM_SEED") || is_chosen("TROUPE_SIM_LOG")) {
    simulation sim(choices::from_environment(how.first_seed), how.options);
    run(sim);
    sim.check();
    all.runs = 1;
    return all;
  }
  if (detail::thread_host::here() != nullptr) {
    throw std::logic_error("troupe: explore() within a simulation: let that one end before");
  }
  const unsigned processes = static_cast<unsigned>(std::clamp<std::uint64_t>(
      how.processes != 0 ? how.processes : std::max(1u, std::thread::hardware_concurrency()), 1,
      std::max<std::uint64_t>(how.seeds, 1)));
  std::vector<std::unique_ptr<worker>> workers;
  for (unsigned i = 0; i < processes; ++i) {
    workers.push_back(std::make_unique<worker>(
        worker::order{.how = &how, .run = &run, .from = i, .step = processes}));
  }
  std::string kind;
  while (!workers.empty() && !all.failure) {
    std::vector<worker*> at_work;
    for (const auto& each : workers) at_work.push_back(each.get());
    std::vector<worker*> ended;
    worker::wait(at_work, [&](worker& each) {
      if (!each.read()) ended.push_back(&each);
    });
    for (worker* const each : ended) {
      worker::report said = each->heard();
      all.runs += said.runs;
      std::erase_if(workers, [&](const auto& one) { return one.get() == each; });
      if (!said.last.failed || (all.failure && all.failure->seed < said.seed)) continue;
      kind = said.last.kind;
      const std::string log_text = said.last.log;
      all.failure = {.seed = said.seed,
                     .why = std::move(said.last.why),
                     .log = said.last.log.empty() ? choice_log{.seed = said.seed, .choices = {}}
                                                  : choice_log::parse(said.last.log),
                     .log_text = log_text,
                     .trace = std::move(said.last.trace)};
    }
  }
  for (const auto& each : workers) all.runs += each->heard().runs;
  workers.clear();
  if (all.failure && !all.failure->log.choices.empty()) {
    failed_run& best = *all.failure;
    best.chosen = best.chosen_at_first = not_the_plainest(best.log);
    if (kind != too_long) shrinking(how, run, best, kind).shrink();  // each try would last as long
    best.log_file = write_log(best.log.seed, best.log_text);
  }
  return all;
}

}  // namespace troupe::sim
