// SPDX-License-Identifier: Apache-2.0
#include "lab/peers/peers.hpp"

#include <cstdio>
#include <ctime>
#include <iostream>
#include <ostream>
#include <utility>

#include "lab/built.hpp"
#include "lab/frame/host.hpp"
#include "lab/frame/human.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/progress.hpp"
#include "lab/frame/report.hpp"
#include "lab/frame/statistics.hpp"
#include "lab/frame/table.hpp"

namespace troupe::lab {

namespace {

struct participant {
  std::string name;
  std::string version;
  std::string settings;
  std::string newer;
  std::vector<std::string> command;  // precedes the workload's name
  const engine* external;            // null: Troupe
};

struct attendance {
  std::vector<participant> present;
  std::vector<std::pair<std::string, std::string>> absent;  // name, reason
};

// Inserts the number of workers into command and settings.
participant ready_to_run(const engine& who, prepared_engine ready, std::uint64_t workers) {
  for (std::string& part : ready.command) part = with_workers(std::move(part), workers);
  return {.name = std::string(who.name),
          .version = std::move(ready.version),
          .settings = with_workers(ready.settings, workers),
          .newer = std::move(ready.newer),
          .command = std::move(ready.command),
          .external = &who};
}

attendance gather(const run_options& options, const engine_folders& folders, std::uint64_t workers,
                  progress& shown) {
  attendance result;
  if (takes_part("troupe", options)) {
    result.present.push_back(
        {.name = "troupe",
         .version = std::string("Troupe ") + built::version + " (" + built::commit() + ")",
         .settings = "references, failures, limits and counters; ask with a time-out",
         .newer = {},
         .command = {},
         .external = nullptr});
  }
  for (const engine& each : other_engines()) {
    const std::string name(each.name);
    if (!takes_part(name, options)) continue;
    shown.begin("build " + name);
    try {
      prepared_engine ready = each.prepare(folders);
      shown.end("build " + name + ": " + ready.version);
      result.present.push_back(ready_to_run(each, std::move(ready), workers));
    } catch (const left_out& reason) {
      shown.end(name + " is left out: " + reason.why);
      result.absent.emplace_back(name, reason.why);
    }
  }
  return result;
}

std::vector<std::string> command_of(const participant& who, const std::string& workload,
                                    const sizes& chosen, const peer_form& form) {
  std::vector<std::string> command = who.command;
  command.push_back(workload);
  for (const auto& [name, value] : chosen) {
    command.push_back("--" + name);
    command.push_back(std::to_string(value));
  }
  if (form.limit != 0) {
    command.push_back("--limit");
    command.push_back(std::to_string(form.limit));
  }
  return command;
}

void add_subjects(std::vector<subject>& to, const catalogue_entry& workload, const sizes& chosen,
                  const attendance& all) {
  const std::string name(workload.name);
  for (const peer_form& form : workload.what.peers) {
    for (const participant& who : all.present) {
      if (who.external != nullptr) {
        if (!who.external->has(name, form.name)) continue;
        to.push_back({name, who.name, form.name, command_of(who, name, chosen, form)});
        continue;
      }
      for (subject& own : subjects_of(workload.name, workload.what, chosen)) {
        if (own.engine != "troupe" || own.variant != form.name) continue;
        own.workload = name;
        to.push_back(std::move(own));
      }
    }
  }
}

// ── Reporting ───────────────────────────────────────────────────────────────────────────────

const series* find(const measurements& found, const std::string& workload,
                   const std::string& engine, const std::string& variant, bool is_peak) {
  for (const series& s : found.all) {
    if (s.workload == workload && s.engine == engine && s.variant == variant &&
        (s.metric == "peak_rss") == is_peak) {
      return &s;  // the first that is not the peak is the workload's own metric
    }
  }
  return nullptr;
}

std::string ratio(const series* troupe, const series& other) {
  if (troupe == nullptr) return "–";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f",
                summarise(troupe->values).median / summarise(other.values).median);
  return text;
}

// Prints one workload: a row for each engine and form.
void print_workload(std::ostream& out, const catalogue_entry& workload, const attendance& all,
                    const measurements& found) {
  const std::string name(workload.name);
  table rows{.head = {name, "", "median", "least", "greatest", "Troupe ÷ it", "peak memory"},
             .rows = {},
             .names = 2};
  std::string unit;
  for (const peer_form& form : workload.what.peers) {
    const series* troupe = find(found, name, "troupe", form.name, false);
    for (const participant& who : all.present) {
      const series* value = find(found, name, who.name, form.name, false);
      const series* peak = find(found, name, who.name, form.name, true);
      if (value == nullptr || peak == nullptr) continue;
      const summary s = summarise(value->values);
      unit = value->unit;
      rows.rows.push_back({who.name, form.name, marked_median(*value), human(s.min, unit),
                           human(s.max, unit), ratio(troupe, *value), marked_median(*peak)});
    }
  }
  rows.head[0] += ", " + unit;
  out << '\n';
  print_text(out, rows);
}

std::string spread(const series& s) {
  const summary values = summarise(s.values);
  if (s.values.size() == 1) return human(values.median, s.unit);
  return marked_median(s) + " (" + human(values.min, s.unit) + " … " + human(values.max, s.unit) +
         ")";
}

// Prints several workloads: one column for each form of each.
void print_all(std::ostream& out, const std::vector<std::string>& workloads, const attendance& all,
               const measurements& found, bool is_peak) {
  table rows{.head = {""}, .rows = {}};
  for (const participant& who : all.present) rows.rows.push_back({who.name});
  for (const std::string& name : workloads) {
    for (const peer_form& form : find_experiment(name)->what.peers) {
      rows.head.push_back(join({name, form.name}));
      for (std::size_t i = 0; i < all.present.size(); ++i) {
        const series* s = find(found, name, all.present[i].name, form.name, is_peak);
        rows.rows[i].push_back(s == nullptr ? "–" : is_peak ? marked_median(*s) : spread(*s));
      }
    }
  }
  out << '\n';
  print_markdown(out, rows);
}

void print_notes(std::ostream& out, const attendance& all, const measurements& found) {
  out << '\n';
  for (const participant& who : all.present) {
    out << who.name << ": " << who.version;
    if (!who.newer.empty()) out << " (current version: " << who.newer << ')';
    out << "; " << who.settings << '\n';
  }
  for (const auto& [name, why] : all.absent) out << name << " is left out: " << why << '\n';
  for (const std::string& failure : found.failures) out << "failed: " << failure << '\n';
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", ::gmtime_r(&now, &utc));
  return text;
}

nlohmann::ordered_json json_of_peers(const host& where, const nlohmann::ordered_json& with,
                                     const attendance& all, const measurements& found) {
  nlohmann::ordered_json result = json_of(std::string(peers_name), where, with, found);
  result["date"] = today();
  result["engines"] = nlohmann::ordered_json::array();
  for (const participant& who : all.present) {
    nlohmann::ordered_json one = {
        {"engine", who.name}, {"version", who.version}, {"settings", who.settings}};
    if (!who.newer.empty()) one["newer"] = who.newer;
    result["engines"].push_back(std::move(one));
  }
  result["left_out"] = nlohmann::ordered_json::array();
  for (const auto& [name, why] : all.absent) {
    result["left_out"].push_back({{"engine", name}, {"why", why}});
  }
  return result;
}

}  // namespace

