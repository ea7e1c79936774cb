// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/bars.hpp"

#include <algorithm>
#include <ostream>

#include "lab/frame/human.hpp"
#include "lab/frame/statistics.hpp"
#include "lab/frame/table.hpp"

namespace troupe::lab {

namespace {

const series* find(const measurements& found, const measured_by& what) {
  const auto same = [&](const series& each) {
    return each.engine == what.engine && each.variant == what.variant && each.metric == what.metric;
  };
  const auto at = std::find_if(found.all.begin(), found.all.end(), same);
  return at == found.all.end() ? nullptr : &*at;
}

judged judge_one(const bar& each, const measurements& found) {
  const series* const value = find(found, each.of);
  judged result{.of = &each, .value = {}, .unit = value == nullptr ? "1" : value->unit};
  if (value == nullptr) return result;
  double median = summarise(value->values).median;
  if (!each.times.engine.empty()) {
    result.unit = "1";
    const series* const other = find(found, each.times);
    const double by = other == nullptr ? 0 : summarise(other->values).median;
    if (by == 0) return result;
    median /= by;
  }
  result.value = median;
  return result;
}

std::string list_of(const std::vector<judged>& all, bool is_measured) {
  std::string text;
  for (const judged& each : all) {
    if (each.is_met() || each.value.has_value() != is_measured) continue;
    text.append(text.empty() ? "" : "; ").append(each.of->what);
  }
  return text;
}

}  // namespace

std::vector<judged> judge(const std::vector<bar>& bars, const measurements& found) {
  std::vector<judged> all;
  for (const bar& each : bars) all.push_back(judge_one(each, found));
  return all;
}

void print_bars(std::ostream& out, const std::vector<judged>& all) {
  if (all.empty()) return;
  table rows{.head = {"bar", "reached", "at most", ""}, .rows = {}, .names = 1};
  for (const judged& each : all) {
    rows.rows.push_back({std::string(each.of->what),
                         each.value ? human(*each.value, each.unit) : "–",
                         human(each.of->most, each.unit),
                         !each.value     ? "not measured"
                         : each.is_met() ? "met"
                                         : "NOT MET"});
  }
  out << '\n';
  print_text(out, rows);
}

nlohmann::ordered_json json_of(const std::vector<judged>& all) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const judged& each : all) {
    nlohmann::ordered_json value;
    if (each.value) value = *each.value;
    list.push_back({{"bar", each.of->what},
                    {"value", value},
                    {"most", each.of->most},
                    {"unit", each.unit},
                    {"met", each.is_met()}});
  }
  return list;
}

std::string sentence_of(const std::vector<judged>& all) {
  if (all.empty()) return {};
  const auto met =
      std::count_if(all.begin(), all.end(), [](const judged& each) { return each.is_met(); });
  std::string text = std::to_string(met);
  text.append(" of ").append(std::to_string(all.size())).append(" bars are met.");
  const std::string missed = list_of(all, true);
  const std::string unknown = list_of(all, false);
  if (!missed.empty()) text.append(" Not met: ").append(missed).append(".");
  if (!unknown.empty()) text.append(" Not measured: ").append(unknown).append(".");
  return text;
}

}  // namespace troupe::lab
