// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <stdexcept>

#include "lab/frame/experiment.hpp"
#include "lab/mailboxes/arena.hpp"
#include "lab/mailboxes/batched.hpp"
#include "lab/mailboxes/foreign.hpp"
#include "lab/mailboxes/locked.hpp"
#include "lab/mailboxes/marked.hpp"
#include "lab/mailboxes/of_troupe.hpp"
#include "lab/mailboxes/segments.hpp"
#include "lab/mailboxes/traffic.hpp"
#include "lab/mailboxes/two_stacks.hpp"
#include "lab/mailboxes/vyukov.hpp"

namespace troupe::lab::experiments {

namespace {

using number = std::uint64_t;

// The values of each producer add up to a known sum.
template <class Box, std::uint64_t Batch = 1>
void run(trial& t) {
  const std::uint64_t limit = t["limit"];
  const traffic flow{t["producers"], t["values"], Batch, limit == 0 ? no_limit : limit};
  number sum = 0;
  measure_traffic<Box>(
      t, flow, [](std::uint64_t i) { return i; }, [&](number&& each) { sum += each; });
  const std::uint64_t each = flow.messages / flow.producers;
  if (sum != flow.producers * (each * (each - 1) / 2)) {
    throw std::runtime_error("values were lost or arrived twice");
  }
}

}  // namespace

experiment queue() {
  std::vector<variant> variants{
      {"troupe", "mailbox", run<of_troupe<number>>},
      {"prototype", "two stacks", run<two_stacks<number>>},
      {"prototype", "two stacks, by 64", run<two_stacks<number>, 64>},
      {"prototype", "two stacks, gathered", run<batched<number>>},
      {"prototype", "segments", run<segments<number>>},
      {"prototype", "segments, by 64", run<segments<number>, 64>},
      {"prototype", "arena", run<arena<number>>},
      {"prototype", "arena, by 64", run<arena<number>, 64>},
      {"prototype", "marked", run<marked<number>>},
      {"prototype", "vyukov", run<vyukov<number>>},
      {"prototype", "vyukov, by 64", run<vyukov<number>, 64>},
      {"std", "mutex + deque", run<locked_deque<number>>},
      {"std", "mutex + deque, by 64", run<locked_deque<number>, 64>},
      {"std", "mutex + vector", run<locked_vector<number>>},
      {"std", "mutex + vector, by 64", run<locked_vector<number>, 64>},
  };
#ifndef __SANITIZE_THREAD__
#ifdef TROUPE_LAB_MOODYCAMEL
  variants.push_back({"moodycamel", "", run<moodycamel_queue<number, false>>});
  variants.push_back({"moodycamel", "tokens", run<moodycamel_queue<number, true>>});
  variants.push_back({"moodycamel", "by 64", run<moodycamel_queue<number, false, 64>, 64>});
  variants.push_back({"moodycamel", "tokens, by 64", run<moodycamel_queue<number, true, 64>, 64>});
#endif
#ifdef TROUPE_LAB_BOOST_LOCKFREE
  variants.push_back({"boost", "lockfree::queue", run<boost_lockfree<number>>});
#endif
#endif
  return {
      .asks = "How many values per second pass through a queue with one reader?",
      .options = {{"values", "64-bit values in total", 10'000'000, 30'000},
                  {"producers", "threads that push; one more reads", 3, 3, 1, 1'024},
                  {"limit", "the most values in the queue, where it has a limit; 0: none", 16'384,
                   1'024, 0, 1'000'000}},
      .variants = std::move(variants),
      .means =
          "The cheapest queue is the one that moves many values at a time. Limits keep memory in "
          "the cache; without them, memory grows when values are pushed faster than they are read.",
  };
}

}  // namespace troupe::lab::experiments
