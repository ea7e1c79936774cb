// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sites.hpp"
#include "trace.hpp"

namespace troupe::model {
namespace {

std::string name_of_this_test() {
  const testing::TestInfo* const info = testing::UnitTest::GetInstance()->current_test_info();
  return info == nullptr ? "?" : std::string(info->test_suite_name()) + "." + info->name();
}

struct row {
  std::string name;
  std::string result;
  outcome found;
};

// Prints the checks once all tests have run.
class table final : public testing::EmptyTestEventListener {
 public:
  static table& of_this_program() {
    static table* const only = [] {
      auto* const made = new table;
      testing::UnitTest::GetInstance()->listeners().Append(made);
      return made;
    }();
    return *only;
  }

  void add(row fresh) { rows_.push_back(std::move(fresh)); }

 private:
  void OnTestProgramEnd(const testing::UnitTest&) override {
    std::printf("\n%-72s %-22s %11s %9s %8s\n", "what was checked", "result", "executions",
                "states", "seconds");
    std::uint64_t executions = 0;
    double seconds = 0;
    for (const row& each : rows_) {
      std::printf("%-72s %-22s %11llu %9llu %8.2f\n", each.name.c_str(), each.result.c_str(),
                  static_cast<unsigned long long>(each.found.executions),
                  static_cast<unsigned long long>(each.found.states), each.found.seconds);
      executions += each.found.executions;
      seconds += each.found.seconds;
    }
    std::printf("%-72s %-22s %11llu %9s %8.2f\n", "", "",
                static_cast<unsigned long long>(executions), "", seconds);
  }

  std::vector<row> rows_;
};

// TROUPE_MODEL_RUN: a long run searches further; a short run, for slow builds, less far.
bool run_is(std::string_view wanted) {
  const char* const run = std::getenv("TROUPE_MODEL_RUN");
  return run != nullptr && run == wanted;
}
bool is_replay() { return std::getenv("TROUPE_MODEL_REPLAY") != nullptr; }

std::string bound(const options& how, const outcome& found) {
  if (how.random > 0) return "seed " + std::to_string(how.seed);
  return std::to_string(found.preemptions) + " preemptions";
}

// Whether what was never seen cannot be seen: not if the search has left something out.
bool must_have_seen_all(const outcome& found) {
  return !found.failed && found.complete && !is_replay() && !run_is("short");
}

// Only what was searched to its end holds.
std::string result_of(const options& how, const outcome& found) {
  if (found.failed) return "FAILS";
  if (is_replay()) return "one execution";
  const std::string within = bound(how, found);
  if (found.never_seen.empty()) return (found.complete ? "holds, " : "CUT OFF, ") + within;
  const std::string missing = std::to_string(found.never_seen.size()) + " not seen";
  if (must_have_seen_all(found)) return "MISSES, " + within + ", " + missing;
  return (found.complete ? "holds, " : "CUT OFF, ") + within + ", " + missing;
}

std::string never_seen(const outcome& found) {
  std::string text = "never seen in " + std::to_string(found.executions) + " executions:";
  for (const std::string& each : found.never_seen) text += "\n  " + each;
  return text;
}

// The beginning and the end of a long text.
std::string shortened(const std::string& text) {
  constexpr std::size_t first_lines = 20;
  constexpr std::size_t last_lines = 200;
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '\n') begins.push_back(i + 1);
  }
  if (begins.size() <= first_lines + last_lines) return text;
  return text.substr(0, begins[first_lines]) + "  ...\n" +
         text.substr(begins[begins.size() - last_lines]);
}

void print_failure(const outcome& found) {
  std::printf("%s\n%s\nTo replay this execution: TROUPE_MODEL_REPLAY='%s' and --gtest_filter=%s\n",
              with_lines(shortened(found.trace)).c_str(), with_lines(found.what).c_str(),
              found.replay.c_str(), name_of_this_test().c_str());
}

}  // namespace

void report(const outcome& found, std::string_view result) {
  table::of_this_program().add({name_of_this_test(), std::string(result), found});
}

void expect_holds(const std::function<void()>& body) { expect_holds({}, body); }

void expect_holds(const options& how, const std::function<void()>& body) {
  options wanted = how;
  if (const char* const seed = std::getenv("TROUPE_MODEL_SEED")) {
    wanted.seed = std::strtoull(seed, nullptr, 10);
  }
  if (run_is("long")) {
    ++wanted.preemptions;
    wanted.random *= 20;
    wanted.executions_max *= 100;
    wanted.time_max *= 20;
  } else if (run_is("short")) {
    wanted.preemptions = std::min(wanted.preemptions, 1u);
    wanted.random = (wanted.random + 29) / 30;
    wanted.time_max *= 10;
  }
  begin_check(name_of_this_test());
  const outcome found = explore(wanted, body);
  if (found.failed) print_failure(found);
  EXPECT_FALSE(found.failed) << with_lines(found.what);
  EXPECT_TRUE(found.failed || found.complete || is_replay())
      << "cut off after " << found.executions << " executions with at most " << found.preemptions
      << " preemptions: make the case smaller, or its limits larger";
  EXPECT_TRUE(found.never_seen.empty() || !must_have_seen_all(found)) << never_seen(found);
  if (std::getenv("TROUPE_MODEL_SEEN") != nullptr && !found.sightings.empty()) {
    std::printf("%s, seen in executions:\n%s", name_of_this_test().c_str(),
                found.sightings.c_str());
  }
  report(found, result_of(wanted, found));
}

void expect_fails(std::string_view what, const options& how, const std::function<void()>& body) {
  const outcome found = explore(how, body);
  if (is_replay()) print_failure(found);
  EXPECT_TRUE(found.failed) << "nothing was found in " << found.executions << " executions";
  if (found.failed) {
    EXPECT_NE(found.what.find(what), std::string::npos)
        << "found a different failure: " << found.what;
    EXPECT_FALSE(found.trace.empty());
    EXPECT_EQ(found.what.find("the body is not deterministic"), std::string::npos) << found.what;
  }
  report(found, found.failed ? "found, " + bound(how, found) : "NOT FOUND");
}

void expect_misses(std::string_view what, const options& how, const std::function<void()>& body) {
  const outcome found = explore(how, body);
  if (is_replay()) return print_failure(found);
  EXPECT_FALSE(found.failed) << with_lines(found.what);
  EXPECT_TRUE(found.complete) << "cut off after " << found.executions << " executions";
  EXPECT_EQ(found.never_seen.size(), 1u) << never_seen(found);
  for (const std::string& each : found.never_seen) {
    EXPECT_NE(each.find(what), std::string::npos) << "misses something else: " << each;
  }
  report(found, found.never_seen.empty() ? "NOT FOUND" : "found, " + bound(how, found));
}

}  // namespace troupe::model
