// SPDX-License-Identifier: Apache-2.0
// Random small programs: the checker has to find exactly the results that the axioms of the
// standard permit. TROUPE_MODEL_SEED in the environment selects the first program. Each program's
// own seed is printed with it.
#include "axioms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <checker/check.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program.hpp"
#include "random_program.hpp"

namespace troupe::model::axioms {
namespace {

std::uint64_t first_seed() {
  const char* const wanted = std::getenv("TROUPE_MODEL_SEED");
  return wanted == nullptr ? 1 : std::strtoull(wanted, nullptr, 10);
}

std::uint64_t how_many(std::uint64_t ordinarily) {
  const char* const run = std::getenv("TROUPE_MODEL_RUN");
  if (run == nullptr) return ordinarily;
  return std::string_view(run) == "long"    ? ordinarily * 20
         : std::string_view(run) == "short" ? ordinarily / 30
                                            : ordinarily;
}

// ── Under the checker ─────────────────────────────────────────────────────────────────────────

/// Returns the value that it reads.
int perform(const operation& does, atomic<int>& on) {
  int expected = does.expected;
  switch (does.what) {
    case action::load:
      return on.load(does.order);
    case action::store:
      on.store(does.value, does.order);
      return 0;
    case action::add:
      return on.fetch_add(does.value, does.order);
    case action::exchange:
      return on.exchange(does.value, does.order);
    case action::compare_exchange:
      (void)on.compare_exchange_strong(expected, does.value, does.order, does.failing);
      return expected;
  }
  return 0;
}

/// Adds its executions to `total`.
std::set<values> results_of_checker(const program& of, outcome& total) {
  std::set<values> all;
  const outcome found = explore({.preemptions = 100, .spurious = 0}, [&] {
    std::array<atomic<int>, locations_max> locations{};
    std::array<std::array<int, operations_max>, threads_most> read{};
    const auto run = [&](std::size_t t) {
      for (std::size_t i = 0; i < of.threads[t].size(); ++i) {
        const operation& does = of.threads[t][i];
        read[t][i] = perform(does, locations[does.location]);
      }
    };
    std::array<thread, threads_most> others;
    for (std::size_t t = 1; t < of.threads.size(); ++t) others[t] = thread([&, t] { run(t); });
    run(0);
    for (std::size_t t = 1; t < of.threads.size(); ++t) others[t].join();
    const detail::untracked own;
    values one;
    for (std::size_t t = 0; t < of.threads.size(); ++t) {
      for (std::size_t i = 0; i < of.threads[t].size(); ++i) {
        if (of.threads[t][i].reads()) one.push_back(read[t][i]);
      }
    }
    for (std::size_t l = 0; l < of.locations; ++l) one.push_back(locations[l].load(relaxed));
    all.insert(std::move(one));
  });
  EXPECT_FALSE(found.failed) << found.what << "\n" << found.trace;
  EXPECT_TRUE(found.complete);
  total.executions += found.executions;
  total.states += found.states;
  total.seconds += found.seconds;
  return all;
}

// ── Side by side ──────────────────────────────────────────────────────────────────────────────

std::string describe(const program& of, const std::set<values>& all) {
  std::string text;
  for (const values& each : all) text += "    " + to_string(of, each) + "\n";
  return text.empty() ? "    none\n" : text;
}

std::string describe_difference(const program& of, const std::set<values>& checker,
                                const std::set<values>& standard) {
  std::set<values> missed;
  std::set<values> wrong;
  std::set_difference(standard.begin(), standard.end(), checker.begin(), checker.end(),
                      std::inserter(missed, missed.end()));
  std::set_difference(checker.begin(), checker.end(), standard.begin(), standard.end(),
                      std::inserter(wrong, wrong.end()));
  return to_string(of) + "  the checker finds\n" + describe(of, checker) +
         "  the standard permits\n" + describe(of, standard) + "  permitted, but not found\n" +
         describe(of, missed) + "  found, but not permitted\n" + describe(of, wrong);
}

TEST(axioms, random_programs_have_the_results_that_the_standard_permits) {
  const std::uint64_t first = first_seed();
  const std::uint64_t count = how_many(700);
  std::printf("TROUPE_MODEL_SEED=%llu\n", static_cast<unsigned long long>(first));
  outcome total;
  std::size_t results = 0;
  std::size_t mismatches = 0;
  for (std::uint64_t seed = first; seed < first + count && mismatches < 3; ++seed) {
    const program each = random_program(seed).make();
    const std::set<values> checker = results_of_checker(each, total);
    const std::set<values> standard = enumerator(each).results();
    results += standard.size();
    if (checker == standard) continue;
    ++mismatches;
    ADD_FAILURE() << "TROUPE_MODEL_SEED=" << seed << " begins with this program:\n"
                  << describe_difference(each, checker, standard);
  }
  report(total, std::to_string(results) + " results");
}

// The example of P0668, with the read of the released value in three forms. C++20 permits this
// result on POWER; C++11 and the checker do not.
TEST(axioms, mixed_orders_have_a_result_that_only_cpp20_permits) {
  constexpr std::size_t x = 0;
  constexpr std::size_t y = 1;
  program mixed;
  mixed.locations = 2;
  mixed.threads = {{{.what = action::store, .location = x, .value = 1, .order = seq_cst},
                    {.what = action::store, .location = y, .value = 1, .order = release}},
                   {{.location = y, .value = 1, .expected = 1, .order = seq_cst},
                    {.what = action::load, .location = y, .order = relaxed}},
                   {{.what = action::store, .location = y, .value = 3, .order = seq_cst},
                    {.what = action::load, .location = x, .order = seq_cst}}};
  const values only_cpp20{1, 3, 0, 1, 3};
  outcome total;
  for (const action form : {action::add, action::compare_exchange, action::load}) {
    mixed.threads[1][0].what = form;
    const std::set<values> checker = results_of_checker(mixed, total);
    const std::set<values> standard =
        enumerator(mixed, {.s_after_all_that_happens_before = false}).results();
    EXPECT_EQ(checker, enumerator(mixed).results()) << to_string(mixed);
    EXPECT_TRUE(standard.contains(only_cpp20)) << describe(mixed, standard);
    EXPECT_FALSE(checker.contains(only_cpp20)) << describe(mixed, checker);
  }
  report(total, "the claimed results");
}

// If the programs do not need a rule, they do not test it.
TEST(axioms, every_rule_is_needed) {
  struct rule {
    const char* name;
    bool rules::*is_kept;
  };
  std::vector<rule> left = {
      {"write-write coherence", &rules::write_write_coherence},
      {"read-read coherence", &rules::read_read_coherence},
      {"read-write coherence", &rules::read_write_coherence},
      {"write-read coherence", &rules::write_read_coherence},
      {"atomicity", &rules::atomicity},
      {"synchronization", &rules::synchronization},
      {"release sequences", &rules::release_sequences},
      {"S after happens-before", &rules::s_after_happens_before},
      {"S after coherence", &rules::s_after_coherence},
      {"no load buffering", &rules::no_load_buffering},
  };
  outcome total;
  for (std::uint64_t seed = 1; seed <= 1'000 && !left.empty(); ++seed) {
    const program each = random_program(seed).make();
    const std::set<values> checker = results_of_checker(each, total);
    std::erase_if(left, [&](const rule& one) {
      rules without;
      without.*one.is_kept = false;
      const std::set<values> more = enumerator(each, without).results();
      if (more == checker) return false;
      EXPECT_TRUE(std::includes(more.begin(), more.end(), checker.begin(), checker.end()))
          << one.name;
      return true;
    });
  }
  for (const rule& each : left) ADD_FAILURE() << "no program needs this: " << each.name;
  report(total, "all rules are needed");
}

}  // namespace
}  // namespace troupe::model::axioms
