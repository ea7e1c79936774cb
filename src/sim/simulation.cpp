// SPDX-License-Identifier: Apache-2.0
#include <troupe/sim/simulation.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <troupe/actor/conductor.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/actor/turn_context.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/base/thread_host.hpp>
#include <troupe/memory/pool.hpp>
#include <troupe/time/timer_wheel.hpp>

#include "late_messages.hpp"
#include "recorder.hpp"

namespace troupe::sim {

/// The simulation's implementation: the thread's host and conductor.
class simulation::world final : public detail::thread_host, public detail::conductor {
 public:
  world(simulation& of, sim::choices by, const simulation_options& options)
      : of_(of),
        options_(options),
        choices_(std::move(by)),
        recorder_(std::make_shared<recorder>(now_, options.trace_lines)) {
    if (detail::thread_host::here() != nullptr) {
      throw std::logic_error(
          "troupe: this thread already has a simulation: destroy it before creating another");
    }
    detail::thread_host::here() = this;
    detail::conductor::here() = this;
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world() {
    TROUPE_EXPECTS(chores_.empty(), "a system outlives its simulation: destroy the system first");
    detail::pool_asks_its_host(false);
    if (broken_)
      std::fprintf(stderr,
                   "troupe: a broken invariant was not reported, because simulation::check() was "
                   "not called: %s",
                   broken_->what.c_str());
    detail::thread_host::here() = nullptr;
    detail::conductor::here() = nullptr;
  }

  // ── The thread ──────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] time_point now() const noexcept override { return now_; }
  [[nodiscard]] std::uint64_t number_of(const void* what, std::uint32_t generation) override {
    return recorder_->number_of(what, generation);
  }

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
  void closed(detail::chore& of_system) noexcept override {
    std::erase(chores_, &of_system);
    late_.drop(of_system);
  }

  void schedule(detail::conducted_executor& at, detail::runnable& r) noexcept override {
    TROUPE_EXPECTS(detail::thread_host::here() == this,
                   "a message was sent into a simulation from another thread: a simulation has one "
                   "thread only");
    ready_.push_back({.at = &at, .to = &r});
  }
  void schedule(detail::errand& e) noexcept override {
    for (const turn_to_give& each : ready_) {
      if (each.of == &e) return;
    }
    ready_.push_back({.of = &e});
  }
  void opened(detail::errand& e) override { errands_.push_back(&e); }
  void closed(detail::errand& e) noexcept override {
    std::erase(errands_, &e);
    std::erase_if(ready_, [&](const turn_to_give& each) { return each.of == &e; });
  }
  [[nodiscard]] std::size_t choose(std::size_t count, const char* of) noexcept override {
    return choices_.choose(count, of);
  }
  [[nodiscard]] bool fault_occurs(unsigned one_in, const char* of) noexcept override {
    if (one_in == 0 || faults_are_over_) return false;
    // The plainest choice is that the fault does not occur. One in one: it always occurs.
    if (one_in != 1 && choices_.choose(one_in, of) != one_in - 1) return false;
    ++faults_so_far_;
    return true;
  }
  void note(std::string_view whom, std::string_view what) noexcept override {
    recorder_->write(whom, what);
  }

  // ── Faults ──────────────────────────────────────────────────────────────────────────────────
  void inject(const faults& those) {
    for_all_ = those;
    detail::pool_asks_its_host(those.failed_allocations_one_in != 0);
  }
  void inject(const address& into, const faults& those) { of_one_[key_of(into)] = those; }
  void inject(const address& from, const address& to, const faults& those) {
    of_pairs_[{key_of(from), key_of(to)}] = those;
  }
  void fail_at_one_of(const address& whom, std::size_t messages) {
    fails_at_[key_of(whom)] = choices_.choose(messages + 1, "at which message an actor fails");
  }
  void end_faults() {
    faults_are_over_ = true;
    fails_at_.clear();
    detail::pool_asks_its_host(false);
  }
  [[nodiscard]] std::uint64_t faults_so_far() const noexcept { return faults_so_far_; }

  [[nodiscard]] bool allocation_fails() noexcept override {
    detail::control_block* const running = detail::this_turn().running;
    if (running == nullptr || running->handling() == nullptr) return false;
    if (!fault_occurs(for_all_.failed_allocations_one_in, "an allocation fails")) return false;
    recorder_->write(running->where(), running->name(), "finds no memory");
    return true;
  }

  [[nodiscard]] detail::fate fate_of(detail::control_block* from,
                                     detail::control_block& to) noexcept override {
    const faults& may = faults_of(from, to);
    if (fault_occurs(may.full_mailboxes_one_in, "a mailbox is full"))
      return detail::fate::finds_it_full;
    late_by_ = duration::zero();
    if (fault_occurs(may.late_messages_one_in, "a message is late")) {
      late_by_ = part_of(may.message_late_max, "how late a message is");
      return detail::fate::is_late;
    }
    return late_.is_one_between({key_of(from), key_of(to.where())}) ? detail::fate::is_late
                                                                    : detail::fate::arrives;
  }
  void keeps(detail::chore& of_system, detail::control_block* from, detail::control_block& to,
             detail::envelope& message) noexcept override {
    late_.keep(now_ + late_by_, {&of_system, &to, &message, {key_of(from), key_of(to.where())}});
    recorder_->write(to.where(), to.name(), "will get later", message.how->message);
  }
  void before_handler(detail::control_block& of) override {
    if (const auto counted = fails_at_.find(key_of(of.where())); counted != fails_at_.end()) {
      if (counted->second != 0 && --counted->second == 0) {
        fails_at_.erase(counted);
        ++faults_so_far_;
        throw injected_fault("a fault of the simulation, at the message that was chosen");
      }
    }
    if (fault_occurs(faults_of(of).failures_one_in, "a handler fails")) {
      throw injected_fault("a fault of the simulation");
    }
  }
  [[nodiscard]] duration lateness() noexcept override {
    if (!fault_occurs(for_all_.late_timers_one_in, "a timer fires late")) return {};
    return part_of(for_all_.timer_late_max, "how late a timer fires");
  }

  // ── Running ─────────────────────────────────────────────────────────────────────────────────

  /// Runs one turn of one of the actors or errands that are ready. Returns false if none is ready.
  bool step() noexcept {
    next_chore_ = next_chore();
    bring_what_is_due();
    if (ready_.empty()) return run_an_errand();
    const std::size_t which = choices_.choose(ready_.size(), "whose turn it is");
    const turn_to_give next = ready_[which];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(which));
    if (next.to != nullptr && !next.has_paused && pauses(next)) return true;
    if (next.of != nullptr) {
      if (begin_turn(); run(*next.of)) schedule(*next.of);
    } else {
      const bool only_one = choices_.choose(2, "a whole turn, or one message") != 0;
      begin_turn();
      const detail::other_turns_scope others;
      if (next.at->give(*next.to, only_one) == detail::turn_result::again) {
        ready_.push_back({.at = next.at, .to = next.to});
      }
    }
    look_at_invariants();
    return true;
  }

