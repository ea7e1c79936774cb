// SPDX-License-Identifier: Apache-2.0
#include "lab/all/all.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include "lab/all/forecast.hpp"
#include "lab/all/results_folder.hpp"
#include "lab/built.hpp"
#include "lab/frame/bars.hpp"
#include "lab/frame/catalogue.hpp"
#include "lab/frame/comparable.hpp"
#include "lab/frame/host.hpp"
#include "lab/frame/human.hpp"
#include "lab/frame/interruption.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/progress.hpp"
#include "lab/frame/report.hpp"
#include "lab/frame/run.hpp"
#include "lab/frame/statistics.hpp"
#include "lab/frame/table.hpp"

namespace troupe::lab {

namespace {

using json = nlohmann::ordered_json;
using steady = std::chrono::steady_clock;

double seconds_since(steady::time_point began) {
  return std::chrono::duration<double>(steady::now() - began).count();
}

const char* name_of(extent how) {
  return how == extent::smoke ? "smoke" : how == extent::quick ? "quick" : "full";
}

unsigned rounds_of(const all_options& options) {
  if (options.repeat != 0) return options.repeat;
  return options.how == extent::smoke ? 1 : options.how == extent::quick ? 3 : 5;
}

sizes sizes_of(const experiment& what, extent how) {
  return how == extent::quick ? quick_sizes(what) : choose_sizes(what, how == extent::smoke, {});
}

// ── Progress and remaining time ─────────────────────────────────────────────────────────────

// Shows a bar on a terminal, otherwise a line for each experiment.
class overall : public progress {
 public:
  overall(std::size_t experiments, double kept_s) : experiments_(experiments), left_(kept_s) {}

  void next(const std::string& experiment, std::size_t runs, double kept_s) {
    name_ = experiment;
    ++number_;
    kept_each_ = kept_s / static_cast<double>(runs);
  }

  void begin(const std::string& what) override {
    began_ = steady::now();
    if (on_terminal()) progress::begin(bar() + name_ + ", " + what);
  }

  void end(const std::string&) override {
    const double took = seconds_since(began_);
    took_s_ += took;
    left_.ran(kept_each_, took);
  }

  // The experiment has been measured.
  void done(const std::string& how) {
    if (on_terminal()) return;
    progress::end(std::to_string(number_) + " of " + std::to_string(experiments_) + ": " + name_ +
                  ", " + how + (number_ < experiments_ ? "; " + left_text(left_.left_s()) : ""));
  }

 private:
  std::string bar() const {
    constexpr std::size_t width = 16;
    const double left = left_.left_s();
    const auto filled =
        static_cast<std::size_t>(width * took_s_ / std::max(took_s_ + left, 1e-9) + 0.5);
    return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] " +
           std::to_string(number_) + "/" + std::to_string(experiments_) + ", " + left_text(left) +
           ": ";
  }

  std::size_t experiments_;
  std::size_t number_ = 0;
  std::string name_;
  double kept_each_ = 0;
  double took_s_ = 0;
  steady::time_point began_;
  forecast left_;
};

// ── One experiment ──────────────────────────────────────────────────────────────────────────

struct job {
  const catalogue_entry* which;
  sizes chosen;
  json result = {};  // null until it is known
  bool was_there = false;

