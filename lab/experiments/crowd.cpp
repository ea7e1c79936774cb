// SPDX-License-Identifier: Apache-2.0
// More and more actors and messages in flight. The library of the original sample slowed down
// drastically beyond a hundred thousand of either, and may have started too many threads. Therefore
// the threads are counted all the time.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <latch>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/troupe.hpp>

#include "lab/engines/troupe/measured.hpp"
#include "lab/engines/troupe/workloads.hpp"
#include "lab/frame/experiment.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/stopwatch.hpp"

namespace troupe::lab::experiments {

namespace {

using milliseconds = std::chrono::milliseconds;

/// Counts this process' threads at intervals, except itself and its creator.
class thread_count {
 public:
  /// Returns the counts, oldest first.
  const std::vector<unsigned>& stop() {
    counting_.request_stop();
    counting_.join();
    return seen_;
  }

 private:
  static unsigned now() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("Threads:")) {
        return static_cast<unsigned>(std::stoul(line.substr(8))) - 2;
      }
    }
    throw std::runtime_error("/proc/self/status does not contain the number of threads");
  }

  std::vector<unsigned> seen_;
  std::jthread counting_{[this](const std::stop_token& stop) {
    do {
      seen_.push_back(now());
      std::this_thread::sleep_for(milliseconds(5));
    } while (!stop.stop_requested());
  }};
};

struct ball {
  std::uint64_t left;
};

// Returns each ball until it has made enough hops.
class player : public actor {
 public:
  struct meet {
    ref<player> next;
  };
  struct forget {};

  player(milliseconds blocks_for, std::latch& done) : blocks_for_(blocks_for), done_(done) {}

  void on(meet m) { next_ = std::move(m.next); }
  void on(ball b) {
    if (blocks_for_.count() != 0) std::this_thread::sleep_for(blocks_for_);
    if (b.left == 0) return done_.count_down();
    next_.send(ball{b.left - 1});
  }
  void on(forget) { next_ = {}; }

 private:
  const milliseconds blocks_for_;
  std::latch& done_;
  ref<player> next_;
};

void report_threads(trial& t, const std::vector<unsigned>& seen) {
  unsigned most = 0;
  double sum = 0;
  for (const unsigned each : seen) {
    most = std::max(most, each);
    sum += each;
  }
  t.report("threads_most", "1", most);
  t.report("threads_mean", "1", sum / static_cast<double>(seen.size()));
  std::string over_time = "threads at each tenth of the run:";
  for (std::size_t i = 0; i <= 10; ++i) {
    over_time += ' ' + std::to_string(seen[i * (seen.size() - 1) / 10]);
  }
  t.note(over_time);
}

struct crowd_of {
  std::uint64_t actors;
  std::uint64_t messages;
  std::uint64_t every_blocks = 0;  // 0: no actor blocks
};

// As many balls as actors, all of them in flight at once.
void play(trial& t, const crowd_of& who) {
  const std::uint64_t actors = std::min(who.actors, t["actors"] / 2 * 2);
  const std::uint64_t hops = std::max<std::uint64_t>(who.messages / actors, 1);
  std::latch done(static_cast<std::ptrdiff_t>(actors));
  class system system(workloads::system_of(t));
  std::vector<ref<player>> all;
  all.reserve(actors);
  for (std::uint64_t i = 0; i < actors; ++i) {
    const bool blocks = who.every_blocks != 0 && i % who.every_blocks == 0;
    all.push_back(system.spawn<player>(milliseconds(blocks ? 20 : 0), done));
  }
  for (std::uint64_t i = 0; i < actors; ++i) all[i].send(player::meet{all[i ^ 1]});
  thread_count threads;
  const stopwatch watch;
  for (const auto& each : all) each.send(ball{hops - 1});
  done.wait();
  const double took = watch.wall_s();
  t.report("each", "ns", 1e9 * took / static_cast<double>(actors * hops));
  report_threads(t, threads.stop());
  for (const auto& each : all) each.send(player::forget{});
}

// ── Without a runtime ─────────────────────────────────────────────────────────────────────────

/// The same exchange by plain functions on each thread: how much of the cost is memory that is not
/// in a cache, even if it is fetched in time. A record is as large as an actor with its handle, and
/// a letter as a message.
class records {
 public:
  explicit records(std::uint64_t count)
      : all_(count), letters_(count), ready_(std::bit_ceil(count)), mask_(ready_.size() - 1) {
    for (std::uint64_t i = 0; i < count; ++i) {
      all_[i].partner = &all_[i ^ 1];
      post(all_[i], letters_[i]);
    }
  }

  /// Processes that number of letters, oldest first, and sends a new one for each.
  void process(std::uint64_t count) {
    for (; count > 0; --count) {
      __builtin_prefetch(ahead(16), 1);
      if (const record* const soon = ahead(8)) __builtin_prefetch(soon->letters);
      record& one = *ready_[first_++ & mask_];
      letter& read = *one.letters;
      one.letters = read.next;
      if (one.letters != nullptr) append(one);
      letter& written = *std::exchange(free_, &read);
      written.left = read.left - 1;
      post(*one.partner, written);
    }
  }

