// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/frame/experiment.hpp"
#include "lab/mailboxes/arena.hpp"
#include "lab/mailboxes/locked.hpp"
#include "lab/mailboxes/marked.hpp"
#include "lab/mailboxes/of_troupe.hpp"
#include "lab/mailboxes/segments.hpp"
#include "lab/mailboxes/traffic.hpp"
#include "lab/mailboxes/two_stacks.hpp"
#include "lab/mailboxes/vyukov.hpp"

#ifndef __SANITIZE_THREAD__
#include "lab/mailboxes/foreign.hpp"
#endif

namespace troupe::lab::experiments {

namespace {

// ── Messages ──────────────────────────────────────────────────────────────────────────────────

struct nothing {
  static constexpr std::size_t bytes = 0;
  static nothing make(std::uint64_t) { return {}; }
  std::uint64_t look() const { return 1; }
};

template <std::size_t Bytes>
struct filled {
  static constexpr std::size_t bytes = Bytes;
  static filled make(std::uint64_t i) {
    filled one;
    one.words.fill(i);
    return one;
  }
  std::uint64_t look() const { return words.front() == words.back() ? 1 : 0; }
  std::array<std::uint64_t, Bytes / 8> words;
};

struct text {
  static constexpr std::size_t bytes = 64;
  static text make(std::uint64_t i) { return {std::string(64, static_cast<char>('a' + i % 26))}; }
  std::uint64_t look() const { return value.size() == 64 ? 1 : 0; }
  std::string value;
};

struct numbers {
  static constexpr std::size_t bytes = 256;
  static numbers make(std::uint64_t i) { return {std::vector<int>(64, static_cast<int>(i))}; }
  std::uint64_t look() const { return value.size() == 64 ? 1 : 0; }
  std::vector<int> value;
};

// ── Queues ────────────────────────────────────────────────────────────────────────────────────

template <class Box>
void run(trial& t) {
  using M = typename Box::value_type;
  const std::uint64_t volume = t["megabytes"] * 1'000'000;
  const std::uint64_t limit = std::max<std::uint64_t>(16, t["kilobytes"] * 1'000 / (M::bytes + 32));
  const traffic flow{t["producers"],
                     std::clamp<std::uint64_t>(volume / std::max<std::size_t>(M::bytes, 8),
                                               t["producers"], t["messages"]),
                     1, limit};
  std::uint64_t right = 0;
  measure_traffic<Box>(t, flow, M::make, [&](M&& each) { right += each.look(); });
  if (right != flow.messages / flow.producers * flow.producers) {
    throw std::runtime_error("messages were lost or damaged");
  }
}

template <template <class> class Box>
void add(std::vector<variant>& all, const char* engine, const std::string& name) {
  all.push_back({engine, name + ", 0 bytes", run<Box<nothing>>});
  all.push_back({engine, name + ", 16 bytes", run<Box<filled<16>>>});
  all.push_back({engine, name + ", 64 bytes", run<Box<filled<64>>>});
  all.push_back({engine, name + ", 256 bytes", run<Box<filled<256>>>});
  all.push_back({engine, name + ", 4,096 bytes", run<Box<filled<4'096>>>});
  all.push_back({engine, name + ", 65,536 bytes", run<Box<filled<65'536>>>});
  all.push_back({engine, name + ", string", run<Box<text>>});
  all.push_back({engine, name + ", vector", run<Box<numbers>>});
}

template <class M>
using two_stacks_of = two_stacks<M>;
template <class M>
using segments_of = segments<M>;
template <class M>
using arena_of = arena<M>;
#if !defined __SANITIZE_THREAD__ && defined TROUPE_LAB_MOODYCAMEL
template <class M>
using moodycamel_of = moodycamel_queue<M, false>;
#endif

}  // namespace

experiment queue_sizes() {
  std::vector<variant> variants;
  add<of_troupe>(variants, "troupe", "mailbox");
  add<two_stacks_of>(variants, "prototype", "two stacks");
  add<segments_of>(variants, "prototype", "segments");
  add<arena_of>(variants, "prototype", "arena");
  add<marked>(variants, "prototype", "marked");
  add<vyukov>(variants, "prototype", "vyukov");
  add<locked_vector>(variants, "std", "mutex + vector");
#if !defined __SANITIZE_THREAD__ && defined TROUPE_LAB_MOODYCAMEL
  add<moodycamel_of>(variants, "moodycamel", "single");
#endif
  return {
      .asks =
          "How fast do large messages, and messages that own memory, pass through a queue with one "
          "reader?",
      .options = {{"messages", "messages at most", 3'000'000, 5'000},
                  {"megabytes", "of content at most", 1'000, 4},
                  {"kilobytes",
                   "of messages in the queue, where it has a limit (at least 16 messages)", 1'024,
                   128},
                  {"producers", "threads that push; one more reads", 3, 3, 1, 1'024}},
      .variants = std::move(variants),
      .means =
          "Copy small messages. The cost of large messages, and of messages that own memory, is "
          "that of copying and freeing them, whatever the queue: share them, or send fewer.",
  };
}

}  // namespace troupe::lab::experiments