  std::string name() const { return std::string(which->name); }
};

json options_of(const job& of, unsigned rounds) {
  json with = json_of(of.chosen);
  with["repeat"] = rounds;
  return with;
}

// The fields in which results must agree to belong together, with their names for users.
std::vector<std::pair<std::string, json>> identity_of(const json& result) {
  std::vector<std::pair<std::string, json>> all{{"extent", result.value("extent", json())}};
  const json where = result.value("host", json::object());
  for (const auto& [name, value] : where.items()) {
    if (name != "load") all.emplace_back(name, value);
  }
  all.emplace_back("options", result.value("options", json()));
  return all;
}

std::string text_of_value(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// A changed tree has the same commit whatever the changes are. Then only results of the same
// program count as equal.
bool is_older_build(const results_folder& folder, const job& of) {
  const std::string commit = built::commit();
  return (commit.ends_with("-dirty") || commit == "unknown") &&
         folder.written(of.name()) < std::filesystem::last_write_time("/proc/self/exe");
}

// Loads the existing result. Throws unsuitable_folder if it is of another kind.
void take_over(const results_folder& folder, job& to, const json& like) {
  std::optional<json> found = folder.find(to.name());
  if (!found || !found->value("failures", json::array()).empty()) return;
  std::string other;
  const auto theirs = identity_of(*found);
  const auto ours = identity_of(like);
  for (std::size_t i = 0; i < ours.size() && other.empty(); ++i) {
    if (i < theirs.size() && theirs[i] == ours[i]) continue;
    other = ours[i].first + " " +
            (i < theirs.size() ? text_of_value(theirs[i].second) : std::string("unknown")) +
            ", not " + text_of_value(ours[i].second);
  }
  if (other.empty() && is_older_build(folder, to)) {
    other = "an earlier build of commit " + std::string(built::commit());
  }
  if (!other.empty()) {
    throw unsuitable_folder((folder.path() / (to.name() + ".json")).string() + " is of " + other +
                            "; measure everything again with --fresh, or choose another --folder");
  }
  to.result = std::move(*found);
  to.was_there = true;
}

std::size_t noisy_of(const json& result) {
  const json all = result.value("results", json::array());
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const json& each) {
    const std::string metric = each.value("metric", "");
    return each.value("noisy", false) && std::find(process_metrics.begin(), process_metrics.end(),
                                                   metric) == process_metrics.end();
  }));
}

// ── All of them ─────────────────────────────────────────────────────────────────────────────

bool is_asked_for(const job& which, const all_options& options) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), which.name()) != options.only.end();
}

// Comparisons with other C++ programs are left out if they would be unfair.
bool is_left_out(const experiment& what, const all_options& options) {
  return what.compares_programs && options.how != extent::smoke &&
         !why_lab_is_not_comparable().empty();
}

// Returns the selected experiments, with their existing results. The results of the others must
// belong to the same run as well, because a folder holds one run.
std::vector<job> jobs_of(const all_options& options, results_folder& folder, const host& where) {
  std::vector<job> all;
  for (const catalogue_entry& each : catalogue()) {
    job next{&each, sizes_of(each.what, options.how)};
    const bool asked = is_asked_for(next, options);
    if (asked && is_left_out(each.what, options)) {
      refuse_comparison("troupe lab " + next.name(), why_lab_is_not_comparable());
      continue;
    }
    if (!(asked && options.fresh)) {
      json like = json_of(next.name(), where, options_of(next, rounds_of(options)), {});
      like["extent"] = name_of(options.how);
      take_over(folder, next, like);
    }
    if (asked) all.push_back(std::move(next));
  }
  if (options.fresh) {
    for (const job& each : all) folder.remove(each.name());
  }
  return all;
}

double kept_of(const job& of, const all_options& options) {
  const kept_cost kept = kept_cost_of(of.which->name);
  const double round = options.how == extent::full    ? kept.full_s
                       : options.how == extent::quick ? kept.quick_s
                                                      : kept.quick_s / 10;
  return round * rounds_of(options);
}