  // ── Invariants ──────────────────────────────────────────────────────────────────────────────
  void always(std::string name, std::function<bool()> holds) {
    invariants_.push_back({std::move(name), std::move(holds)});
    look_at_invariants();
  }

  void eventually(const std::string& name, const std::function<bool()>& condition, duration limit) {
    if (run_until(condition, limit)) return;
    recorder_->keep_no_more();
    const double seconds = std::chrono::duration<double>(limit).count();
    char within[32];
    std::snprintf(within, sizeof within, "%g s", seconds);
    throw broken_invariant(
        name, "\"" + name + "\" has not happened within " + within + ", seen" + where_we_are());
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
    // A timer that is due at the end fires in the tick after it. A simulation that is always busy
    // stops there as well.
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

  [[nodiscard]] simulation& of() const noexcept { return of_; }
  [[nodiscard]] const sim::choices& choices() const noexcept { return choices_; }
  [[nodiscard]] const recorder& record() const noexcept { return *recorder_; }
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }

 private:
  struct turn_to_give {
    detail::conducted_executor* at = nullptr;
    detail::runnable* to = nullptr;
    detail::errand* of = nullptr;  // if not null, the turn is for this errand
    bool has_paused = false;       // it has just been paused, and is not paused again
  };

  struct invariant {
    std::string name;
    std::function<bool()> holds;
  };
  struct broken {
    std::string name;
    std::string what;
  };

