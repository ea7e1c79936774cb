// SPDX-License-Identifier: Apache-2.0
#include "time_profile.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "short_name.hpp"

namespace troupe::detail {

namespace {

using kind = timeline_slice::kind;

// Rows without a name are printed only if they took longer than this.
constexpr duration short_enough = std::chrono::microseconds(50);

constexpr std::size_t index(kind what) noexcept { return static_cast<std::size_t>(what); }

double milliseconds(duration d) { return std::chrono::duration<double, std::milli>(d).count(); }
double percent(duration part, duration all) {
  return all > duration::zero() ? 100 * (milliseconds(part) / milliseconds(all)) : 0;
}

}  // namespace

time_profile::row& time_profile::row_of(const timeline_label& label) {
  const key its{label.actor, label.message};
  if (const auto at = rows_.find(its); at != rows_.end()) return at->second;
  if (rows_.size() == rows_max) return others_;
  return rows_[its];
}

void time_profile::add(const timeline_slice& slice) {
  const duration time = slice.end - slice.begin - slice.waited;
  all_[index(slice.what)] += time;
  all_[index(kind::parked)] += slice.waited;
  if (slice.what != kind::running && slice.what != kind::replaced) return;
  row& its = row_of(slice.label);
  (slice.what == kind::running ? its.running : its.replaced) += time;
  ++its.slices;
}

std::string time_profile::text(time_point now) const {
  const auto name = [](const key& of, auto&& part) {
    return of.first.empty() ? std::string("(no actor)")
                            : std::string(part(of.first)) + ": " + std::string(part(of.second));
  };
  const auto in_short = [&](const key& of) { return name(of, short_name); };
  const auto in_full = [&](const key& of) {
    return name(of, [](std::string_view n) { return n; });
  };
  std::map<std::string, int> names;
  for (const auto& [its, what] : rows_) ++names[in_short(its)];
  struct line {
    std::string name;
    row what;
  };
  std::vector<line> lines;
  for (const auto& [its, what] : rows_) {
    if (its.first.empty() && what.time() < short_enough) continue;
    const std::string called = in_short(its);
    lines.push_back({names[called] == 1 ? called : in_full(its), what});
  }
  if (others_.slices != 0) lines.push_back({"(others)", others_});
  std::stable_sort(lines.begin(), lines.end(),
                   [](const line& a, const line& b) { return a.what.time() > b.what.time(); });

  std::array<char, 160> text;
  std::string all;
  const auto print = [&](const char* format, auto... values) {
    const int bytes = std::snprintf(text.data(), text.size(), format, values...);
    all.append(text.data(),
               std::min(static_cast<std::size_t>(std::max(bytes, 0)), text.size() - 1));
  };
  const duration running = all_[index(kind::running)];
  print("%12s %7s %12s %9s  %s\n", "running, ms", "%", "replaced, ms", "slices", "actor: message");
  for (const line& each : lines) {
    print("%12.1f %7.1f %12.1f %9llu  ", milliseconds(each.what.running),
          percent(each.what.running, running), milliseconds(each.what.replaced),
          static_cast<unsigned long long>(each.what.slices));
    all += each.name + '\n';
  }
  duration threads{};
  for (const duration each : all_) threads += each;
  print("\nthreads, in %.1f ms, %% of their time:", milliseconds(now - zero_));
  const std::array<std::pair<kind, const char*>, 6> kinds{{{kind::running, "running"},
                                                           {kind::searching, "searching"},
                                                           {kind::parked, "parked"},
                                                           {kind::replaced, "replaced"},
                                                           {kind::resting, "resting"},
                                                           {kind::away, "away"}}};
  const char* between = " ";
  for (const auto& [what, called] : kinds) {
    if (all_[index(what)] < short_enough) continue;
    print("%s%s %.1f", between, called, percent(all_[index(what)], threads));
    between = ", ";
  }
  return all + '\n';
}

}  // namespace troupe::detail
