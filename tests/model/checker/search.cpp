// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <sstream>
#include <vector>

#include "check.hpp"
#include "execution.hpp"
#include "sightings.hpp"
#include "trace.hpp"

namespace troupe::model {
namespace {

using choices = std::vector<std::uint32_t>;

// "0*12 1 0*3": the sequence of choices.
std::string to_string(const choices& made) {
  std::string text;
  std::size_t last = made.size();
  while (last > 0 && made[last - 1] == 0) --last;  // missing choices are 0
  for (std::size_t i = 0; i < last;) {
    std::size_t same = i;
    while (same < last && made[same] == made[i]) ++same;
    if (!text.empty()) text += ' ';
    text += std::to_string(made[i]);
    if (same - i > 1) text += '*' + std::to_string(same - i);
    i = same;
  }
  return text.empty() ? "0" : text;
}

choices parse(const std::string& text) {
  choices made;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t star = word.find('*');
    const auto value = static_cast<std::uint32_t>(std::stoul(word));
    made.insert(made.end(), star == std::string::npos ? 1 : std::stoul(word.substr(star + 1)),
                value);
  }
  return made;
}

/// Repeats recorded choices.
class replaying final : public chooser {
 public:
  explicit replaying(choices made) : made_(std::move(made)) {}

  std::uint32_t pick(std::uint32_t count) override { return next(count); }
  std::uint32_t pick_thread(std::span<const thread_index> candidates, bool) override {
    return next(static_cast<std::uint32_t>(candidates.size()));
  }

 private:
  std::uint32_t next(std::uint32_t count) {
    const std::uint32_t chosen = at_ < made_.size() ? made_[at_] : 0;
    ++at_;
    return std::min(chosen, count - 1);
  }
  const choices made_;
  std::size_t at_ = 0;
};

/// Depth first through all choices, with a limited number of preemptions. Two executions that lead
/// to the same state — the same operations with the same results in every thread, and the same
/// modification orders — continue alike, so the second is not followed further. (CHESS does the
/// same with «happens-before caching»: Musuvathi and Qadeer, 2007.)
class exhaustive final : public chooser {
 public:
  explicit exhaustive(std::uint32_t preemptions) : preemptions_(preemptions) {}

  void rewind() {
    depth_ = 0;
    used_ = 0;
    branching_ = true;
  }

  /// Selects the next execution; returns false if none is left.
  bool advance() {
    path_.resize(std::min(path_.size(), depth_));
    while (!path_.empty() && path_.back().chosen + 1 >= path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().chosen;
    return true;
  }

  std::uint32_t pick(std::uint32_t count) override { return next(count); }

  std::uint32_t pick_thread(std::span<const thread_index> candidates, bool preempts) override {
    const auto count = static_cast<std::uint32_t>(candidates.size());
    const bool is_bounded = preempts && used_ >= preemptions_;
    if (is_bounded && branching_) was_bounded_ = true;
    const std::uint32_t chosen = next(is_bounded ? 1 : count);
    if (preempts && chosen != 0) ++used_;
    return chosen;
  }

  void arrive(std::uint64_t state) override {
    if (!branching_ || depth_ < path_.size()) return;
    const auto left = static_cast<std::uint8_t>(preemptions_ - used_ + 1);
    std::uint8_t& seen = seen_[state];
    if (seen >= left) {
      branching_ = false;
    } else {
      seen = left;
    }
  }

  [[nodiscard]] choices made() const {
    choices all;
    for (std::size_t i = 0; i < depth_; ++i) all.push_back(path_[i].chosen);
    return all;
  }
  /// Whether executions with more preemptions exist.
  [[nodiscard]] bool was_bounded() const { return was_bounded_; }
  [[nodiscard]] std::uint64_t states() const { return seen_.size(); }

 private:
  struct branch {
    std::uint32_t chosen;
    std::uint32_t count;
  };

  std::uint32_t next(std::uint32_t count) {
    if (depth_ == path_.size()) path_.push_back({0, branching_ ? count : 1});
    return path_[depth_++].chosen;
  }

  const std::uint32_t preemptions_;
  std::uint32_t used_ = 0;
  bool branching_ = true;
  bool was_bounded_ = false;
  std::vector<branch> path_;
  std::size_t depth_ = 0;
  boost::unordered_flat_map<std::uint64_t, std::uint8_t> seen_;
};

/// The PCT algorithm: each thread has a priority, and the thread with the highest runs. At a few
/// steps chosen beforehand, the running thread gets the lowest priority. A load mostly reads the
/// newest store.
class random_priorities final : public chooser {
 public:
  random_priorities(std::uint64_t seed, std::uint32_t changes, std::uint32_t length)
      : random_(seed) {
    for (std::uint32_t i = 0; i < changes; ++i) {
      changes_.push_back(static_cast<std::uint32_t>(random_() % std::max(length, 1u)));
    }
  }

  std::uint32_t pick(std::uint32_t count) override {
    return keep(random_() % 3 != 0 ? 0 : static_cast<std::uint32_t>(random_() % count));
  }