  using key = actor_key;
  [[nodiscard]] static key key_of(const address& of) noexcept {
    return {detail::address_access::line(of), detail::address_access::generation(of)};
  }
  [[nodiscard]] static key key_of(detail::control_block* of) noexcept {
    return of != nullptr ? key_of(of->where()) : key{};
  }
  [[nodiscard]] const faults& faults_of(detail::control_block& one) const noexcept {
    if (of_one_.empty()) return for_all_;
    const auto found = of_one_.find(key_of(one.where()));
    return found != of_one_.end() ? found->second : for_all_;
  }
  [[nodiscard]] const faults& faults_of(detail::control_block* from,
                                        detail::control_block& to) const noexcept {
    if (of_pairs_.empty() || from == nullptr) return faults_of(to);
    const auto found = of_pairs_.find({key_of(from), key_of(to.where())});
    return found != of_pairs_.end() ? found->second : faults_of(to);
  }

  // The plainest choice is the smallest part.
  [[nodiscard]] duration part_of(duration most, const char* of) noexcept {
    constexpr std::size_t steps = 16;
    return most * static_cast<duration::rep>(choices_.choose(steps, of) + 1) /
           static_cast<duration::rep>(steps);
  }

  // Decides whether a chosen actor is paused instead of being run.
  [[nodiscard]] bool pauses(const turn_to_give& one) noexcept {
    auto& block = static_cast<detail::control_block&>(*one.to);
    const faults& may = faults_of(block);
    if (!fault_occurs(may.pauses_one_in, "an actor pauses")) return false;
    const time_point until = now_ + part_of(may.pause_max, "how long an actor pauses");
    recorder_->write(block.where(), block.name(), "gets no turn for a while");
    paused_.emplace(until, one)->second.has_paused = true;
    return true;
  }

  void bring_what_is_due() noexcept {
    while (!paused_.empty() && paused_.begin()->first <= now_) {
      ready_.push_back(paused_.extract(paused_.begin()).mapped());
    }
    while (const auto one = late_.take_due(now_)) {
      const detail::other_turns_scope others;
      const no_waiting_scope none;  // must not wait for room: no turn is running
      one->to->arrive(*one->message);
      one->to->let_go();
    }
    if (!paused_.empty()) next_chore_ = std::min(next_chore_, paused_.begin()->first);
    next_chore_ = std::min(next_chore_, late_.next());
  }

  void begin_turn() noexcept {
    ++turns_;
    now_ += options_.turn_takes;
  }

  // While this exists, a sender to a full mailbox is not suspended, like a sender with a pump.
  class no_waiting_scope {
   public:
    no_waiting_scope() noexcept { ++detail::this_turn().pumps; }
    no_waiting_scope(const no_waiting_scope&) = delete;
    no_waiting_scope& operator=(const no_waiting_scope&) = delete;
    ~no_waiting_scope() { --detail::this_turn().pumps; }
  };

  static bool run(detail::errand& e) noexcept {
    const detail::other_turns_scope others;
    const no_waiting_scope none;  // as on the thread of a loop
    return e.run();
  }

  // No actor or errand is ready. Some errands cannot announce that they have work, so each is
  // tried.
  bool run_an_errand() noexcept {
    for (std::size_t i = 0; i < errands_.size(); ++i) {
      detail::errand& each = *errands_[i];
      if (!run(each)) continue;
      begin_turn();
      schedule(each);
      look_at_invariants();
      return true;
    }
    return false;
  }

  void look_at_invariants() noexcept {
    if (is_looking_) return;
    is_looking_ = true;
    const detail::other_turns_scope others;  // a handler may be waiting further down the stack
    for (const invariant& each : invariants_) {
      if (broken_) break;
      std::string why = "is not true";
      try {
        if (each.holds()) continue;
      } catch (const std::exception& e) {
        why = std::string("threw: ") + e.what();
      } catch (...) {
        why = "threw an exception that is not a std::exception";
      }
      recorder_->keep_no_more();
      broken_ = broken{each.name, "\"" + each.name + "\" " + why + where_we_are()};
    }
    is_looking_ = false;
  }

  [[nodiscard]] std::string where_we_are() const {
    std::string text = " after turn " + std::to_string(turns_) + " of the run with the seed " +
                       std::to_string(choices_.seed()) + " (TROUPE_SIM_SEED).";
    if (options_.writes_log) {
      const std::string file = write_log(choices_.seed(), choices_.log().text());
      if (!file.empty()) text += " Its choices are in " + file + " (TROUPE_SIM_LOG).";
    }
    return text + " Last events:\n" + recorder_->last(20);
  }

