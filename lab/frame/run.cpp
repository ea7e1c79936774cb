// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/run.hpp"

#include <algorithm>
#include <iostream>
#include <set>

#include "lab/built.hpp"
#include "lab/frame/bars.hpp"
#include "lab/frame/comparable.hpp"
#include "lab/frame/host.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/progress.hpp"
#include "lab/frame/report.hpp"
#include "lab/frame/table.hpp"
#include "lab/frame/traces.hpp"

namespace troupe::lab {

sizes choose_sizes(const experiment& what, bool smoke, const sizes& given) {
  sizes chosen;
  for (const size_option& option : what.options) {
    std::uint64_t value = smoke ? option.smoke : option.value;
    for (const auto& [name, other] : given) {
      if (name == option.name) value = other;
    }
    chosen.set(option.name, value);
  }
  return chosen;
}

sizes quick_sizes(const experiment& what) {
  sizes chosen;
  for (const size_option& option : what.options) chosen.set(option.name, quick_value(option));
  return chosen;
}

void list_experiments() {
  table all{.head = {"NAME", "asks"}, .rows = {}, .names = 2};
  for (const catalogue_entry& each : catalogue()) {
    all.rows.push_back({std::string(each.name), std::string(each.what.asks)});
  }
  all.rows.push_back({std::string(peers_name), std::string(peers_asks)});
  all.rows.push_back({"advise", "Recommends runtime settings for this host"});
  all.rows.push_back({"report", "converts the results of --json to one HTML page"});
  all.rows.push_back({"all", "Runs every experiment and writes the results to a folder"});
  print_text(std::cout, all);
}

bool takes_part(const std::string& engine, const run_options& options) {
  return options.engines.empty() ||
         std::find(options.engines.begin(), options.engines.end(), engine) != options.engines.end();
}

std::vector<std::string> look_who_is_there(const experiment& what, bool may_build,
                                           std::vector<subject>& subjects, progress& shown) {
  std::vector<std::string> notes;
  if (what.compares_programs) notes.push_back(note_of_flags());
  if (what.look_for == nullptr) return notes;
  std::set<std::string> seen;
  std::set<std::string> absent;
  for (const subject& each : subjects) {
    if (!seen.insert(each.engine).second) continue;
    shown.begin("look for " + each.engine);
    const presence found = what.look_for(each.engine, may_build);
    if (!found.absent.empty()) {
      absent.insert(each.engine);
      notes.push_back(each.engine + " is left out: " + found.absent);
    } else if (!found.version.empty()) {
      notes.push_back(each.engine + ": " + found.version);
    }
  }
  std::erase_if(subjects, [&](const subject& each) { return absent.contains(each.engine); });
  return notes;
}

std::string note_of_flags() {
  const std::string why = why_lab_is_not_comparable();
  return why.empty() ? "all C++ programs are compiled with " + std::string(built::flags)
                     : "not a comparison: " + why;
}

std::string answer_of(const experiment& what, const measurements& found) {
  return what.answer == nullptr ? std::string() : what.answer(found);
}

int run_experiment(const catalogue_entry& which, const sizes& given, const run_options& options) {
  if (which.what.compares_programs && !options.smoke) {
    const std::string why = why_lab_is_not_comparable();
    if (!why.empty()) return refuse_comparison("troupe lab " + std::string(which.name), why);
  }
  const sizes chosen = choose_sizes(which.what, options.smoke, given);
  if (!options.write.empty()) {
    which.what.input->write(chosen, options.write);
    return 0;
  }
  if (!options.input.empty()) which.what.input->check(options.input);
  json_target json(options.json);
  const host where = look_at_host();
  std::vector<subject> subjects = subjects_of(which.name, which.what, chosen, options.input);
  std::erase_if(subjects, [&](const subject& s) { return !takes_part(s.engine, options); });
  progress shown;
  std::vector<std::string> notes = look_who_is_there(which.what, !options.smoke, subjects, shown);
  std::vector<std::string> traces;
  if (!options.trace.empty()) traces = record_traces(subjects, options.trace);
  measurements found = measure(subjects, options.repeat, options.limit, shown);
  found.notes.insert(found.notes.begin(), notes.begin(), notes.end());
  shown.clear();

  std::ostream& out = json.text();
  out << which.name << ": " << which.what.asks << '\n'
      << join({options.input, text_of(chosen), "median of " + std::to_string(options.repeat)})
      << '\n';
  print_host(out, where);
  print_report(out, found, which.what.figures, which.what.against);
  const std::vector<judged> bars = judge(which.what.bars, found);
  print_bars(out, bars);
  print_hot(out, traces);
  const std::string answer = answer_of(which.what, found);
  print_remarks(out, found, answer);
  if (json.wanted()) {
    nlohmann::ordered_json with = json_of(chosen);
    with["repeat"] = options.repeat;
    if (!options.input.empty()) with[which.what.input->name] = options.input;
    nlohmann::ordered_json result = json_of(std::string(which.name), where, with, found, answer);
    if (!bars.empty()) result["bars"] = json_of(bars);
    json.write(result);
  }
  return found.failures.empty() && !found.all.empty() ? 0 : 1;
}

}  // namespace troupe::lab
