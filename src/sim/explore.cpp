// SPDX-License-Identifier: Apache-2.0
#include <troupe/sim/explore.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/detail/base/thread_host.hpp>

#include "worker_process.hpp"

namespace troupe::sim {

namespace {

bool is_chosen(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

std::size_t not_the_plainest(const choice_log& log) {
  return static_cast<std::size_t>(std::count_if(log.choices.begin(), log.choices.end(),
                                                [](const auto& c) { return c.chosen != 0; }));
}

outcome run_alone(const exploration& how, const std::function<void(simulation&)>& run,
                  const choice_log& log) {
  worker_process one({.how = &how, .run = &run, .log = &log});
  worker_process* const only[] = {&one};
  for (bool goes_on = true; goes_on;) {
    for (worker_process* const each : worker_process::wait(only)) goes_on = each->read();
  }
  return one.heard().last;
}

// The part of the log text with the seed and the given number of choices.
std::string log_text_of(const std::string& text, std::size_t choices) {
  std::size_t end = 0;
  for (std::size_t i = 0; i <= choices && end != text.size(); ++i) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  return text.substr(0, end);
}

// ── Shrinking ─────────────────────────────────────────────────────────────────────────────────

/// Replaces choices of a log by the plainest ones (0) as long as the run fails in the same way.
class shrinking {
 public:
  shrinking(const exploration& how, const std::function<void(simulation&)>& run, failed_run& best,
            std::string kind)
      : how_(how), run_(run), best_(best), kind_(std::move(kind)), left_(how.shrinks) {}

  void shrink() {
    // First try prefixes of the log: most choices after the cause are irrelevant.
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
  // Tries the plainest choices in the range [from, to). Returns true if that changes the log and
  // the run still fails in the same way.
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
    // A plainer choice may lead to more other choices that are not the plainest.
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

static std::string non_default_choices(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " non-default choice" : " non-default choices");
}

// Removes the end of the trace, which text() prints separately.
static std::string without_trace(const std::string& why) {
  return why.substr(0, why.find(" Last events:"));
}

std::string explored::text() const {
  if (!failure) return "all " + std::to_string(runs) + " runs succeeded";
  const failed_run& f = *failure;
  std::string all = "the run with the seed " + std::to_string(f.seed) + " failed (" +
                    std::to_string(runs) + " were tried): " + without_trace(f.why) + "\n";
  if (!f.log.choices.empty() || !f.trace.empty()) {
    all += "Simplest failing run: " + non_default_choices(f.chosen) + " (" +
           std::to_string(f.chosen_at_first) + " in the original run). Last events:\n" +
           last_lines(f.trace, 40);
  }
  all += "To reproduce it: TROUPE_SIM_SEED=" + std::to_string(f.seed);
  if (!f.log_file.empty()) all += ", or its simplest form: TROUPE_SIM_LOG=" + f.log_file;
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
    throw std::logic_error(
        "troupe: explore() was called within a simulation: destroy that simulation first");
  }
  const unsigned processes = static_cast<unsigned>(std::clamp<std::uint64_t>(
      how.processes != 0 ? how.processes : std::max(1u, std::thread::hardware_concurrency()), 1,
      std::max<std::uint64_t>(how.seeds, 1)));
  std::vector<std::unique_ptr<worker_process>> workers;
  for (unsigned i = 0; i < processes; ++i) {
    workers.push_back(std::make_unique<worker_process>(
        worker_process::order{.how = &how, .run = &run, .from = i, .step = processes}));
  }
  std::string kind;
  while (!workers.empty() && !all.failure) {
    std::vector<worker_process*> at_work;
    for (const auto& each : workers) at_work.push_back(each.get());
    for (worker_process* const each : worker_process::wait(at_work)) {
      if (each->read()) continue;
      worker_process::report said = each->heard();
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
    // With a time-out, each try would take as long.
    if (kind != too_long) shrinking(how, run, best, kind).shrink();
    best.log_file = write_log(best.log.seed, best.log_text);
  }
  return all;
}

}  // namespace troupe::sim
