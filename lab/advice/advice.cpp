// SPDX-License-Identifier: Apache-2.0
#include "lab/advice/advice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lab/advice/machine.hpp"
#include "lab/frame/catalogue.hpp"
#include "lab/frame/host.hpp"
#include "lab/frame/human.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/progress.hpp"
#include "lab/frame/report.hpp"
#include "lab/frame/run.hpp"
#include "lab/frame/statistics.hpp"
#include "lab/frame/table.hpp"

namespace troupe::lab {

namespace {

constexpr double least_gain = 1.03;
constexpr std::string_view usual_values = "default";

// The values of a setting that are tried, and the kinds of work that the setting affects.
struct trying {
  std::string name;
  std::vector<std::uint64_t> values;
  std::vector<std::string> work;
};

std::vector<trying> what_is_tried(unsigned cores, const sizes& usual) {
  std::vector<std::uint64_t> workers{1, cores / 2, cores, 2 * cores};
  std::vector<trying> all{{"workers",
                           std::move(workers),
                           {"pairs", "wall", "many to one", "actors that compute", "now and then"}},
                          {"turn_messages", {32, 512, 2'048}, {"pairs", "wall", "many to one"}},
                          {"spin_rounds", {1, 16, 256, 1'024}, {"wall", "now and then"}},
                          {"max_messages", {1'024, 8'192, 131'071}, {"many to one"}}};
  for (trying& each : all) {
    std::sort(each.values.begin(), each.values.end());
    each.values.erase(std::unique(each.values.begin(), each.values.end()), each.values.end());
    std::erase(each.values, 0U);  // half of one core
    std::erase(each.values, usual[each.name]);
  }
  return all;
}

sizes with(const sizes& usual, std::string_view name, std::uint64_t value) {
  sizes changed;
  for (const auto& [each, size] : usual) changed.set(each, each == name ? value : size);
  return changed;
}

std::string label_of(const std::string& setting, std::uint64_t value) {
  return setting + " " + std::to_string(value);
}

// Adds the experiment's variants with the given sizes, which the label describes.
void add_subjects(std::vector<subject>& to, const catalogue_entry& which, const sizes& chosen,
                  const std::string& label, const std::vector<std::string>& work) {
  for (subject& each : subjects_of(which.name, which.what, chosen)) {
    if (std::find(work.begin(), work.end(), each.variant) == work.end()) continue;
    each.workload = label;
    to.push_back(std::move(each));
  }
}

const std::vector<double>* values_of(const measurements& found, std::string_view label,
                                     const std::string& work, std::string_view metric) {
  for (const series& each : found.all) {
    if (each.workload == label && each.variant == work && each.metric == metric) {
      return &each.values;
    }
  }
  return nullptr;
}

// Returns the ratios to the default, round by round: the geometric mean over all kinds of work.
std::vector<double> ratios(const measurements& found, const trying& what, std::uint64_t value,
                           std::string_view metric) {
  std::vector<double> result;
  for (const std::string& work : what.work) {
    const auto* usual = values_of(found, usual_values, work, metric);
    const auto* other = values_of(found, label_of(what.name, value), work, metric);
    if (usual == nullptr || other == nullptr || usual->size() != other->size()) {
      throw std::runtime_error("\"" + work + "\" failed with " + what.name + " " +
                               std::to_string(value) + ", so no value can be compared");
    }
    result.resize(usual->size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] += std::log((*other)[i] / std::max((*usual)[i], 1e-9));
    }
  }
  for (double& each : result) each = std::exp(each / static_cast<double>(what.work.size()));
  return result;
}

candidate_value compare(const measurements& found, const trying& what, std::uint64_t value) {
  candidate_value result{.value = value, .gains = ratios(found, what, value, "rate")};
  result.median_gain = summarise(result.gains).median;
  result.median_cpu = summarise(ratios(found, what, value, "cpu_s")).median;
  for (const double gain : result.gains) result.better_in += gain > 1 ? 1 : 0;
  return result;
}

std::string percent(double gain) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * (gain - 1));
  return text;
}

// ── Output ────────────────────────────────────────────────────────────────────────────────────

void print(std::ostream& out, const machine& here) {
  table facts{.head = {"this host", "ns"}, .rows = {}};
  facts.rows.push_back({"a cache line to the other core",
                        here.line_ns ? human(*here.line_ns, "ns") : "– (one core)"});
  facts.rows.push_back({"waking a thread that sleeps", human(here.wake_up_ns, "ns")});
  facts.rows.push_back({"a sleep of 1,000 ns", human(here.short_sleep_ns, "ns")});
  facts.rows.push_back({"a look at the clock", human(here.clock_ns, "ns")});
  out << '\n';
  print_text(out, facts);
}

void print(std::ostream& out, const std::vector<setting_advice>& all) {
  table tried{.head = {"setting", "value", "gain", "least", "greatest", "better in", "CPU"},
              .rows = {},
              .names = 1};
  for (const setting_advice& each : all) {
    tried.rows.push_back({each.name, std::to_string(each.usual), "default", "", "", "", ""});
    for (const candidate_value& one : each.tried) {
      const summary range = summarise(one.gains);
      tried.rows.push_back(
          {each.name, std::to_string(one.value), percent(range.median), percent(range.min),
           percent(range.max),
           std::to_string(one.better_in) + " of " + std::to_string(one.gains.size())});
    }
  }
  out << '\n';
  print_text(out, tried);
  out << "\nrecommended:\n";
  for (const setting_advice& each : all) {
    out << "  " << each.name << " = " << each.recommended << "  " << each.reason << '\n';
  }
}

nlohmann::ordered_json json_of(const host& where, const machine& here, unsigned rounds,
                               const measurements& found, const std::vector<setting_advice>& all) {
  nlohmann::ordered_json result =
      json_of("advise", where, nlohmann::ordered_json{{"repeat", rounds}}, found);
  result["machine"] = {{"cores", here.cores},
                       {"wake_up_ns", here.wake_up_ns},
                       {"short_sleep_ns", here.short_sleep_ns},
                       {"clock_ns", here.clock_ns}};
  if (here.line_ns) result["machine"]["line_ns"] = *here.line_ns;
  result["advice"] = nlohmann::ordered_json::array();
  for (const setting_advice& each : all) {
    nlohmann::ordered_json one{{"setting", each.name},
                               {"default", each.usual},
                               {"recommended", each.recommended},
                               {"reason", each.reason},
                               {"tried", nlohmann::ordered_json::array()}};
    for (const candidate_value& value : each.tried) {
      one["tried"].push_back({{"value", value.value},
                              {"gain", value.median_gain},
                              {"cpu", value.median_cpu},
                              {"better_in", value.better_in},
                              {"rounds", value.gains.size()},
                              {"noise", !is_gain(value)}});
    }
    result["advice"].push_back(std::move(one));
  }
  return result;
}

}  // namespace

bool is_gain(const candidate_value& of) {
  const std::size_t rounds = of.gains.size();
  return rounds >= 5 && of.median_gain >= least_gain && of.better_in + 1 >= rounds;
}

void conclude(setting_advice& of) {
  of.recommended = of.usual;
  const auto best = std::max_element(of.tried.begin(), of.tried.end(),
                                     [](const candidate_value& a, const candidate_value& b) {
                                       return a.median_gain < b.median_gain;
                                     });
  if (best == of.tried.end()) {
    of.reason = "the default: no other value applies on this host";
    return;
  }
  const auto seen = [](const candidate_value& one) {
    return percent(one.median_gain) + " in the median, better in " + std::to_string(one.better_in) +
           " of " + std::to_string(one.gains.size()) + " rounds";
  };
  const candidate_value* chosen = nullptr;
  for (const candidate_value& each : of.tried) {
    if (!is_gain(each) || each.median_gain < 0.9 * best->median_gain) continue;
    if (chosen == nullptr || each.median_cpu < chosen->median_cpu) chosen = &each;
  }
  if (chosen != nullptr) {
    of.recommended = chosen->value;
    of.reason = "against the default " + std::to_string(of.usual) + ": " + seen(*chosen) +
                "; CPU time " + percent(chosen->median_cpu);
  } else if (best->median_gain > 1) {
    of.reason = "the default: the best other value, " + std::to_string(best->value) + ", gains " +
                seen(*best) + ", which is noise";
  } else {
    of.reason = "the default: the best other value, " + std::to_string(best->value) +
                ", loses: " + seen(*best);
  }
}

std::string settings_file(const host& where, const std::vector<setting_advice>& all) {
  std::string text = "# By `troupe lab advise`, commit " + where.commit + ", for " + where.cpu +
                     ", " + std::to_string(where.cores) +
                     " cores. A program takes it with troupe::read_settings().\n";
  for (const setting_advice& each : all) {
    text += "\n# " + each.reason + "\n";
    if (each.recommended == each.usual) text += "# ";
    text += each.name + " = " + std::to_string(each.recommended) + "\n";
  }
  return text;
}

int advise(const advice_options& options) {
  json_target json(options.json);
  // Opened first, so that an error is found before the measurements.
  std::ofstream file;
  const auto written = [&] {
    if (!file.flush()) throw std::runtime_error(options.write + " cannot be written");
  };
  if (!options.write.empty()) {
    file.open(options.write);
    written();
  }
  const catalogue_entry* const which = find_experiment("settings");
  if (which == nullptr) throw std::logic_error("the experiment \"settings\" does not exist");
  const host where = look_at_host();
  const machine here = look_at_machine();
  sizes usual = choose_sizes(which->what, options.smoke, {});
  usual = with(usual, "workers", here.cores);  // the default of a system without settings

  const std::vector<trying> all_tried = what_is_tried(here.cores, usual);
  std::vector<subject> subjects;
  std::vector<std::string> all_work;
  for (const variant& each : which->what.variants) all_work.push_back(each.name);
  add_subjects(subjects, *which, usual, std::string(usual_values), all_work);
  for (const trying& each : all_tried) {
    for (const std::uint64_t value : each.values) {
      add_subjects(subjects, *which, with(usual, each.name, value), label_of(each.name, value),
                   each.work);
    }
  }
  progress shown;
  const measurements found = measure(subjects, options.rounds, options.limit, shown);
  shown.clear();

  std::vector<setting_advice> all;
  for (const trying& each : all_tried) {
    setting_advice one{.name = each.name, .usual = usual[each.name]};
    for (const std::uint64_t value : each.values) {
      one.tried.push_back(compare(found, each, value));
    }
    conclude(one);
    all.push_back(std::move(one));
  }

  std::ostream& out = json.text();
  print_host(out, where);
  print(out, here);
  print(out, all);
  if (json.wanted()) json.write(json_of(where, here, options.rounds, found, all));
  if (!options.write.empty()) {
    file << settings_file(where, all);
    written();
  }
  return 0;
}

}  // namespace troupe::lab