  std::uint32_t pick_thread(std::span<const thread_index> candidates, bool preempts) override {
    ++step_;
    if (preempts && std::find(changes_.begin(), changes_.end(), step_) != changes_.end()) {
      priorities_[candidates[0]] = --lowest_;
    }
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < candidates.size(); ++i) {
      if (priorities_[candidates[i]] > priorities_[candidates[best]]) best = i;
    }
    return keep(best);
  }

  void thread_begins(thread_index t) override {
    priorities_[t] = static_cast<std::int64_t>(random_() % 1'000'000);
  }
  void thread_yields(thread_index t) override { priorities_[t] = --lowest_; }

  [[nodiscard]] const choices& made() const { return made_; }
  [[nodiscard]] std::uint32_t length() const { return step_; }

 private:
  std::uint32_t keep(std::uint32_t chosen) {
    made_.push_back(chosen);
    return chosen;
  }

  std::mt19937_64 random_;
  std::vector<std::uint32_t> changes_;
  std::array<std::int64_t, threads_max> priorities_{};
  std::int64_t lowest_ = 0;
  std::uint32_t step_ = 0;
  choices made_;
};

// The processor time of this process: the extent of a search must not depend on the host's other
// work.
struct clock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept {
    const std::clock_t used = std::clock();
    return time_point(duration(used / (CLOCKS_PER_SEC / 1'000'000)));
  }
};

void keep_failure(outcome& result, const failure& what, const choices& made, const limits& within,
                  const std::function<void()>& body) {
  result.failed = true;
  result.what = what.what;
  result.replay = to_string(made);
  replaying again(made);
  const auto repeated = execution(again, within, true).run(body);
  // Names may differ; those of the repetition are better.
  const auto kind = [](const std::string& text) { return text.substr(0, text.find(':')); };
  if (repeated && kind(repeated->what) == kind(what.what)) {
    result.what = repeated->what;
    result.trace = repeated->trace;
    return;
  }
  result.trace = repeated ? repeated->trace : std::string();
  result.what += "\n(The trace is from a repetition that " +
                 (repeated ? "failed differently: " + repeated->what : std::string("held")) +
                 ": the body is not deterministic.)";
}

bool is_over(const options& how, const outcome& so_far, clock::time_point began) {
  return so_far.executions >= how.executions_max ||
         (so_far.executions % 256 == 0 && clock::now() - began > how.time_max);
}

void explore_all(const options& how, const limits& within, const std::function<void()>& body,
                 clock::time_point began, outcome& result) {
  for (std::uint32_t bound = 0; bound <= how.preemptions; ++bound) {
    exhaustive search(bound);
    do {
      if (is_over(how, result, began)) return;
      search.rewind();
      ++result.executions;
      sightings::active->next_execution();
      result.preemptions = bound;
      const auto failed = execution(search, within, false).run(body);
      result.states = search.states();
      if (failed) return keep_failure(result, *failed, search.made(), within, body);
    } while (search.advance());
    if (!search.was_bounded()) break;
  }
  result.complete = true;
}

void explore_some(const options& how, const limits& within, const std::function<void()>& body,
                  clock::time_point began, outcome& result) {
  std::uint32_t length = 0;
  for (std::uint64_t i = 0; i < how.random; ++i) {
    if (is_over(how, result, began)) return;
    random_priorities search(mix(how.seed, i), how.priority_changes, length);
    ++result.executions;
    sightings::active->next_execution();
    const auto failed = execution(search, within, false).run(body);
    length = std::max(length, search.length());
    if (failed) return keep_failure(result, *failed, search.made(), within, body);
  }
  result.complete = true;
}

// While it lives, memory that is allocated is the checker's, not the body's.
struct checker_scope {
  checker_scope() noexcept { ++execution::inside; }
  checker_scope(const checker_scope&) = delete;
  checker_scope& operator=(const checker_scope&) = delete;
  ~checker_scope() { --execution::inside; }
};

}  // namespace

void require(bool holds, std::string_view promise, std::source_location where) {
  if (!holds) detail::fail("broken promise: " + std::string(promise), where);
}

void seen(std::string_view label) {
  if (sightings::active == nullptr) return;
  const checker_scope scope;
  sightings::active->note(label);
}

bool varies(bool result, std::string_view question, std::source_location where) {
  if (sightings::active == nullptr) return result;
  const checker_scope scope;
  sightings::active->note(question, result, where);
  return result;
}

outcome explore(const options& how, const std::function<void()>& body) {
  const limits within{how.steps_max, how.spurious, how.timeouts};
  const auto began = clock::now();
  outcome result;
  sightings all_seen(how.sees);
  sightings::active = &all_seen;
  if (const char* const again = std::getenv("TROUPE_MODEL_REPLAY")) {
    replaying as_before(parse(again));
    result.executions = 1;
    const auto failed = execution(as_before, within, true).run(body);
    result.failed = failed.has_value();
    if (failed) {
      result.what = failed->what;
      result.trace = failed->trace;
      result.replay = again;
    }
  } else if (how.random > 0) {
    explore_some(how, within, body, began, result);
  } else {
    explore_all(how, within, body, began, result);
  }
  sightings::active = nullptr;
  if (!result.failed) result.never_seen = all_seen.never_seen();
  result.sightings = all_seen.text();
  result.seconds = std::chrono::duration<double>(clock::now() - began).count();
  return result;
}

}  // namespace troupe::model
