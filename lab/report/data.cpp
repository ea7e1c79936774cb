// SPDX-License-Identifier: Apache-2.0
#include "lab/report/data.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>

#include "lab/frame/catalogue.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/traces.hpp"

namespace troupe::lab {

namespace {

using json = nlohmann::ordered_json;

std::string file_name(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

// Returns the element of a list with these fields; adds one, with `more` in it, if it does not
// exist.
json& find_or_add(json& list, const json& fields, const json& more) {
  for (json& each : list) {
    const auto same = [&](const auto& field) { return each[field.key()] == field.value(); };
    const auto all = fields.items();
    if (std::all_of(all.begin(), all.end(), same)) return each;
  }
  json added = fields;
  added.update(more);
  list.push_back(std::move(added));
  return list.back();
}

// "A" to "Z", then "A2".
std::string letter(std::size_t number) {
  std::string label(1, static_cast<char>('A' + number % 26));
  return number < 26 ? label : label + std::to_string(number / 26 + 1);
}

// Two results belong to one host if everything except its load is the same, including the program's
// commit.
std::size_t machine_of(json& machines, json host) {
  host.erase("load");
  for (std::size_t i = 0; i < machines.size(); ++i) {
    if (machines[i]["host"] == host) return i;
  }
  machines.push_back({{"label", letter(machines.size())}, {"host", std::move(host)}});
  return machines.size() - 1;
}

json& experiment_of(json& experiments, const std::string& name) {
  std::string_view asks;
  std::string_view means;
  if (const catalogue_entry* known = find_experiment(name)) {
    asks = known->what.asks;
    means = known->what.means;
  } else if (name == peers_name) {
    asks = peers_asks;
    means = peers_means;
  }
  return find_or_add(experiments, {{"name", name}},
                     {{"asks", asks},
                      {"means", means},
                      {"runs", json::array()},
                      {"workloads", json::object()},
                      {"metrics", json::array()},
                      {"timelines", json::array()}});
}

bool is_of_process(const std::string& metric) {
  return std::find(process_metrics.begin(), process_metrics.end(), metric) != process_metrics.end();
}

json& metric_of(json& experiment, const std::string& workload, const std::string& metric,
                const std::string& unit) {
  return find_or_add(experiment["metrics"],
                     {{"workload", workload}, {"metric", metric}, {"unit", unit}},
                     {{"of_process", is_of_process(metric)}, {"rows", json::array()}});
}

json& row_of(json& metric, const std::string& engine, const std::string& variant) {
  return find_or_add(metric["rows"], {{"engine", engine}, {"variant", variant}},
                     {{"values", json::array()}, {"published", json::array()}});
}

// Adds the sizes that differ from those of the experiment, because published figures do not refer
// to them.
void add_other_sizes(json& to, const json& options, const std::string& experiment) {
  const catalogue_entry* known = find_experiment(experiment);
  if (known == nullptr || !options.is_object()) return;
  for (const size_option& size : known->what.options) {
    const auto chosen = options.find(std::string(size.name));
    if (chosen == options.end() || !chosen->is_number() || *chosen == size.value) continue;
    to.push_back({{"name", size.name}, {"value", *chosen}, {"own", size.value}});
  }
}

json other_sizes(const json& options, const std::string& experiment) {
  json result = json::array();
  add_other_sizes(result, options, experiment);
  if (experiment != peers_name) return result;
  for (const auto& [workload, sizes] : options.items()) add_other_sizes(result, sizes, workload);
  return result;
}

void add_result(json& data, const source& from) {
  const json& result = from.result;
  const std::string name = result["experiment"];
  json& experiment = experiment_of(data["experiments"], name);
  const std::size_t run = experiment["runs"].size();
  const json& host = result["host"];
  const json nothing = json::array();
  const json options = result.value("options", json::object());
  experiment["runs"].push_back({{"machine", machine_of(data["machines"], host)},
                                {"file", file_name(from.file)},
                                {"load", host.contains("load") ? host["load"] : json()},
                                {"options", options},
                                {"other_sizes", other_sizes(options, name)},
                                {"failures", result["failures"]},
                                {"answer", result.value("answer", "")},
                                {"notes", result.value("notes", nothing)},
                                {"engines", result.value("engines", nothing)},
                                {"left_out", result.value("left_out", nothing)}});
  for (const json& one : result["results"]) {
    json& metric = metric_of(experiment, one.value("workload", ""), one["metric"], one["unit"]);
    json& row = row_of(metric, one["engine"], one["variant"]);
    row["values"].push_back({{"run", run},
                             {"median", one["median"]},
                             {"min", one["min"]},
                             {"max", one["max"]},
                             {"runs", one["runs"]}});
  }
}

// Adds published figures beside the measured ones, and in rows of their own. A metric that no file
// contains is not shown, because its unit is unknown.
void add_published(json& experiment, const std::string& workload, const catalogue_entry& from) {
  for (json& metric : experiment["metrics"]) {
    if (metric["workload"] != workload) continue;
    for (const published& each : from.what.figures) {
      if (metric["metric"] != each.metric) continue;
      json figure = {{"source", each.source}, {"value", each.value}};
      if (each.is_range()) figure["high"] = each.high;
      row_of(metric, each.engine, each.name)["published"].push_back(std::move(figure));
    }
  }
}

void add_published(json& experiment) {
  const std::string name = experiment["name"];
  if (const catalogue_entry* known = find_experiment(name)) add_published(experiment, "", *known);
  for (const json& metric : json(experiment["metrics"])) {
    const std::string workload = metric["workload"];
    if (workload.empty() || experiment["workloads"].contains(workload)) continue;
    const catalogue_entry* known = find_experiment(workload);
    experiment["workloads"][workload] = known == nullptr ? "" : known->what.asks;
    if (known != nullptr) add_published(experiment, workload, *known);
  }
}

// A single run needs no label. Several runs get the letter of the host, and the file if the host is
// the same.
void label_runs(json& experiment, const json& machines) {
  json& runs = experiment["runs"];
  for (json& run : runs) {
    const auto same = std::count_if(runs.begin(), runs.end(), [&](const json& other) {
      return other["machine"] == run["machine"];
    });
    const std::string machine = machines[run["machine"].get<std::size_t>()]["label"];
    const std::string file = run["file"];
    run["label"] = runs.size() == 1 ? "" : same == 1 ? machine : machine + " " + file;
  }
}

json json_of(const timeline& trace, const std::string& file) {
  json result = {{"title", ""},
                 {"file", file_name(file)},
                 {"length_us", trace.length_us},
                 {"parts", timeline::parts},
                 {"names", trace.names},
                 {"lanes", json::array()},
                 {"lanes_left_out", trace.lanes_left_out},
                 {"handlers", json::array()},
                 {"ends_early", trace.ends_early},
                 {"slices", trace.slices}};
  for (const timeline::lane& lane : trace.lanes) {
    json all = json::array();
    for (const auto& each : lane.all) {
      all.push_back({each.first, each.last, each.what, each.percent});
    }
    result["lanes"].push_back(
        {{"name", lane.name}, {"busy_us", lane.busy_us}, {"all", std::move(all)}});
  }
  for (const double threads : trace.replaced) {
    result["replaced"].push_back(std::round(threads * 100) / 100);
  }
  for (const auto& each : trace.handlers) {
    if (result["handlers"].size() == 12) break;
    result["handlers"].push_back(
        {{"name", each.name}, {"running_us", each.running_us}, {"replaced_us", each.replaced_us}});
  }
  return result;
}

// --trace names the files after the variants: "run-each-said.json". The longest matching name is
// used.
void add_timeline(json& data, const source& from) {
  json drawn = json_of(*from.trace, from.file);
  const std::string stem = std::filesystem::path(from.file).stem().string();
  json* owner = nullptr;
  std::string title;
  for (json& experiment : data["experiments"]) {
    const catalogue_entry* known = find_experiment(experiment["name"].get<std::string>());
    if (known == nullptr) continue;
    for (const variant& each : known->what.variants) {
      if (!each.has_timeline() || each.name.size() <= title.size()) continue;
      if (!stem.ends_with(traced_name("", each.name))) continue;
      owner = &experiment;
      title = each.name;
    }
  }
  drawn["title"] = title;
  json& list = owner == nullptr ? data["timelines"] : (*owner)["timelines"];
  list.push_back(std::move(drawn));
}

}  // namespace

json page_data(const std::vector<source>& sources) {
  json data = {
      {"machines", json::array()}, {"experiments", json::array()}, {"timelines", json::array()}};
  for (const source& each : sources) {
    if (!each.trace) add_result(data, each);
  }
  for (json& each : data["experiments"]) {
    add_published(each);
    label_runs(each, data["machines"]);
  }
  for (const source& each : sources) {
    if (each.trace) add_timeline(data, each);
  }
  return data;
}

}  // namespace troupe::lab