  // Runs the chores outside of turns, as the runtime's threads would, until no chore causes work
  // for another one. Returns when the next one is due.
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
    std::fprintf(stderr,
                 "troupe: in a simulation with the seed %llu a thread waits forever: no actor can "
                 "run, and no timer is armed%s. Last events:\n%s",
                 static_cast<unsigned long long>(choices_.seed()),
                 waits_within_ > 1 ? "; its handler runs inside another handler that waits" : "",
                 recorder_->text().c_str());
    std::terminate();
  }

  simulation& of_;
  const simulation_options options_;
  sim::choices choices_;
  time_point now_{std::chrono::hours(24)};
  time_point next_chore_ = time_point::max();
  const std::shared_ptr<recorder> recorder_;
  std::vector<turn_to_give> ready_;
  std::vector<detail::chore*> chores_;
  std::vector<detail::errand*> errands_;

  bool faults_are_over_ = false;
  std::uint64_t faults_so_far_ = 0;
  faults for_all_;
  // The following are used for lookups only, never iterated.
  std::map<key, faults> of_one_;
  std::map<std::pair<key, key>, faults> of_pairs_;
  std::map<key, std::size_t> fails_at_;
  // The following are ordered by time, and equal times by arrival.
  std::multimap<time_point, turn_to_give> paused_;
  late_messages late_;
  duration late_by_{};
  std::uint64_t turns_ = 0;
  std::vector<invariant> invariants_;
  std::optional<broken> broken_;
  bool is_looking_ = false;
  unsigned waits_within_ = 0;
};

simulation::simulation(std::uint64_t seed, simulation_options options)
    : world_(std::make_unique<world>(*this, sim::choices(seed), options)) {}
simulation::simulation(choice_log replayed, simulation_options options)
    : world_(std::make_unique<world>(*this, sim::choices(std::move(replayed)), options)) {}
simulation::simulation(sim::choices by, simulation_options options)
    : world_(std::make_unique<world>(*this, std::move(by), options)) {}
simulation::~simulation() = default;

simulation* simulation::here() noexcept {
  auto* const mine = static_cast<world*>(detail::conductor::here());
  return mine != nullptr ? &mine->of() : nullptr;
}

std::uint64_t simulation::seed() const noexcept { return world_->choices().seed(); }
time_point simulation::now() const noexcept { return world_->now(); }
void simulation::always(std::string name, std::function<bool()> holds) {
  world_->always(std::move(name), std::move(holds));
}
void simulation::check() { world_->check(); }
void simulation::eventually(const std::string& name, const std::function<bool()>& condition,
                            duration limit) {
  world_->eventually(name, condition, limit);
}
void simulation::inject(const faults& those) { world_->inject(those); }
void simulation::inject(const address& into, const faults& those) { world_->inject(into, those); }
void simulation::inject(const address& from, const address& to, const faults& those) {
  world_->inject(from, to, those);
}
void simulation::fail_at_one_of(const address& whom, std::size_t messages) {
  world_->fail_at_one_of(whom, messages);
}
void simulation::end_faults() { world_->end_faults(); }
bool simulation::fault_occurs(unsigned one_in, const char* of) {
  return world_->fault_occurs(one_in, of);
}
std::size_t simulation::choose(std::size_t count, const char* of) {
  return world_->choose(count, of);
}
std::uint64_t simulation::faults_so_far() const noexcept { return world_->faults_so_far(); }
std::size_t simulation::run_until_idle() { return world_->run_until_idle(); }
std::size_t simulation::advance(duration by) {
  const std::uint64_t before = world_->turns();
  (void)world_->run_until(nullptr, by);
  return world_->turns() - before;
}
bool simulation::run_until(const std::function<bool()>& condition, duration limit) {
  return world_->run_until(condition, limit);
}
const recorder& record_of(const simulation& of) noexcept { return of.world_->record(); }
std::string simulation::trace() const { return world_->record().text(); }
std::uint64_t simulation::trace_hash() const noexcept { return world_->record().hash(); }
std::uint64_t simulation::turns() const noexcept { return world_->turns(); }
const choice_log& simulation::choices() const noexcept { return world_->choices().log(); }

}  // namespace troupe::sim
