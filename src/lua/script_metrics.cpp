// SPDX-License-Identifier: Apache-2.0

#include "script_metrics.hpp"

#include <algorithm>
#include <mutex>

namespace troupe::lua::detail {
namespace {

constexpr const char* prefix = "troupe_app_";

bool is_word(std::string_view name) noexcept {
  return !name.empty() && name.size() <= script_metrics::name_bytes_max && name.front() >= 'a' &&
         name.front() <= 'z' && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

std::string shown_name(std::string_view name, http::figure_type type) {
  std::string shown = prefix + std::string(name);
  if (type == http::figure_type::counter) shown += "_total";
  if (type == http::figure_type::histogram) shown += "_histogram";
  return shown;
}

// The lines with the help and the type of a metric, each with its name.
std::size_t declaration_bytes(std::string_view shown, std::string_view help) noexcept {
  return 2 * (shown.size() + 16) + help.size();
}

// The most that a line can have: name{application="a",label="value",le="0.5"} 1.5
std::size_t line_bytes(std::string_view shown, std::string_view application,
                       const script_metrics::labels& which, bool is_histogram) noexcept {
  constexpr std::size_t of_number = 32;
  std::size_t all = shown.size() + application.size() + 20 + of_number;
  if (is_histogram) all += 16 + of_number;
  for (const auto& [name, value] : which) {
    const auto escaped = std::count_if(value.begin(), value.end(),
                                       [](char c) { return c == '"' || c == '\\' || c == '\n'; });
    all += name.size() + value.size() + static_cast<std::size_t>(escaped) + 4;
  }
  return all;
}

}  // namespace

bool script_metrics::is_name(std::string_view name) noexcept {
  for (const std::string_view end : {"_total", "_bucket", "_count", "_sum", "_histogram"}) {
    if (name.ends_with(end)) return false;
  }
  return is_word(name);
}

bool script_metrics::is_label(std::string_view name) noexcept {
  return is_word(name) && name != "application" && name != "le";
}

std::vector<double> script_metrics::usual_buckets() {
  return {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
}

script_metrics::declared script_metrics::declare(std::string_view application,
                                                 std::string_view name, http::figure_type type,
                                                 std::string_view help, std::vector<double> buckets,
                                                 const quota& most) {
  using outcome = declared::outcome;
  const std::lock_guard lock(mutex_);
  owner& its = owners_[std::string(application)];
  if (const auto known = its.names.find(name); known != its.names.end()) {
    const family& same = families_[known->second];
    if (same.type != type) return {outcome::another_type, 0, same.type};
    if (same.of.find(application)->second.buckets != buckets) {
      return {outcome::other_buckets, 0, type};
    }
    return {outcome::done, known->second, type};
  }
  std::string shown = shown_name(name, type);
  const std::size_t bytes = declaration_bytes(shown, help);
  if (its.figures >= most.figures || bytes > most.bytes - std::min(most.bytes, its.bytes)) {
    ++its.dropped;
    return {its.figures >= most.figures ? outcome::too_many : outcome::too_large, 0, type};
  }
  const id which = family_named(std::move(shown), type);
  families_[which].of.insert_or_assign(
      std::string(application),
      part{.help = std::string(help), .buckets = std::move(buckets), .all = {}});
  its.names.emplace(name, which);
  ++its.figures;
  its.bytes += bytes;
  return {outcome::done, which, type};
}

script_metrics::id script_metrics::family_named(std::string name, http::figure_type type) {
  const auto [at, is_new] = shown_.try_emplace(name, families_.size());
  if (!is_new) return at->second;
  try {
    families_.push_back({.name = std::move(name), .type = type, .of = {}});
  } catch (...) {
    shown_.erase(at);
    throw;
  }
  return at->second;
}

std::pair<script_metrics::series*, script_metrics::part*> script_metrics::at(
    id of, std::string_view application, const labels& which, const quota& most) {
  family& shown = families_[of];
  part& mine = shown.of.find(application)->second;
  if (const auto found = mine.all.find(which); found != mine.all.end()) {
    return {&found->second, &mine};
  }
  owner& its = owners_.find(application)->second;
  const bool is_histogram = shown.type == http::figure_type::histogram;
  const std::size_t figures = is_histogram ? mine.buckets.size() + 2 : 1;
  // Also the bucket of all, the sum and the count.
  const std::size_t lines = is_histogram ? mine.buckets.size() + 3 : 1;
  const std::size_t bytes = lines * line_bytes(shown.name, application, which, is_histogram);
  if (figures > most.figures - std::min(most.figures, its.figures) ||
      bytes > most.bytes - std::min(most.bytes, its.bytes)) {
    ++its.dropped;
    return {nullptr, &mine};
  }
  series fresh;
  fresh.buckets.resize(mine.buckets.size());
  series& made = mine.all.emplace(which, std::move(fresh)).first->second;
  its.figures += figures;
  its.bytes += bytes;
  return {&made, &mine};
}

bool script_metrics::add(id of, std::string_view application, const labels& which, double amount,
                         const quota& most) {
  const std::lock_guard lock(mutex_);
  series* const its = at(of, application, which, most).first;
  if (its != nullptr) its->value += amount;
  return its != nullptr;
}

bool script_metrics::set(id of, std::string_view application, const labels& which, double value,
                         const quota& most) {
  const std::lock_guard lock(mutex_);
  series* const its = at(of, application, which, most).first;
  if (its != nullptr) its->value = value;
  return its != nullptr;
}

bool script_metrics::observe(id of, std::string_view application, const labels& which, double value,
                             const quota& most) {
  const std::lock_guard lock(mutex_);
  const auto [its, mine] = at(of, application, which, most);
  if (its == nullptr) return false;
  its->value += value;
  ++its->count;
  const std::vector<double>& bounds = mine->buckets;
  const auto first = std::lower_bound(bounds.begin(), bounds.end(), value);
  if (first != bounds.end()) ++its->buckets[static_cast<std::size_t>(first - bounds.begin())];
  return true;
}

std::vector<http::figure_family> script_metrics::figures() const {
  std::vector<http::figure_family> all;
  const std::lock_guard lock(mutex_);
  for (const family& each : families_) {
    http::figure_family shown{.name = each.name, .help = {}, .type = each.type, .figures = {}};
    for (const auto& [application, mine] : each.of) {
      // Prometheus wants one text; that of the first application is as good as another.
      if (shown.help.empty()) shown.help = mine.help;
      for (const auto& [which, its] : mine.all) {
        http::figure f{.labels = {{"application", application}},
                       .value = its.value,
                       .buckets = {},
                       .count = its.count};
        f.labels.insert(f.labels.end(), which.begin(), which.end());
        std::uint64_t at_most = 0;
        for (std::size_t i = 0; i < its.buckets.size(); ++i) {
          at_most += its.buckets[i];
          f.buckets.push_back({mine.buckets[i], at_most});
        }
        shown.figures.push_back(std::move(f));
      }
    }
    if (!shown.figures.empty()) all.push_back(std::move(shown));
  }
  if (owners_.empty()) return all;
  http::figure_family bytes{
      .name = "troupe_application_metrics_bytes",
      .help = "Bytes that the metrics of an application use of limits.metrics_bytes.",
      .type = http::figure_type::gauge,
      .figures = {}};
  http::figure_family dropped{
      .name = "troupe_application_metrics_dropped_total",
      .help = "Time series of scripts dropped because of limits.metrics or limits.metrics_bytes.",
      .type = http::figure_type::counter,
      .figures = {}};
  for (const auto& [application, its] : owners_) {
    const auto with = [&](http::figure_family& to, double value) {
      to.figures.push_back(
          {.labels = {{"application", application}}, .value = value, .buckets = {}, .count = 0});
    };
    with(bytes, static_cast<double>(its.bytes));
    with(dropped, static_cast<double>(its.dropped));
  }
  all.push_back(std::move(bytes));
  all.push_back(std::move(dropped));
  return all;
}

}  // namespace troupe::lua::detail