// Returns the signal that ended it, or 0.
int measure_missing(std::vector<job>& jobs, const all_options& options, results_folder& folder) {
  double kept_s = 0;
  std::size_t missing = 0;
  for (const job& each : jobs) {
    if (each.was_there) continue;
    kept_s += kept_of(each, options);
    ++missing;
  }
  interruption stop;
  overall shown(missing, kept_s);
  for (job& each : jobs) {
    if (each.was_there) continue;
    std::vector<subject> subjects = subjects_of(each.which->name, each.which->what, each.chosen);
    progress quietly;
    const std::vector<std::string> notes =
        look_who_is_there(each.which->what, options.how == extent::full, subjects, quietly);
    quietly.clear();
    shown.next(each.name(), subjects.size() * rounds_of(options), kept_of(each, options));
    const auto began = steady::now();
    const host where = look_at_host();  // measured now, because the load differs each time
    measurements found =
        measure(subjects, rounds_of(options), options.limit, shown, stop.descriptor());
    if (found.stopped) return stop.signal();
    found.notes.insert(found.notes.begin(), notes.begin(), notes.end());
    json result = json_of(each.name(), where, options_of(each, rounds_of(options)), found,
                          answer_of(each.which->what, found));
    const std::vector<judged> bars = judge(each.which->what.bars, found);
    if (!bars.empty()) result["bars"] = json_of(bars);
    result["extent"] = name_of(options.how);
    result["took_s"] = seconds_since(began);
    folder.write(each.name(), result);
    each.result = std::move(result);
    shown.done(human(each.result["took_s"], "s") + " s" +
               (found.failures.empty() ? "" : ", failed: " + found.failures.front()));
  }
  return 0;
}

// Returns the first figure that a variant reports.
std::string first_figure(const json& result) {
  for (const json& each : result["results"]) {
    return each.value("metric", "") + " " + (each.value("noisy", false) ? "~" : "") +
           human(each.value("median", 0.0), each.value("unit", "1")) +
           (each.value("unit", "1") == "1" || each.value("unit", "1") == "bytes"
                ? ""
                : " " + each.value("unit", "1"));
  }
  return "–";
}

void print_summary(std::ostream& out, const std::vector<job>& jobs, const results_folder& folder) {
  std::size_t done = 0, failed = 0, noisy = 0, there = 0;
  table rows{.head = {"experiment", "its first figure", "figures", "vary", "failed", "took, s"},
             .rows = {},
             .names = 2};
  for (const job& each : jobs) {
    if (each.result.is_null()) continue;
    ++done;
    const std::size_t failures = each.result["failures"].size();
    const std::size_t varies = noisy_of(each.result);
    failed += failures != 0;
    noisy += varies != 0;
    there += each.was_there;
    rows.rows.push_back({each.name(), first_figure(each.result),
                         std::to_string(each.result["results"].size()), std::to_string(varies),
                         std::to_string(failures), human(each.result["took_s"], "s")});
  }
  print_text(out, rows);
  for (const job& each : jobs) {
    if (each.result.is_null()) continue;
    for (const json& failure : each.result["failures"]) {
      out << "failed: " << each.name() << ": " << failure.get<std::string>() << '\n';
    }
  }
  out << done << " of " << jobs.size() << " experiments"
      << (there == 0 ? "" : ", " + std::to_string(there) + " of them from before") << "; " << failed
      << " failed, " << noisy << " with varying figures (~); " << folder.path().string() << '\n';
}

}  // namespace

int run_all(const all_options& options) {
  try {
    results_folder folder(options.folder);
    const host where = look_at_host();
    std::vector<job> jobs = jobs_of(options, folder, where);
    if (jobs.empty()) return 2;
    const int signal = measure_missing(jobs, options, folder);
    print_host(std::cout, where);
    print_summary(std::cout, jobs, folder);
    if (signal != 0) {
      std::cerr << "troupe: interrupted; the same command"
                << (options.fresh ? " without --fresh" : "")
                << " measures the missing experiments\n";
      return 128 + signal;
    }
    return std::all_of(jobs.begin(), jobs.end(),
                       [](const job& each) { return each.result["failures"].empty(); })
               ? 0
               : 1;
  } catch (const unsuitable_folder& why) {
    std::cerr << "troupe: " << why.what() << '\n';
    return 2;
  }
}

}  // namespace troupe::lab
