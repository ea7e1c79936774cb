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

}  // namespace

bool script_metrics::is_name(std::string_view name) noexcept {
  for (const std::string_view end : {"_total", "_bucket", "_count", "_sum"}) {
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
                                                 std::size_t most) {
  using outcome = declared::outcome;
  const std::lock_guard lock(mutex_);
  const auto known = names_.find(name);
  if (known != names_.end()) {
    family& its = families_[known->second];
    if (its.type != type) return {outcome::another_type, 0, its.type};
    if (its.buckets != buckets) return {outcome::other_buckets, 0, type};
    if (its.of.contains(application)) return {outcome::done, known->second, type};
  }
  usage& uses = usage_[std::string(application)];
  if (uses.used >= most) {
    ++uses.dropped;
    return {outcome::too_many, 0, type};
  }
  id which = known != names_.end() ? known->second : families_.size();
  if (known == names_.end()) {
    families_.push_back({.name = prefix + std::string(name),
                         .help = std::string(help),
                         .type = type,
                         .buckets = std::move(buckets),
                         .of = {}});
    if (type == http::figure_type::counter) families_.back().name += "_total";
    try {
      names_.emplace(name, which);
    } catch (...) {
      families_.pop_back();
      throw;
    }
  }
  families_[which].of.try_emplace(std::string(application));
  ++uses.used;
  return {outcome::done, which, type};
}

script_metrics::series* script_metrics::at(id of, std::string_view application, const labels& which,
                                           std::size_t most) {
  family& its = families_[of];
  auto& all = its.of.find(application)->second;
  if (const auto found = all.find(which); found != all.end()) return &found->second;
  usage& uses = usage_.find(application)->second;
  const std::size_t cost =
      its.type == http::figure_type::histogram ? its.buckets.size() + 2 : std::size_t{1};
  if (cost > most || uses.used > most - cost) {
    ++uses.dropped;
    return nullptr;
  }
  series fresh;
  fresh.buckets.resize(its.buckets.size());
  series& made = all.emplace(which, std::move(fresh)).first->second;
  uses.used += cost;
  return &made;
}

bool script_metrics::add(id of, std::string_view application, const labels& which, double amount,
                         std::size_t most) {
  const std::lock_guard lock(mutex_);
  series* const its = at(of, application, which, most);
  if (its != nullptr) its->value += amount;
  return its != nullptr;
}

bool script_metrics::set(id of, std::string_view application, const labels& which, double value,
                         std::size_t most) {
  const std::lock_guard lock(mutex_);
  series* const its = at(of, application, which, most);
  if (its != nullptr) its->value = value;
  return its != nullptr;
}

bool script_metrics::observe(id of, std::string_view application, const labels& which, double value,
                             std::size_t most) {
  const std::lock_guard lock(mutex_);
  series* const its = at(of, application, which, most);
  if (its == nullptr) return false;
  its->value += value;
  ++its->count;
  const std::vector<double>& bounds = families_[of].buckets;
  const auto first = std::lower_bound(bounds.begin(), bounds.end(), value);
  if (first != bounds.end()) ++its->buckets[static_cast<std::size_t>(first - bounds.begin())];
  return true;
}

std::vector<http::figure_family> script_metrics::figures() const {
  std::vector<http::figure_family> all;
  const std::lock_guard lock(mutex_);
  for (const family& each : families_) {
    http::figure_family shown{
        .name = each.name, .help = each.help, .type = each.type, .figures = {}};
    for (const auto& [application, figures] : each.of) {
      for (const auto& [which, its] : figures) {
        http::figure f{.labels = {{"application", application}},
                       .value = its.value,
                       .buckets = {},
                       .count = its.count};
        f.labels.insert(f.labels.end(), which.begin(), which.end());
        std::uint64_t at_most = 0;
        for (std::size_t i = 0; i < its.buckets.size(); ++i) {
          at_most += its.buckets[i];
          f.buckets.push_back({each.buckets[i], at_most});
        }
        shown.figures.push_back(std::move(f));
      }
    }
    if (!shown.figures.empty()) all.push_back(std::move(shown));
  }
  http::figure_family dropped{.name = "troupe_application_metrics_dropped_total",
                              .help = "Time series of scripts dropped because of limits.metrics.",
                              .type = http::figure_type::counter,
                              .figures = {}};
  for (const auto& [application, uses] : usage_) {
    dropped.figures.push_back({.labels = {{"application", application}},
                               .value = static_cast<double>(uses.dropped),
                               .buckets = {},
                               .count = 0});
  }
  if (!dropped.figures.empty()) all.push_back(std::move(dropped));
  return all;
}

}  // namespace troupe::lua::detail