std::vector<std::string> peer_workloads() {
  std::vector<std::string> names;
  for (const catalogue_entry& each : catalogue()) {
    if (!each.what.peers.empty()) names.emplace_back(each.name);
  }
  return names;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names{"troupe"};
  for (const engine& each : other_engines()) names.emplace_back(each.name);
  return names;
}

int run_peers(const std::vector<std::string>& workloads, const sizes& given,
              const run_options& options, const engine_folders& folders) {
  json_target json(options.json);
  progress shown;
  // All workloads have this size, with the same default.
  const sizes first = choose_sizes(find_experiment(workloads.front())->what, options.smoke, given);
  const attendance all = gather(options, folders, first["workers"], shown);
  const host where = look_at_host();
  std::vector<subject> subjects;
  nlohmann::ordered_json with;
  std::vector<std::string> lines;
  for (const std::string& name : workloads) {
    const catalogue_entry& workload = *find_experiment(name);
    const sizes chosen = choose_sizes(workload.what, options.smoke, given);
    add_subjects(subjects, workload, chosen, all);
    with[name] = json_of(chosen);
    lines.push_back(name + ": " + text_of(chosen));
  }
  with["repeat"] = options.repeat;
  const measurements found = measure(subjects, options.repeat, options.limit, shown);
  shown.clear();

  std::ostream& out = json.text();
  print_host(out, where);
  out << "engines interleaved, median of " << options.repeat << '\n';
  for (const std::string& line : lines) out << line << '\n';
  if (workloads.size() == 1) {
    print_workload(out, *find_experiment(workloads[0]), all, found);
  } else {
    print_all(out, workloads, all, found, false);
    out << "\nPeak resident memory:\n";
    print_all(out, workloads, all, found, true);
  }
  print_legend(out, found);
  print_notes(out, all, found);
  if (json.wanted()) json.write(json_of_peers(where, with, all, found));
  return found.failures.empty() && !found.all.empty() ? 0 : 1;
}

}  // namespace troupe::lab
