// SPDX-License-Identifier: Apache-2.0
// Random programs that use all features of actors; each is generated from a seed. See README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <troupe/sim/explore.hpp>

#include "features.hpp"
#include "program.hpp"

namespace troupe::random_programs {
namespace {

constexpr std::uint64_t seeds_by_default = TROUPE_RANDOM_PROGRAMS;
constexpr std::uint64_t seeds_for_all_pairs = 10'000;
constexpr std::uint64_t seeds_at_once = 10'000;

std::uint64_t from_environment(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(random_programs, keep_the_contract_and_bring_all_features_together) {
  matrix met;
  const std::uint64_t first = from_environment("TROUPE_RANDOM_FIRST", 0);
  const std::uint64_t seeds = from_environment("TROUPE_RANDOM_SEEDS", seeds_by_default);
  const std::chrono::seconds most(from_environment("TROUPE_RANDOM_SECONDS", 1'000'000));
  const bool verbose = from_environment("TROUPE_RANDOM_LOG", 0) != 0;
  const auto begun = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  while (done < seeds && std::chrono::steady_clock::now() - begun < most) {
    const std::uint64_t part = std::min(seeds - done, seeds_at_once);
    const sim::explored all = sim::explore(
        {.first_seed = first + done,
         .seeds = part,
         .processes = static_cast<unsigned>(from_environment("TROUPE_RANDOM_PROCESSES", 0)),
         .longest_run = std::chrono::seconds(20),
         .options = {.trace_lines = 400}},
        [&](sim::simulation& sim) { run_program(sim, met, verbose); });
    ASSERT_TRUE(all) << all.text();
    if (all.runs < part) return;  // a run requested by an environment variable
    done += part;
  }
  std::printf("%s%llu programs, from seed %llu on; the next one is %llu\n", met.text().c_str(),
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + done));
  if (done < seeds_for_all_pairs) return;
  EXPECT_EQ(met.missing(), "") << "These pairs have never been active on one actor.";
}

TEST(random_programs, are_the_same_again_with_the_same_seed) {
  for (const std::uint64_t seed : {3u, 444u, 1'003u}) {
    std::array<std::uint64_t, 2> hashes{};
    for (std::uint64_t& each : hashes) {
      matrix met;
      sim::simulation sim(seed);
      run_program(sim, met);
      each = sim.trace_hash();
    }
    EXPECT_EQ(hashes[0], hashes[1]);
  }
}

}  // namespace
}  // namespace troupe::random_programs
