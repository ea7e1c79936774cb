// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/placement.hpp>
#include <troupe/actor/pump.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>

#include "sanitized.hpp"

// Shared by the tests of this layer: a system whose hooks record what is reported to them, a stage
// on which nothing happens until the test says so, and an actor whose every step the test supplies.

namespace troupe {

// For GoogleTest.
inline void PrintTo(exit_reason reason, std::ostream* out) { *out << to_string(reason); }
inline void PrintTo(delivery d, std::ostream* out) { *out << to_string(d); }

}  // namespace troupe

namespace troupe::test {

using namespace std::chrono_literals;

/// The longest time to wait for something that will happen: it only matters when a test fails.
inline constexpr auto patience = 30s;

/// Polls a condition. False if it has not become true within `patience`.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition) {
  const time_point deadline = clock::now() + patience;
  while (!condition()) {
    if (clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// An event that happens once, on any thread.
class event {
 public:
  // Notifies under the lock: the waiting thread may destroy the event.
  void set() {
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool is_set() const {
    const std::lock_guard lock(mutex_);
    return set_;
  }
  /// False if it did not happen.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return set_; });
  }

 private:
  mutable mutex mutex_;
  condition_variable changed_;
  bool set_ = false;
};

/// A journal of what happened, in order; written on any thread.
class journal {
 public:
  void write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
    changed_.notify_all();
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  /// Waits for a number of lines. False if they did not come.
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return lines_.size() >= count; });
  }

 private:
  mutable mutex mutex_;
  condition_variable changed_;
  std::vector<std::string> lines_;
};

/// Records what is reported to the hooks of a system.
class recorder {
 public:
  struct failed {
    address who;
    std::string actor;
    std::string message;
    std::string what;
  };

  [[nodiscard]] system_options options(unsigned workers = 2) {
    return {.workers = workers,
            .on_failure =
                [this](const failure& f) {
                  const std::lock_guard lock(mutex_);
                  failures_.push_back(
                      {f.who, std::string(f.actor), std::string(f.message), std::string(f.what)});
                },
            .on_dead_letter =
                [this](const dead_letter& d) {
                  const std::lock_guard lock(mutex_);
                  dead_letters_.push_back(d);
                }};
  }
  [[nodiscard]] std::vector<failed> failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }
  [[nodiscard]] std::vector<dead_letter> dead_letters() const {
    const std::lock_guard lock(mutex_);
    return dead_letters_;
  }

 private:
  mutable mutex mutex_;
  std::vector<failed> failures_;
  std::vector<dead_letter> dead_letters_;
};

/// Counts the objects that are alive. Each test uses a Tag of its own.
template <class Tag>
class counted {
 public:
  counted() { ++alive_; }
  counted(const counted&) { ++alive_; }
  counted(counted&&) noexcept { ++alive_; }
  counted& operator=(const counted&) = default;
  counted& operator=(counted&&) noexcept = default;
  ~counted() { --alive_; }

  [[nodiscard]] static int alive() { return alive_; }

 private:
  static inline atomic<int> alive_{0};
};

/// Waits until everything that was due within two milliseconds is in its mailbox: timers fire in
/// order. False if it did not come.
inline bool time_passes(system& in) {
  struct tick {};
  class clockwork : public actor {
   public:
    explicit clockwork(event& done) : done_(done) {}
    void on(tick) { done_.set(); }

   private:
    event& done_;
  };
  event passed;
  const auto one = in.spawn<clockwork>(passed);
  one.send_after(5ms, tick{});
  const bool came = passed.wait();
  one.stop();
  (void)one.join();
  return came;
}

class probe;

/// Makes a probe do anything.
struct call {
  std::function<void(probe&)> what;
};

/// A probe writes it into its journal.
struct note {
  std::string text;
};

/// Says what a probe does besides handling messages; omitted functions do nothing.
struct steps {
  std::function<void(probe&)> at_start = {};
  std::function<void(probe&)> at_stop = {};
  std::function<void(probe&)> at_end = {};  // in the destructor
};

class probe : public actor {
 public:
  explicit probe(journal& log, steps does = {}) : log_(log), does_(std::move(does)) {}
  ~probe() {
    if (does_.at_end) does_.at_end(*this);
    log_.write("destroyed");
  }

  void on_start() {
    if (does_.at_start) does_.at_start(*this);
  }
  void on_stop() {
    if (does_.at_stop) does_.at_stop(*this);
  }
  void on(const call& c) { c.what(*this); }
  void on(const note& n) { log_.write(n.text); }
  void on(const down& d) {
    log_.write("down: " + std::string(to_string(d.reason)));
    last_down = d;
  }

  using actor::name;
  using actor::stop;
  using actor::system;
  template <class Other>
  void watch(const Other& other) {
    actor::watch(other);
  }
  [[nodiscard]] self_ref<probe> me() { return self(this); }
  [[nodiscard]] address where() const { return self_address(); }

  down last_down;

 private:
  journal& log_;
  const steps does_;
};

/// A system with a pump on the test's thread: actors bound to it run when the test pumps.
struct stage {
  explicit stage(unsigned workers = 1) : system(told.options(workers)) {}

  template <class A, class... Arguments>
    requires(!troupe::detail::starts_with_options<Arguments...>)
  ref<A> spawn(Arguments&&... arguments) {
    return spawn<A>(spawn_options{}, std::forward<Arguments>(arguments)...);
  }
  template <class A, class... Arguments>
  ref<A> spawn(spawn_options options, Arguments&&... arguments) {
    options.where = bound_to(pump);
    return system.spawn<A>(options, std::forward<Arguments>(arguments)...);
  }

  /// Lets everything happen that can happen.
  void play() { pump.run_until_idle(); }

  recorder told;
  troupe::system system;
  troupe::pump pump{system};
};

}  // namespace troupe::test
