// SPDX-License-Identifier: Apache-2.0
#include <troupe/sim/simulation.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <troupe/actor/conductor.hpp>
#include <troupe/actor/turn_context.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/base/thread_host.hpp>
#include <troupe/time/timer_wheel.hpp>

#include "recorder.hpp"

namespace troupe::sim {

/// The thread's host and conductor.
class simulation::world final : public detail::thread_host, public detail::conductor {
 public:
  world(sim::choices by, const simulation_options& options)
      : options_(options),
        choices_(std::move(by)),
        recorder_(std::make_shared<recorder>(now_, options.trace_lines)) {
    if (detail::thread_host::here() != nullptr) {
      throw std::logic_error(
          "troupe: this thread has a simulation already: let that one end before the next begins");
    }
    detail::thread_host::here() = this;
    detail::conductor::here() = this;
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world() {
    TROUPE_EXPECTS(chores_.empty(),
                   "a system outlives the simulation in which it was made: destroy it first");
    if (broken_) std::fprintf(stderr, "troupe: nobody has asked: %s", broken_->what.c_str());
    detail::thread_host::here() = nullptr;
    detail::conductor::here() = nullptr;
  }

  // ── The thread ──────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] time_point now() const noexcept override { return now_; }

  void sleep_until(time_point deadline) noexcept override {
    if (deadline <= now_) return;
    ++waits_within_;
    if (!step()) {
      const time_point next = std::min(next_chore_, deadline);
      if (next == time_point::max()) never_wakes();
      now_ = std::max(now_, next);
    }
    --waits_within_;
  }

  // ── The systems ─────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] std::shared_ptr<observer> observed_by(std::shared_ptr<observer> users) override {
    return std::make_shared<recording>(recorder_, std::move(users));
  }
  void opened(detail::chore& of_system) override { chores_.push_back(&of_system); }
  void closed(detail::chore& of_system) noexcept override { std::erase(chores_, &of_system); }

  void schedule(detail::conducted_executor& at, detail::runnable& r) noexcept override {
    TROUPE_EXPECTS(detail::thread_host::here() == this,
                   "a message from another thread came into a simulation: it has one thread only");
    ready_.push_back({&at, &r});
  }
  [[nodiscard]] std::size_t choose(std::size_t count, const char* of) noexcept override {
    return choices_.choose(count, of);
  }

  // ── Running ─────────────────────────────────────────────────────────────────────────────────

  /// One turn of one of those who have something to do. False: there is none.
  bool step() noexcept {
    next_chore_ = next_chore();
    if (ready_.empty()) return false;
    const std::size_t which = choices_.choose(ready_.size(), "whose turn it is");
    const turn_to_give next = ready_[which];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(which));
    const bool only_one = choices_.choose(2, "a whole turn, or one message") != 0;
    ++turns_;
    now_ += options_.turn_takes;
    const detail::other_turns_scope others;
    if (next.at->give(*next.to, only_one) == detail::turn_result::again) ready_.push_back(next);
    look_at_invariants();
    return true;
  }

  // ── What is to be true ──────────────────────────────────────────────────────────────────────
  void always(std::string name, std::function<bool()> holds) {
    invariants_.push_back({std::move(name), std::move(holds)});
    look_at_invariants();
  }

  void check() {
    if (!broken_) return;
    const broken told = *std::exchange(broken_, std::nullopt);
    invariants_.clear();
    throw broken_invariant(told.name, told.what);
  }

  std::size_t run_until_idle() {
    const std::uint64_t before = turns_;
    do {
      check();
    } while (step());
    return turns_ - before;
  }

  bool run_until(const std::function<bool()>& condition, duration limit) {
    const time_point end = later(now_, limit);
    // A timer that is due at the end fires in the tick behind it. Who is always busy ends there, too.
    const time_point with_due = later(end, timer_wheel::tick);
    for (;;) {
      check();
      if (condition != nullptr && condition()) return true;
      if (now_ >= with_due) return false;
      if (step()) continue;
      if (next_chore_ > with_due) {
        now_ = std::max(now_, end);
        return condition != nullptr && condition();
      }
      now_ = std::max(now_, next_chore_);
    }
  }