 private:
  struct letter {
    letter* next = nullptr;
    std::uint64_t left = 0;
    std::array<std::uint64_t, 2> other{};  // as the header of a message
  };
  struct alignas(64) record {
    record* partner = nullptr;
    letter* letters = nullptr;
    std::array<std::uint64_t, 22> other{};
  };
  static_assert(sizeof(record) == 192 && sizeof(letter) == 32);

  // A record is in the ring at most once.
  void append(record& one) { ready_[last_++ & mask_] = &one; }
  const record* ahead(std::uint64_t by) const { return ready_[(first_ + by) & mask_]; }
  void post(record& to, letter& one) {
    one.next = to.letters;
    to.letters = &one;
    if (one.next == nullptr) append(to);
  }

  std::vector<record> all_;
  std::vector<letter> letters_;
  letter spare_;
  letter* free_ = &spare_;      // a letter is written before the one that caused it is free
  std::vector<record*> ready_;  // a ring; from `first_` to `last_`
  const std::uint64_t mask_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
};

template <std::uint64_t Actors>
void run_memory(trial& t) {
  const std::uint64_t actors = std::min(Actors, t["actors"] / 2 * 2);
  const std::uint64_t threads = t["workers"];
  const std::uint64_t each = std::max<std::uint64_t>(actors / threads / 2 * 2, 2);
  const std::uint64_t messages = std::max(t["messages"] / threads, each);
  std::latch ready(static_cast<std::ptrdiff_t>(threads + 1));
  std::vector<std::jthread> all;
  for (std::uint64_t i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      records mine(each);
      ready.arrive_and_wait();
      mine.process(messages);
    });
  }
  ready.arrive_and_wait();
  const stopwatch watch;
  all.clear();
  t.report("each", "ns", 1e9 * watch.wall_s() / static_cast<double>(messages * threads));
}

template <std::uint64_t Actors>
void run(trial& t) {
  play(t, {Actors, t["messages"]});
}

void run_blocking(trial& t) { play(t, {100'000, t["messages"] / 10, 5'000}); }

std::string answer(const measurements& found) {
  const double few = found.median_of("troupe", "1,000 actors", "each");
  const double many = found.median_of("troupe", "1,000,000 actors", "each");
  if (few == 0 || many == 0) return {};
  std::array<char, 500> text{};
  int used = std::snprintf(
      text.data(), text.size(),
      "With a million actors and as many messages in transit, a message takes %.2f times what it "
      "takes with a thousand, and Troupe has %.0f threads, those for timers and time included.",
      many / few, found.median_of("troupe", "1,000,000 actors", "threads_most"));
  const double few_alone = found.median_of("memory alone", "1,000 actors", "each");
  const double many_alone = found.median_of("memory alone", "1,000,000 actors", "each");
  if (few_alone != 0 && many_alone != 0 && used > 0) {
    const auto at = static_cast<std::size_t>(used);
    std::snprintf(text.data() + at, text.size() - at,
                  " Each takes %.0f and %.0f ns; the accesses to memory alone, without a runtime, "
                  "take %.0f and %.0f ns.",
                  many, few, many_alone, few_alone);
  }
  return text.data();
}

}  // namespace

experiment crowd() {
  return {
      .asks =
          "Does a message cost the same with a million actors and a million messages in transit, "
          "and how many threads does that need?",
      .options = {workloads::workers,
                  {"actors", "at most, regardless of the name", 1'000'000, 1'000, 2, 10'000'000},
                  {"messages", "messages in total, at least one for each actor", 10'000'000, 10'000,
                   1, 1'000'000'000}},
      .variants = {{"troupe", "10 actors", run<10>},
                   {"troupe", "1,000 actors", run<1'000>},
                   {"troupe", "100,000 actors", run<100'000>},
                   {"troupe", "300,000 actors", run<300'000>},
                   {"troupe", "1,000,000 actors", run<1'000'000>},
                   {"troupe", "100,000 actors, of which 20 block", run_blocking},
                   {"memory alone", "1,000 actors", run_memory<1'000>},
                   {"memory alone", "100,000 actors", run_memory<100'000>},
                   {"memory alone", "300,000 actors", run_memory<300'000>},
                   {"memory alone", "1,000,000 actors", run_memory<1'000'000>}},
      .bars = {{"a message with 1,000,000 actors ÷ with 1,000",
                {"troupe", "1,000,000 actors", "each"},
                1.5,
                {"troupe", "1,000 actors", "each"}}},
      .answer = answer,
      .means =
          "An actor for each connection, player or device needs no more threads than cores. Only "
          "blocking handlers cost threads: mark them with blocking(), or use timers.",
  };
}

}  // namespace troupe::lab::experiments
