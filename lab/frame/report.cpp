// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/report.hpp"

#include <algorithm>
#include <iostream>
#include <ostream>
#include <stdexcept>

#include "lab/frame/human.hpp"
#include "lab/frame/statistics.hpp"
#include "lab/frame/table.hpp"

namespace troupe::lab {

namespace {

using lines = std::vector<std::string>;

void add_once(lines& to, const std::string& what) {
  if (std::find(to.begin(), to.end(), what) == to.end()) to.push_back(what);
}

bool is_of_process(const std::string& metric) {
  return std::find(process_metrics.begin(), process_metrics.end(), metric) != process_metrics.end();
}

// The columns of one metric: engine, variant, median, minimum, maximum, the ratio if it is
// requested, then one for each source.
class metric_table {
 public:
  metric_table(const std::string& metric, const std::vector<published>& figures,
               const measurements& found, std::string_view against)
      : metric_(metric), found_(found), against_(against) {
    for (const published& each : figures) {
      if (each.metric != metric) continue;
      add_once(sources_, each.source);
      figures_.push_back(&each);
    }
    result_.names = 2;
    result_.head = {metric, "", "median", "least", "greatest"};
    if (!against_.empty()) result_.head.push_back("÷ " + against_);
    first_source_ = result_.head.size();
    result_.head.insert(result_.head.end(), sources_.begin(), sources_.end());
  }

  void add_measured(const series& s) {
    const summary values = summarise(s.values);
    unit_ = s.unit;
    lines measured{marked_median(s), human(values.min, unit_), human(values.max, unit_)};
    if (!against_.empty()) measured.push_back(ratio(s, values.median));
    add(s.engine, s.variant, measured);
  }

  // Published figures that were not measured come last.
  const table& finish() {
    result_.head[1] = unit_;
    while (!figures_.empty()) {
      const published* first = figures_.front();
      add(first->engine, first->name, lines(first_source_ - 2, "–"));
    }
    return result_;
  }

 private:
  std::string ratio(const series& s, double median) const {
    const double by = s.engine == against_ ? 0 : found_.median_of(against_, s.variant, s.metric);
    return by == 0 ? "" : human(median / by, "1");
  }

  void add(const std::string& engine, const std::string& name, const lines& measured) {
    lines row{engine, name};
    row.insert(row.end(), measured.begin(), measured.end());
    row.resize(row.size() + sources_.size());
    std::erase_if(figures_, [&](const published* each) {
      if (each->engine != engine || each->name != name) return false;
      const auto source = std::find(sources_.begin(), sources_.end(), each->source);
      row[first_source_ + static_cast<std::size_t>(source - sources_.begin())] =
          published_text(*each, unit_);
      return true;
    });
    result_.rows.push_back(row);
  }

  std::string metric_;
  const measurements& found_;
  const std::string against_;
  std::size_t first_source_ = 0;
  std::string unit_;
  lines sources_;
  std::vector<const published*> figures_;  // those without a row so far
  table result_;
};

table process_table(const measurements& found) {
  table result{.head = {"process", ""}, .rows = {}, .names = 2};
  result.head.insert(result.head.end(), process_metrics.begin(), process_metrics.end());
  for (const series& s : found.all) {
    const auto column = std::find(process_metrics.begin(), process_metrics.end(), s.metric);
    if (column == process_metrics.end()) continue;
    if (result.rows.empty() || result.rows.back()[0] != s.engine ||
        result.rows.back()[1] != s.variant) {
      result.rows.push_back({s.engine, s.variant});
      result.rows.back().resize(result.head.size());
    }
    result.rows.back()[2 + static_cast<std::size_t>(column - process_metrics.begin())] =
        marked_median(s);
  }
  return result;
}

}  // namespace

std::string published_text(const published& of, const std::string& unit) {
  const std::string low = human(of.value, unit);
  return of.is_range() ? low + " – " + human(of.high, unit) : low;
}

std::string marked_median(const series& of) {
  return (is_noisy(of.values) ? "~" : "") + human(summarise(of.values).median, of.unit);
}

void print_legend(std::ostream& out, const measurements& found) {
  if (std::none_of(found.all.begin(), found.all.end(),
                   [](const series& s) { return is_noisy(s.values); })) {
    return;
  }
  out << "\n~ varies: the maximum and the minimum differ by more than "
      << human(100 * noisy_spread, "1") << " % of the median\n";
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

std::string text_of(const sizes& chosen) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : chosen) {
    parts.push_back(name + " " + human(static_cast<double>(value), "1"));
  }
  return join(parts);
}