  [[nodiscard]] const sim::choices& choices() const noexcept { return choices_; }
  [[nodiscard]] const recorder& record() const noexcept { return *recorder_; }
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }

 private:
  struct turn_to_give {
    detail::conducted_executor* at;
    detail::runnable* to;
  };

  struct invariant {
    std::string name;
    std::function<bool()> holds;
  };
  struct broken {
    std::string name;
    std::string what;
  };

  void look_at_invariants() noexcept {
    if (is_looking_) return;
    is_looking_ = true;
    for (const invariant& each : invariants_) {
      if (broken_) break;
      std::string why = "is not true";
      try {
        if (each.holds()) continue;
      } catch (const std::exception& e) {
        why = std::string("threw: ") + e.what();
      } catch (...) {
        why = "threw an exception that is no std::exception";
      }
      broken_ = broken{each.name,
                       "\"" + each.name + "\" " + why + " after turn " + std::to_string(turns_) +
                           " of the run with the seed " + std::to_string(choices_.seed()) +
                           " (TROUPE_SIM_SEED). The last that happened:\n" + recorder_->last(20)};
    }
    is_looking_ = false;
  }

  // As the threads would whose chores these are, in no turn; until none has anything to do for another one.
  [[nodiscard]] time_point next_chore() noexcept {
    const detail::other_turns_scope others;
    time_point next = time_point::max();
    for (time_point before = time_point::min(); next != before;) {
      before = std::exchange(next, time_point::max());
      for (std::size_t i = 0; i < chores_.size(); ++i) next = std::min(next, chores_[i]->look());
    }
    return next;
  }

  [[noreturn]] void never_wakes() const noexcept {
    std::fprintf(
        stderr,
        "troupe: in a simulation with the seed %llu a thread waits for what will never "
        "come: nobody has "
        "anything to do, and no timer is armed%s. The last that happened:\n%s",
        static_cast<unsigned long long>(choices_.seed()),
        waits_within_ > 1 ? "; it waits within a handler that another one waits below" : "",
        recorder_->text().c_str());
    std::terminate();
  }

  const simulation_options options_;
  sim::choices choices_;
  time_point now_{std::chrono::hours(24)};
  time_point next_chore_ = time_point::max();
  const std::shared_ptr<recorder> recorder_;
  std::vector<turn_to_give> ready_;
  std::vector<detail::chore*> chores_;
  std::uint64_t turns_ = 0;
  std::vector<invariant> invariants_;
  std::optional<broken> broken_;
  bool is_looking_ = false;
  unsigned waits_within_ = 0;
};

simulation::simulation(std::uint64_t seed, simulation_options options)
    : world_(std::make_unique<world>(sim::choices(seed), options)) {}
simulation::simulation(choice_log replayed, simulation_options options)
    : world_(std::make_unique<world>(sim::choices(std::move(replayed)), options)) {}
simulation::simulation(sim::choices by, simulation_options options)
    : world_(std::make_unique<world>(std::move(by), options)) {}
simulation::~simulation() = default;

std::uint64_t simulation::seed() const noexcept { return world_->choices().seed(); }
time_point simulation::now() const noexcept { return world_->now(); }
void simulation::always(std::string name, std::function<bool()> holds) {
  world_->always(std::move(name), std::move(holds));
}
void simulation::check() { world_->check(); }
std::size_t simulation::run_until_idle() { return world_->run_until_idle(); }
std::size_t simulation::advance(duration by) {
  const std::uint64_t before = world_->turns();
  (void)world_->run_until(nullptr, by);
  return world_->turns() - before;
}
bool simulation::run_until(const std::function<bool()>& condition, duration limit) {
  return world_->run_until(condition, limit);
}
std::string simulation::trace() const { return world_->record().text(); }
std::uint64_t simulation::trace_hash() const noexcept { return world_->record().hash(); }
std::uint64_t simulation::turns() const noexcept { return world_->turns(); }
const choice_log& simulation::choices() const noexcept { return world_->choices().log(); }

}  // namespace troupe::sim
