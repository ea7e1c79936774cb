// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "test_support.hpp"

// Shared by the tests of full mailboxes: a stage that records the events of its mailboxes, an actor
// that only receives, and one that receives when the test lets it.

namespace troupe::test {

/// Records the events passed to on_overload.
class overload_log {
 public:
  struct line {
    overload_event::kind what;
    address to;
    std::string actor;
    std::string message;
  };

  [[nodiscard]] system_options listen(system_options options) {
    options.on_overload = [this](const overload_event& e) {
      const std::lock_guard lock(mutex_);
      using kind = overload_event::kind;
      switch (e.what) {
        case kind::refused:
          ++counts_.refused;
          break;
        case kind::dropped:
          ++counts_.dropped;
          break;
        case kind::redirected:
          ++counts_.redirected;
          break;
        case kind::paused:
          ++counts_.paused;
          break;
        case kind::pause_timed_out:
          ++counts_.pauses_timed_out;
          break;
        case kind::wait_cycle:
          ++counts_.wait_cycles;
          break;
        case kind::budget_exhausted:
        case kind::overdraft_exhausted:
          break;
      }
      // Recording the first events is enough; a flood is only counted.
      if (lines_.size() < 1'000)
        lines_.push_back({e.what, e.to, std::string(e.actor), std::string(e.message)});
    };
    return options;
  }
  [[nodiscard]] overload_counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  [[nodiscard]] std::vector<line> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable mutex mutex_;
  overload_counts counts_;
  std::vector<line> lines_;
};

/// A system that records the events of its mailboxes.
struct crowd {
  explicit crowd(unsigned workers = 2) : system(full.listen(told.options(workers))) {}
  explicit crowd(system_options options) : system(full.listen(std::move(options))) {}

  recorder told;
  overload_log full;
  troupe::system system;
};

/// A crowd with a pump on the test's thread: actors bound to it are as slow as the test wants.
struct pumped_crowd : crowd {
  using crowd::crowd;

  [[nodiscard]] spawn_options here(std::size_t max_messages,
                                   overflow on_full = overflow::backpressure) {
    return {.where = bound_to(pump), .max_messages = max_messages, .on_full = on_full};
  }
  void play() { pump.run_until_idle(); }

  troupe::pump pump{system};
};

struct item {
  int number;
};
struct explode {};

/// Records the items that it receives. Read them where the actor runs, or after it has terminated.
class sink : public actor {
 public:
  explicit sink(std::vector<int>& got) : got_(got) {}
  void on(item i) { got_.push_back(i.number); }
  void on(explode) { throw std::runtime_error("exploded"); }

 private:
  std::vector<int>& got_;
};

/// Lets through only as many as the test says.
class turnstile {
 public:
  void let(int more) {
    const std::lock_guard lock(mutex_);
    permits_ += more;
    changed_.notify_all();
  }
  /// False if it was not let through.
  bool pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    const bool may = changed_.wait_for(lock, patience, [this] { return permits_ > 0; });
    --waiting_;
    if (may) {
      --permits_;
      ++passed_;
    }
    return may;
  }
  /// Waits until an actor stands before it, after a given number have passed.
  bool wait_for_one_after(int passed) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return waiting_ > 0 && passed_ == passed; });
  }
  [[nodiscard]] int passed() const {
    const std::lock_guard lock(mutex_);
    return passed_;
  }

 private:
  mutable mutex mutex_;
  condition_variable changed_;
  int permits_ = 0;
  int waiting_ = 0;
  int passed_ = 0;
};

/// Handles an item when the turnstile lets it. Spawn it with a thread of its own.
class slow_sink : public actor {
 public:
  explicit slow_sink(turnstile& gate) : gate_(gate) {}
  void on(item) { gate_.pass(); }

 private:
  turnstile& gate_;
};

/// Sends items first, first + 1, … and returns the result of each.
template <class To>
std::vector<delivery> send_items(const To& to, int count, int first = 0) {
  std::vector<delivery> became;
  for (int i = 0; i < count; ++i) became.push_back(to.send(item{first + i}));
  return became;
}

inline std::ptrdiff_t how_many(const std::vector<delivery>& of, delivery what) {
  return std::count(of.begin(), of.end(), what);
}

inline std::vector<int> numbers(int first, int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

}  // namespace troupe::test
