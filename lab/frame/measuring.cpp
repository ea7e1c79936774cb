// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/measuring.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "lab/frame/catalogue.hpp"
#include "lab/frame/figures.hpp"
#include "lab/frame/human.hpp"
#include "lab/frame/process.hpp"
#include "lab/frame/statistics.hpp"

namespace troupe::lab {

namespace {

// Figures that an experiment reports of its measured part take precedence.
void add_usage(std::vector<figure>& figures, const process_usage& usage) {
  for (const figure& each :
       {figure{"cpu_s", "s", usage.cpu_s}, figure{"peak_rss", "bytes", usage.peak_rss_bytes},
        figure{"switches", "1", usage.switches}, figure{"preemptions", "1", usage.preemptions}}) {
    const auto same = [&](const figure& other) { return other.metric == each.metric; };
    if (std::none_of(figures.begin(), figures.end(), same)) figures.push_back(each);
  }
}

class collection {
 public:
  void add(const subject& who, const std::vector<figure>& figures) {
    for (const figure& each : figures) of(who, each).values.push_back(each.value);
  }

  // Keeps the order of the subjects, even if one of them first succeeded in a later round.
  std::vector<series> take(const std::vector<subject>& subjects) {
    std::vector<series> ordered;
    for (const subject& who : subjects) {
      for (series& each : all_) {
        if (is_of(each, who)) ordered.push_back(std::move(each));
      }
    }
    return ordered;
  }

 private:
  static bool is_of(const series& s, const subject& who) {
    return s.workload == who.workload && s.engine == who.engine && s.variant == who.variant;
  }

  series& of(const subject& who, const figure& what) {
    for (series& each : all_) {
      if (is_of(each, who) && each.metric == what.metric) return each;
    }
    return all_.emplace_back(
        series{who.workload, who.engine, who.variant, what.metric, what.unit, {}});
  }

  std::vector<series> all_;
};

std::string name_of(const subject& who) {
  std::string name = who.workload.empty() ? who.engine : who.workload + ": " + who.engine;
  return who.variant.empty() ? name : name + ", " + who.variant;
}

void add_once(std::vector<std::string>& to, const std::string& what) {
  if (std::find(to.begin(), to.end(), what) == to.end()) to.push_back(what);
}

}  // namespace

double measurements::median_of(std::string_view engine, std::string_view variant,
                               std::string_view metric) const {
  for (const series& each : all) {
    if (each.engine == engine && each.variant == variant && each.metric == metric) {
      return summarise(each.values).median;
    }
  }
  return 0;
}

measurements measure(const std::vector<subject>& subjects, unsigned rounds,
                     std::chrono::seconds limit, progress& shown, int stop) {
  measurements result;
  collection found;
  for (unsigned round = 1; round <= rounds; ++round) {
    for (const subject& who : subjects) {
      const std::string what =
          "round " + std::to_string(round) + " of " + std::to_string(rounds) + ": " + name_of(who);
      shown.begin(what);
      process_outcome outcome =
          run_process(who.command,
                      {.limit = limit, .folder = {}, .environment = who.environment, .stop = stop});
      if (outcome.stopped) {
        result.stopped = true;
        return result;
      }
      auto figures = read_figures(outcome.output);
      const std::vector<std::string> notes = read_notes(outcome.output);
      const auto reason = std::find_if(notes.begin(), notes.end(), [](const std::string& note) {
        return note.starts_with(not_measured_mark);
      });
      if (outcome.failure.empty() && !figures && reason == notes.end()) {
        outcome.failure = "printed no figures";
      }
      if (!outcome.failure.empty()) {
        result.failures.push_back(name_of(who) + ": " + outcome.failure);
        shown.end(what + ": " + outcome.failure);
        continue;
      }
      for (const std::string& note : notes) add_once(result.notes, name_of(who) + ": " + note);
      if (!figures) {
        shown.end(what + ": " + *reason);
        continue;
      }
      shown.end(what + ": " + human(figures->front().value, figures->front().unit));
      add_usage(*figures, outcome.usage);
      found.add(who, *figures);
    }
  }
  result.all = found.take(subjects);
  return result;
}

std::vector<subject> subjects_of(std::string_view name, const experiment& what, const sizes& chosen,
                                 const std::string& input) {
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
  if (length <= 0) throw std::runtime_error("/proc/self/exe cannot be read");
  std::vector<subject> all;
  for (const variant& each : what.variants) {
    std::vector<std::string> command{std::string(self, static_cast<std::size_t>(length)),
                                     std::string(run_variant_command),
                                     std::string(name),
                                     each.engine,
                                     each.name,
                                     input};
    for (const auto& [size, value] : chosen) {
      command.push_back(size);
      command.push_back(std::to_string(value));
    }
    all.push_back({.workload = {},
                   .engine = each.engine,
                   .variant = each.name,
                   .command = std::move(command),
                   .has_timeline = each.has_timeline()});
  }
  return all;
}

// EXPERIMENT ENGINE VARIANT INPUT [SIZE VALUE]…
int run_variant(const std::vector<std::string>& arguments) {
  // stdout is reserved for the figures. Other output of an experiment goes to stderr.
  const int out = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    const catalogue_entry* found = arguments.size() < 4 ? nullptr : find_experiment(arguments[0]);
    if (found == nullptr) throw std::invalid_argument("this experiment does not exist");
    sizes chosen;
    for (std::size_t i = 4; i + 1 < arguments.size(); i += 2) {
      chosen.set(arguments[i], std::stoull(arguments[i + 1]));
    }
    for (const variant& each : found->what.variants) {
      if (each.engine != arguments[1] || each.name != arguments[2]) continue;
      trial one(std::move(chosen), arguments[3]);
      each.run(one);
      ::dprintf(out, "%s%s", print_figures(one.figures()).c_str(),
                print_notes(one.notes()).c_str());
      return 0;
    }
    throw std::invalid_argument("this variant does not exist");
  } catch (const std::exception& why) {
    ::dprintf(STDERR_FILENO, "%s\n", why.what());
    return 1;
  }
}

}  // namespace troupe::lab
