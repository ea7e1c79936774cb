// SPDX-License-Identifier: Apache-2.0
#include "lab/report/timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace troupe::lab {

namespace {

using json = nlohmann::json;

enum class kind { running, replaced, searching, away, waiting };

struct slice {
  double begin;
  double end;
  unsigned lane;
  unsigned name;
  kind what;
};

// Numbers names in the order of their first appearance.
template <class Key>
class numbered {
 public:
  unsigned of(const Key& key) {
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<unsigned>(keys_.size()));
    if (is_new) keys_.push_back(key);
    return at->second;
  }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::map<Key, unsigned> numbers_;
  std::vector<Key> keys_;
};

struct events {
  std::vector<slice> slices;
  numbered<std::string> names;
  numbered<std::pair<std::uint64_t, std::uint64_t>> lanes;  // worker, or 0 and thread
  std::map<std::uint64_t, std::string> threads;

  void add(const json& event);
};

double number(const json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

std::uint64_t id(const json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string text(const json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

kind kind_of(const std::string& category) {
  if (category == "replaced") return kind::replaced;
  if (category == "searching") return kind::searching;
  if (category == "away") return kind::away;
  if (category == "parked" || category == "resting") return kind::waiting;
  return kind::running;
}

void events::add(const json& event) {
  const std::string phase = text(event, "ph");
  const auto arguments = event.find("args");
  const json none = json::object();
  const json& more = arguments != event.end() && arguments->is_object() ? *arguments : none;
  if (phase == "M" && text(event, "name") == "thread_name") {
    threads[id(event, "tid")] = text(more, "name");
  }
  if (phase != "X") return;
  const kind what = kind_of(text(event, "cat"));
  const double begin = number(event, "ts");
  const std::uint64_t worker = id(more, "worker");
  const std::pair lane{worker, worker == 0 ? id(event, "tid") : 0};
  std::string name = text(event, "name");
  const std::string_view replaced = " (replaced)";
  if (what == kind::replaced && std::string_view(name).ends_with(replaced)) {
    name.resize(name.size() - replaced.size());
  }
  // A thread that waits without a worker does not get a lane for that.
  const bool has_lane = what != kind::replaced && (worker != 0 || what != kind::waiting);
  slices.push_back({begin, begin + std::max(0.0, number(event, "dur")),
                    has_lane ? lanes.of(lane) : 0, names.of(name), what});
}

// Processes one event at a time, because a trace may be far larger than the result.
bool parse(std::string_view from, events& to, bool& has_events) {
  const bool is_list = from[from.find_first_not_of(" \t\r\n")] == '[';
  const int depth_of_events = is_list ? 1 : 2;
  const auto each = [&](int depth, json::parse_event_t what, json& parsed) {
    if (what == json::parse_event_t::key && depth == 1 && !is_list) {
      return parsed == "traceEvents";  // the other members are not needed
    }
    if (what != json::parse_event_t::object_end || depth != depth_of_events) return true;
    if (parsed.contains("ph")) has_events = true;
    to.add(parsed);
    return false;
  };
  return !json::parse(from.begin(), from.end(), each, false).is_discarded();
}

// Calls a function for the parts that the time from `begin` to `end` touches, with the share of
// each.
template <class Use>
void spread(double begin, double end, double part, Use&& use) {
  const auto index = [&](double at) {
    return std::min(timeline::parts - 1, static_cast<unsigned>(std::max(0.0, at / part)));
  };
  for (unsigned i = index(begin); i <= index(end); ++i) {
    const double from = std::max(begin, part * i);
    const double to = std::min(end, part * (i + 1));
    if (to > from) use(i, to - from);
  }
}

std::vector<timeline::busy_with> handlers_of(const events& all) {
  std::vector<timeline::busy_with> result;
  for (const std::string& name : all.names.keys()) result.push_back({.name = name});
  for (const slice& each : all.slices) {
    const double length = each.end - each.begin;
    if (each.what == kind::running) result[each.name].running_us += length;
    if (each.what == kind::replaced) result[each.name].replaced_us += length;
  }
  std::erase_if(result, [](const auto& one) { return one.running_us + one.replaced_us <= 0; });
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
    return a.running_us + a.replaced_us > b.running_us + b.replaced_us;
  });
  return result;
}

class drawing {
 public:
  explicit drawing(const events& all) : all_(all) {
    result_.slices = all.slices.size();
    begin_ = all.slices.front().begin;
    double end = begin_;
    for (const slice& each : all.slices) {
      begin_ = std::min(begin_, each.begin);
      end = std::max(end, each.end);
    }
    result_.length_us = std::max(end - begin_, 1e-3);
    result_.handlers = handlers_of(all);
    choose_names();
    add_up();
  }

  timeline take() {
    const auto& keys = all_.lanes.keys();
    std::vector<unsigned> order;
    for (unsigned i = 0; i < keys.size(); ++i) {
      if (is_used_[i]) order.push_back(i);
    }
    // Workers by number, then threads.
    std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      return std::pair{keys[a].first == 0, keys[a]} < std::pair{keys[b].first == 0, keys[b]};
    });
    for (const unsigned i : order) {
      if (result_.lanes.size() == timeline::lanes_max) {
        ++result_.lanes_left_out;
      } else {
        result_.lanes.push_back({name_of(keys[i]), stretches_of(i), busy_us_[i]});
      }
    }
    return std::move(result_);
  }

 private:
  void choose_names() {
    for (const auto& each : result_.handlers) {
      if (result_.names.size() < timeline::names_max) result_.names.push_back(each.name);
    }
    others_ = static_cast<unsigned>(result_.names.size());
    result_.names.insert(result_.names.end(), {"others", "looks for work", "beside the handlers"});
    const auto& all = all_.names.keys();
    for (const std::string& name : all) {
      const auto found = std::find(result_.names.begin(), result_.names.begin() + others_, name);
      chosen_.push_back(static_cast<unsigned>(found - result_.names.begin()));
    }
  }

  void add_up() {
    const double part = result_.length_us / timeline::parts;
    result_.replaced.resize(timeline::parts);
    us_.resize(all_.lanes.keys().size() * result_.names.size() * timeline::parts);
    busy_us_.resize(all_.lanes.keys().size());
    is_used_.resize(all_.lanes.keys().size());
    for (const slice& each : all_.slices) {
      spread(each.begin - begin_, each.end - begin_, part, [&](unsigned at, double us) {
        if (each.what == kind::replaced) {
          result_.replaced[at] += us / part;
        } else if (each.what != kind::waiting) {
          us_[index(each.lane, what_of(each), at)] += us;
        }
      });
      if (each.what == kind::replaced) continue;
      is_used_[each.lane] = is_used_[each.lane] || each.what != kind::waiting;
      if (each.what == kind::running) busy_us_[each.lane] += each.end - each.begin;
    }
  }

  unsigned what_of(const slice& each) const {
    if (each.what == kind::searching) return others_ + 1;
    if (each.what == kind::away) return others_ + 2;
    return chosen_[each.name];
  }

  std::size_t index(unsigned lane, unsigned what, unsigned part) const {
    return (lane * result_.names.size() + what) * timeline::parts + part;
  }

  std::string name_of(const std::pair<std::uint64_t, std::uint64_t>& lane) const {
    if (lane.first != 0) return "worker " + std::to_string(lane.first);
    const auto found = all_.threads.find(lane.second);
    return found != all_.threads.end() ? found->second : "thread " + std::to_string(lane.second);
  }

  std::vector<timeline::stretch> stretches_of(unsigned lane) const {
    const double part = result_.length_us / timeline::parts;
    std::vector<timeline::stretch> result;
    for (unsigned what = 0; what < result_.names.size(); ++what) {
      for (unsigned at = 0; at < timeline::parts; ++at) {
        const double share = std::min(1.0, us_[index(lane, what, at)] / part);
        const auto percent = static_cast<unsigned>(std::lround(100 * share));
        if (percent == 0) continue;
        if (!result.empty() && result.back().what == what && result.back().last + 1 == at &&
            result.back().percent == percent) {
          result.back().last = at;
        } else {
          result.push_back({at, at, what, percent});
        }
      }
    }
    return result;
  }

  const events& all_;
  double begin_ = 0;
  unsigned others_ = 0;
  std::vector<unsigned> chosen_;  // for each name of a slice, its index in the result
  std::vector<double> us_;
  std::vector<double> busy_us_;
  std::vector<bool> is_used_;
  timeline result_;
};

}  // namespace

timeline read_timeline(const std::string& text) {
  events all;
  bool has_events = false;
  bool ends_early = false;
  if (!parse(text, all, has_events)) {
    // A program that died has left complete lines, but no end.
    const std::size_t last = text.rfind("},\n");
    all = events();
    if (last == std::string::npos || !parse(text.substr(0, last) + "}]", all, has_events)) {
      throw std::runtime_error("this is not JSON");
    }
    ends_early = true;
  }
  if (!has_events)
    throw std::runtime_error("this is a list, but its elements are not trace events");
  if (all.slices.empty()) throw std::runtime_error("the trace has no slices");
  timeline result = drawing(all).take();
  result.ends_early = ends_early;
  return result;
}

}  // namespace troupe::lab
