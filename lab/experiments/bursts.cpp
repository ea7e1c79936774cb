// SPDX-License-Identifier: Apache-2.0
// A thread pushes a burst, then another thread reads all of it, and so on. The two stacks of a
// mailbox are traversed twice, in memory that the other core has written. The elements of the queue
// under a lock are contiguous.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <utility>
#include <vector>

#include "lab/frame/experiment.hpp"
#include "lab/frame/human.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/stopwatch.hpp"
#include "lab/mailboxes/locked.hpp"
#include "lab/mailboxes/of_troupe.hpp"
#include "lab/mailboxes/segments.hpp"
#include "lab/mailboxes/traffic.hpp"
#include "lab/mailboxes/two_stacks.hpp"
#include "lab/mailboxes/vyukov.hpp"

namespace troupe::lab::experiments {

namespace {

using number = std::uint64_t;

constexpr std::array<std::uint64_t, 6> lengths{1, 16, 256, 4'096, 65'536, 262'144};

template <class Box, std::size_t Length>
void run(trial& t) {
  const std::uint64_t length = lengths[Length];
  const std::uint64_t bursts = std::max<std::uint64_t>(t["values"] / length, 1);
  Box box;
  // The numbers of bursts that were pushed and read.
  alignas(cache_line_bytes) atomic<std::uint64_t> written{0};
  alignas(cache_line_bytes) atomic<std::uint64_t> read{0};
  const auto wait_for = [](const atomic<std::uint64_t>& what, std::uint64_t value) {
    patience calm;
    while (what.load(acquire) != value) calm.wait();  // [burst] acquire: the other thread's part
  };

  number sum = 0;
  const stopwatch watch;
  {
    const jthread writer([&] {
      for (std::uint64_t burst = 0; burst < bursts; ++burst) {
        wait_for(read, burst);
        for (std::uint64_t i = 0; i < length; ++i) {
          TROUPE_EXPECTS(is_taken(box.push(number{i})),
                         "bursts: a burst is larger than the capacity of the queue");
        }
        written.store(burst + 1, release);  // [burst] release: the burst has been pushed
      }
    });
    for (std::uint64_t burst = 0; burst < bursts; ++burst) {
      wait_for(written, burst + 1);
      for (std::uint64_t taken = 0; taken < length;) {
        taken += box.drain([&](number&& each) { sum += each; });
      }
      read.store(burst + 1, release);  // [burst] release: the burst has been read
    }
  }
  t.report("each", "ns", 1e9 * watch.wall_s() / static_cast<double>(bursts * length));
  if (sum != bursts * (length * (length - 1) / 2)) {
    throw std::runtime_error("values were lost or arrived twice");
  }
}

std::string burst_of(std::size_t which) {
  return "bursts of " + human(static_cast<double>(lengths[which]), "1");
}

template <class Box>
void add(std::vector<variant>& to, const char* engine, const std::string& name) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (to.push_back({engine, name + ", " + burst_of(I), run<Box, I>}), ...);
  }(std::make_index_sequence<lengths.size()>{});
}

std::string answer(const measurements& found) {
  const auto each = [&](const char* engine, const char* box, std::size_t length) {
    return found.median_of(engine, std::string(box) + ", " + burst_of(length), "each");
  };
  if (each("troupe", "mailbox", 0) == 0 || each("std", "mutex + vector", 0) == 0) return {};
  // By at least a tenth: smaller differences are within the variation between runs.
  std::size_t first = lengths.size();
  while (first > 0 &&
         each("std", "mutex + vector", first - 1) < 0.9 * each("troupe", "mailbox", first - 1)) {
    --first;
  }
  const std::string where = first == lengths.size() ? "at none of these lengths"
                            : first == 0            ? "at every one of these lengths"
                                                    : "in " + burst_of(first) + " and longer ones";
  std::array<char, 300> text{};
  std::snprintf(text.data(), text.size(),
                "Troupe's mailbox is slower than a mutex and a vector %s (%.1f against %.1f ns a "
                "value in the longest); a mutex and a deque take %.1f ns there.",
                where.c_str(), each("troupe", "mailbox", lengths.size() - 1),
                each("std", "mutex + vector", lengths.size() - 1),
                each("std", "mutex + deque", lengths.size() - 1));
  return text.data();
}

}  // namespace

experiment bursts() {
  std::vector<variant> variants;
  add<of_troupe<number>>(variants, "troupe", "mailbox");
  add<two_stacks<number>>(variants, "prototype", "two stacks");
  add<segments<number>>(variants, "prototype", "segments");
  add<vyukov<number>>(variants, "prototype", "vyukov");
  add<locked_deque<number>>(variants, "std", "mutex + deque");
  add<locked_vector<number>>(variants, "std", "mutex + vector");
  return {
      .asks = "At which burst length does Troupe's mailbox become slower than a queue with a lock?",
      .options = {{"values", "64-bit values in total, at least one burst", 4'000'000, 1'000, 1,
                   1'000'000'000}},
      .variants = std::move(variants),
      .answer = answer,
      .means =
          "The cost of a mailbox depends on how far its reader falls behind. Limits that keep "
          "queues short keep messages in the cache, whatever the implementation of the queue.",
  };
}

}  // namespace troupe::lab::experiments