void print_report(std::ostream& out, const measurements& found,
                  const std::vector<published>& figures, std::string_view against) {
  lines metrics;
  for (const series& s : found.all) add_once(metrics, s.metric);
  for (const std::string& metric : metrics) {
    if (is_of_process(metric)) continue;
    metric_table rows(metric, figures, found, against);
    for (const series& s : found.all) {
      if (s.metric == metric) rows.add_measured(s);
    }
    out << '\n';
    print_text(out, rows.finish());
  }
  if (found.all.empty()) return;
  out << '\n';
  print_text(out, process_table(found));
  print_legend(out, found);
}

void print_remarks(std::ostream& out, const measurements& found, const std::string& answer) {
  if (!found.notes.empty()) out << '\n';
  for (const std::string& note : found.notes) out << "note: " << note << '\n';
  if (!answer.empty()) out << '\n' << answer << '\n';
  for (const std::string& failure : found.failures) out << "\nfailed: " << failure << '\n';
}

void print_host(std::ostream& out, const host& where) {
  out << where.cpu << ", " << where.cores << (where.is_virtual ? " virtual" : "") << " cores, "
      << human(where.memory_bytes, "bytes") << "; " << where.os << ", " << where.kernel << "; load "
      << human(where.load, "1") << '\n'
      << where.compiler << ", " << where.flags << "; commit " << where.commit << '\n';
}

nlohmann::ordered_json json_of(const sizes& chosen) {
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
  for (const auto& [size, value] : chosen) result[size] = value;
  return result;
}

nlohmann::ordered_json json_of(const std::string& name, const host& where,
                               const nlohmann::ordered_json& options, const measurements& found,
                               const std::string& answer) {
  nlohmann::ordered_json result;
  result["experiment"] = name;
  result["host"] = {{"cpu", where.cpu},
                    {"cores", where.cores},
                    {"virtual", where.is_virtual},
                    {"memory", where.memory_bytes},
                    {"os", where.os},
                    {"kernel", where.kernel},
                    {"compiler", where.compiler},
                    {"flags", where.flags},
                    {"commit", where.commit},
                    {"load", where.load}};
  result["options"] = options;
  result["results"] = nlohmann::ordered_json::array();
  for (const series& s : found.all) {
    const summary values = summarise(s.values);
    nlohmann::ordered_json one;
    if (!s.workload.empty()) one["workload"] = s.workload;
    one.update({{"engine", s.engine},
                {"variant", s.variant},
                {"metric", s.metric},
                {"unit", s.unit},
                {"median", values.median},
                {"min", values.min},
                {"max", values.max},
                {"runs", s.values.size()},
                {"noisy", is_noisy(s.values)}});
    result["results"].push_back(std::move(one));
  }
  if (!found.notes.empty()) result["notes"] = found.notes;
  if (!answer.empty()) result["answer"] = answer;
  result["failures"] = found.failures;
  return result;
}

json_target::json_target(const std::string& file) : file_(file) {
  if (file_.empty() || file_ == "-") return;
  out_.open(file_);
  if (!out_) throw std::runtime_error(file_ + " cannot be written");
}

std::ostream& json_target::text() const { return file_ == "-" ? std::cerr : std::cout; }

void json_target::write(const nlohmann::ordered_json& what) {
  std::ostream& to = file_ == "-" ? std::cout : out_;
  to << what.dump(2) << '\n';
  if (!to.flush()) throw std::runtime_error(file_ + " cannot be written");
}

}  // namespace troupe::lab
