// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

#include "cast.hpp"
#include "world.hpp"

namespace troupe::random_programs {

using namespace std::chrono_literals;

namespace {

using policy = overflow::policy;

// ── Combining two features ────────────────────────────────────────────────────────────────────

using focus = std::array<feature, 2>;

const std::vector<focus>& all_pairs() {
  static const std::vector<focus> pairs = [] {
    std::vector<focus> all;
    for (std::size_t f = 0; f < feature_count; ++f) {
      for (std::size_t g = f + 1; g < feature_count; ++g) {
        if (impossible(feature(f), feature(g)) == nullptr) all.push_back({feature(f), feature(g)});
      }
    }
    return all;
  }();
  return pairs;
}

bool is_of_machines(feature f) noexcept {
  return f == feature::changes_state || f == feature::defers || f == feature::state_limit;
}

bool can_be(shape s, const focus& of) noexcept {
  for (const feature f : of) {
    switch (s) {
      case shape::player:
        if (is_of_machines(f) || f == feature::function) return false;
        break;
      case shape::machine:
        if (f == feature::batch || f == feature::function) return false;
        break;
      case shape::function:
        if (f != feature::function && impossible(feature::function, f) != nullptr) return false;
        break;
    }
  }
  return true;
}

constexpr int by_any = -2;
constexpr int by_outside = -1;

/// An operation that makes a feature active on actor 0; -2 stands for any actor.
struct recipe {
  operation what;
  int by;
  int other;
};

std::vector<recipe> recipes_of(feature f) {
  switch (f) {
    case feature::spawns:
      return {{operation::spawn, 0, by_any}};
    case feature::stopped:
      return {{operation::stop, by_any, 0}, {operation::stop, by_outside, 0}};
    case feature::stopped_now:
      return {{operation::stop_now, by_any, 0}, {operation::stop_now, by_outside, 0}};
    case feature::restarted:
      return {{operation::fail, 0, 0}};
    case feature::constructor_fails:
      return {{operation::fail_constructor, 0, 0}};
    case feature::on_stop_fails:
      return {{operation::fail_on_stop, 0, 0}};
    case feature::linked:
      return {{operation::link, 0, by_any}, {operation::link, by_any, 0}};
    case feature::watched:
      return {{operation::watch, by_any, 0}, {operation::watch_address, by_any, 0}};
    case feature::watches:
      return {{operation::watch, 0, by_any}, {operation::watch_address, 0, by_any}};
    case feature::unwatches:
      return {{operation::watch, 0, by_any}, {operation::unwatch, 0, by_any}};
    case feature::named:
      return {{operation::add_name, by_any, 0}, {operation::add_name, by_outside, 0}};
    case feature::awaits_name:
      return {{operation::await_name, 0, by_any},
              {operation::tell_name, by_any, 0},
              {operation::await_name, 0, by_any}};
    case feature::subscribed:
      return {{operation::subscribe, by_any, 0}, {operation::publish, by_any, by_any}};
    case feature::publishes:
      return {{operation::publish, 0, by_any}, {operation::subscribe, by_any, by_any}};
    case feature::asks:
      return {{operation::ask, 0, by_any},
              {operation::ask_then, 0, by_any},
              {operation::ask_and_get, 0, by_any}};
    case feature::asked:
      return {{operation::ask, by_any, 0},
              {operation::ask_then, by_any, 0},
              {operation::ask_and_get, by_outside, 0}};
    case feature::waits:
      return {{operation::sleep, 0, by_any}};
    case feature::exclusive:
      return {{operation::sleep, 0, by_any}};
    case feature::timed:
      return {{operation::arm_timer, by_any, 0}, {operation::arm_ticks, by_any, 0}};
    case feature::timer_cancelled:
      return {{operation::arm_timer, by_any, 0},
              {operation::cancel_timer, by_any, 0},
              {operation::arm_ticks, 0, 0},
              {operation::cancel_timer, 0, 0}};
    case feature::is_suspended:
      return {{operation::sleep, 1, by_any},
              {operation::send_parcels, 0, 1},
              {operation::send_heavy, 0, 1}};
    case feature::suspends_senders:
    case feature::refuses:
    case feature::drops_newest:
    case feature::drops_oldest:
    case feature::redirects:
    case feature::fails_when_full:
    case feature::function:
    case feature::in_group:
    case feature::on_dispatcher:
    case feature::shutdown:
    case feature::shutdown_now:
      return {{operation::send_parcels, by_any, 0}, {operation::send_parcels, 1, 0}};
    case feature::type_limit:
      return {{operation::send_limited, by_any, 0}};
    case feature::charged:
      return {{operation::send_heavy, by_any, 0}, {operation::send_parcels, by_any, 0}};
    case feature::sends_when_ready:
      return {{operation::sleep, 1, by_any},
              {operation::send_parcels, 2, 1},
              {operation::send_parcels, 3, 1},
              {operation::send_ready, 0, 1}};
    case feature::uses_channel:
      return {{operation::next_of_channel, 0, by_any},
              {operation::select, 0, by_any},
              {operation::send_ready_to_channel, 0, by_any}};
    case feature::changes_state:
    case feature::state_limit:
      return {{operation::change_state, 0, by_any}};
    case feature::defers:
      return {{operation::change_state, 0, by_any},
              {operation::send_parcels, by_any, 0},
              {operation::send_urgent, by_any, 0}};
    case feature::searched:
      return {{operation::collect, by_outside, by_any}, {operation::hold, 0, by_any}};
    case feature::locked:
      return {{operation::lock, by_any, 0}, {operation::lock, by_outside, 0}};
    case feature::high_priority:
      return {{operation::send_urgent, by_any, 0}};
    case feature::batch:
      return {{operation::send_items, by_any, 0}};
    case feature::awaits_end:
      return {{operation::await_end, 0, by_any}};
    case feature::owns_bytes:
      return {{operation::send_heavy, by_any, 0}};
    case feature::move_throws:
      return {{operation::send_fragile, by_any, 0}, {operation::send_fragile, 0, by_any}};
    case feature::count:
      break;
  }
  return {};
}

// ── A program ─────────────────────────────────────────────────────────────────────────────────

class program {
 public:
  program(sim::simulation& in, bool verbose) : sim_(in), world_(in), its_(focus_of(in.seed())) {
    world_.verbose = verbose;
  }

  void run(matrix& into) {
    world_.log(std::string("seed ") + std::to_string(sim_.seed()) + ": " + to_string(its_[0]) +
               " and " + to_string(its_[1]));
    {
      troupe::system system(options());
      world_.system = &system;
      const references_go_first scope{*this};
      make_cast(system);
      do_operations();
      end(system);
    }
    world_.budgets.clear();
    world_.channels.clear();
    world_.notes.reset();
    world_.chirps.reset();
    world_.finished();
    world_.throw_if_broken();
    into.add(world_.seen);
  }

 private:
  static focus focus_of(std::uint64_t seed) { return all_pairs()[seed % all_pairs().size()]; }

  [[nodiscard]] int choose(int count, const char* of) {
    return static_cast<int>(sim_.choose(static_cast<std::size_t>(count), of));
  }
  [[nodiscard]] bool is_in_focus(feature f) const noexcept { return its_[0] == f || its_[1] == f; }
  [[nodiscard]] bool one_in(int n, const char* of) { return choose(n, of) == n - 1; }

  // ── The system ──────────────────────────────────────────────────────────────────────────────

  /// Notified of terminations, and of the messages that a machine defers.
  class onlooker final : public observer {
   public:
    explicit onlooker(world& of) noexcept : of_(of) {}
    void ended(const actor_event& e, exit_reason why) override { of_.ended(e.who, why); }
    void begun(const message_event& e) override {
      if (!is_deferred(of_.kind_named(e.message))) return;
      part* const p = of_.find(e.who);
      if (p != nullptr && p->is_locked) of_.happens(*p, feature::defers);
    }

   private:
    world& of_;
  };

  system_options options() {
    world& w = world_;
    system_options made;
    made.dispatchers.push_back({.name = "io", .workers = 1});
    made.cycle_search = std::array{
        1'000ms, 0ms, 3ms}[static_cast<std::size_t>(choose(3, "how often cycles are searched"))];
    made.on_failure = [&w](const failure& f) {
      ++w.failures;
      if (part* const p = w.find(f.who)) {
        ++p->failures;
        if (p->is_supervised && p->objects == 1 && f.message != "on_stop") {
          w.happens(*p, feature::restarted);
        }
      }
      if (f.what != "on purpose" && f.what.find("its mailbox was full") == std::string_view::npos) {
        w.broken("an actor fails in " + std::string(f.message) + ": " + std::string(f.what));
      }
    };
    made.on_dead_letter = [&w](const dead_letter& d) {
      ++w.dead_letters;
      tell(w, w.kind_named(d.message), fate::dead);
    };
    made.on_overload = [&w](const overload_event& e) { overloaded(w, e); };
    made.observer = std::make_shared<onlooker>(w);
    return made;
  }

  static void tell(world& w, kind what, fate end) {
    if (what <= kind::last_letter) {
      w.expect(what, end);
    } else if (what == kind::request) {
      ++w.requests_not_taken;
    } else if (what != kind::other) {
      w.lost(what);
    }
  }

  static void overloaded(world& w, const overload_event& e) {
    using k = overload_event::kind;
    part* const p = w.find(e.to);
    const auto happens = [&](policy of, feature what) {
      if (p != nullptr && p->policy == of) w.happens(*p, what);
    };
    switch (e.what) {
      case k::refused:
        ++w.refused;
        tell(w, w.kind_named(e.message), fate::refused);
        happens(policy::refuse, feature::refuses);
        happens(policy::fail_receiver, feature::fails_when_full);
        break;
      case k::dropped:
        ++w.dropped;
        tell(w, w.kind_named(e.message), fate::dropped);
        happens(policy::drop_newest, feature::drops_newest);
        happens(policy::drop_oldest, feature::drops_oldest);
        break;
      case k::redirected:
        ++w.redirected;
        happens(policy::redirect, feature::redirects);
        break;
      case k::paused:
        ++w.pauses;
        happens(policy::backpressure, feature::suspends_senders);
        break;
      case k::wait_cycle:
        ++w.wait_cycles;
        break;
      case k::pause_timed_out:
      case k::budget_exhausted:
      case k::overdraft_exhausted:
        break;
    }
  }

  // ── The actors ──────────────────────────────────────────────────────────────────────────────

  void make_cast(troupe::system& system) {
    world_.notes.emplace(topic_options{.retain_last = true});
    world_.chirps.emplace(system, "chirps");
    world_.channels.emplace_back(1);
    world_.channels.emplace_back(2, overflow::drop_oldest);
    world_.budgets.emplace_back(std::size_t{700});
    is_group_elsewhere_ = one_in(2, "where the group is");
    const serial_group group =
        is_group_elsewhere_ ? serial_group(system, "io") : serial_group(system);
    const int actors = 5 + choose(8, "how many actors");
    std::vector<child_spec> children;
    std::vector<int> child_indices;
    for (int i = 0; i < actors; ++i) {
      part& p = world_.add_part(shape_of(i));
      spawn_options chosen = options_of(p, group);
      p.is_supervised = is_supervised(p);
      if (p.is_supervised) {
        children.push_back(spec_of(p, std::move(chosen)));
        child_indices.push_back(i);
      } else {
        spawn(system, p, chosen);
      }
    }
    if (children.empty()) return;
    const auto strategy = static_cast<restart_strategy>(choose(3, "the restart strategy"));
    supervisor_ = system.spawn<supervisor>(supervision{.strategy = strategy,
                                                       .max_restarts = supervision::unlimited,
                                                       .min_backoff = 1ms,
                                                       .max_backoff = 4ms},
                                           children);
    world_.supervisors = 1;
    for (const int each : child_indices) {
      part& p = world_.at(each);
      const std::string name = std::to_string(each);
      if (p.is == shape::player) {
        if (auto got = supervisor_.ask<find_child<player>>(1s, name).get()) p.as_player = *got;
      } else {
        if (auto got = supervisor_.ask<find_child<machine>>(1s, name).get()) p.as_machine = *got;
      }
    }
  }

  shape shape_of(int index) {
    const bool is_to_be_full =
        is_in_focus(feature::sends_when_ready) || is_in_focus(feature::is_suspended);
    if (index == 1 && is_to_be_full) return shape::player;
    if (index != 0) {
      const int drawn = choose(6, "the class of an actor");
      return drawn < 4 ? shape::player : drawn == 4 ? shape::machine : shape::function;
    }
    if (is_in_focus(feature::function)) return shape::function;
    if (is_of_machines(its_[0]) || is_of_machines(its_[1])) return shape::machine;
    const auto drawn = static_cast<shape>(choose(3, "the class of the first actor"));
    return can_be(drawn, its_) ? drawn : shape::player;
  }

  static overflow rule_of(policy what) {
    switch (what) {
      case policy::refuse:
        return overflow::refuse;
      case policy::drop_newest:
        return overflow::drop_newest;
      case policy::drop_oldest:
        return overflow::drop_oldest;
      case policy::fail_receiver:
        return overflow::fail_receiver;
      default:
        return overflow::backpressure;
    }
  }

  policy policy_of(const part& p) {
    if (p.index == 0) {
      if (is_in_focus(feature::suspends_senders)) return policy::backpressure;
      if (is_in_focus(feature::refuses)) return policy::refuse;
      if (is_in_focus(feature::drops_newest)) return policy::drop_newest;
      if (is_in_focus(feature::drops_oldest)) return policy::drop_oldest;
      if (is_in_focus(feature::redirects)) return policy::redirect;
      if (is_in_focus(feature::fails_when_full)) return policy::fail_receiver;
    }
    if (p.index == 1) return policy::backpressure;
    static constexpr std::array all{
        policy::backpressure, policy::backpressure, policy::backpressure,
        policy::backpressure, policy::refuse,       policy::drop_newest,
        policy::drop_oldest,  policy::redirect,     policy::fail_receiver};
    return all[static_cast<std::size_t>(choose(static_cast<int>(all.size()), "a policy"))];
  }

  spawn_options options_of(part& p, const serial_group& group) {
    spawn_options made;
    p.policy = policy_of(p);
    if (p.policy == policy::redirect && p.is == shape::function) p.policy = policy::refuse;
    const bool has_limit = p.index < 2 || p.policy != policy::backpressure ||
                           one_in(3, "whether a mailbox has a limit");
    if (has_limit) {
      p.max_messages = p.index == 1 ? 2u : 2u + static_cast<std::size_t>(choose(5, "a limit"));
      made.max_messages = p.max_messages;
    }
    made.on_full = rule_of(p.policy);
    if (p.policy == policy::redirect) redirect(p, made);
    p.is_charged = (p.index == 0 && is_in_focus(feature::charged)) || one_in(4, "a budget");
    if (p.is_charged) made.memory_budget = world_.budgets.front();
    const bool first_in_group = p.index == 0 && is_in_focus(feature::in_group);
    const bool first_elsewhere = p.index == 0 && is_in_focus(feature::on_dispatcher);
    if (first_in_group || (!first_elsewhere && one_in(4, "a group"))) {
      p.is_grouped = true;
      p.is_dispatched = is_group_elsewhere_;
      made.group = group;
    } else if (first_elsewhere || one_in(5, "a dispatcher")) {
      p.is_dispatched = true;
      made.dispatcher = "io";
    }
    return made;
  }

  // Redirects to another actor of the class, which already exists or is created for this.
  void redirect(part& p, spawn_options& made) {
    part* target = nullptr;
    for (part& each : world_.parts()) {
      if (each.index != p.index && each.is == p.is && (each.as_player || each.as_machine)) {
        target = &each;
      }
    }
    if (target == nullptr) {
      target = &world_.add_part(p.is);
      target->max_messages = 4;
      spawn(*world_.system, *target, {.max_messages = 4});
    }
    target->is_target = true;
    p.redirects_to = target->index;
    made.on_full = p.is == shape::player ? overflow::redirect_to(target->as_player)
                                         : overflow::redirect_to(target->as_machine);
  }

  bool is_supervised(const part& p) {
    if (p.is == shape::function) return false;
    if (p.index == 0 &&
        (is_in_focus(feature::restarted) || is_in_focus(feature::constructor_fails)))
      return true;
    return one_in(3, "a supervisor");
  }

  child_spec spec_of(part& p, spawn_options chosen) {
    const std::string name = std::to_string(p.index);
    child_spec made =
        p.is == shape::player ? child<player>(name, p.index) : child<machine>(name, p.index);
    made.options(std::move(chosen));
    p.is_always_restarted = one_in(3, "when it is restarted");
    made.restart_policy(p.is_always_restarted ? restart::always : restart::on_failure);
    if (one_in(4, "whether a child forgets its mailbox")) made.clear_mailbox();
    return made;
  }

  void spawn(troupe::system& system, part& p, const spawn_options& chosen) {
    switch (p.is) {
      case shape::player:
        p.as_player = system.spawn<player>(chosen, p.index);
        break;
      case shape::machine:
        p.as_machine = system.spawn<machine>(chosen, p.index);
        break;
      case shape::function:
        p.as_function = spawn_walker(system, chosen, p.index);
        p.where = p.as_function.address();
        break;
    }
  }

  // ── The operations ──────────────────────────────────────────────────────────────────────────

  void do_operations() {
    std::array<std::vector<recipe>, 2> wanted{recipes_of(its_[0]), recipes_of(its_[1])};
    const int most = 48 + choose(128, "how many operations");
    for (int i = 0; i < most && world_.complaint().empty(); ++i) {
      const int drawn = choose(8, "which operation");
      if (drawn >= 4) {
        if (one_in(3, "whether all of it is done")) {
          const std::size_t first = first_of_two(static_cast<std::size_t>(drawn % 2));
          do_all(wanted[first]);
          run_briefly();
          do_all(wanted[1 - first]);
          run_a_while();
          continue;
        }
        const auto& those = wanted[static_cast<std::size_t>(drawn % 2)];
        const auto which = static_cast<std::size_t>(
            choose(static_cast<int>(those.size()), "how two features meet"));
        // An operation that ends the first actor comes after the one that it is to be combined
        // with.
        if (!ends_an_actor(those[which].what) || one_in(8, "whether an actor ends")) {
          do_one(those[which].what, those[which].by, those[which].other);
        }
      } else {
        do_one(drawn_operation(), by_any, by_any);
      }
      run_a_while();
    }
    world_.throw_if_broken();
  }

  // A handler has to wait before the other feature affects its actor.
  [[nodiscard]] std::size_t first_of_two(std::size_t otherwise) const noexcept {
    static constexpr std::array waiting{
        feature::sends_when_ready, feature::uses_channel, feature::awaits_end, feature::awaits_name,
        feature::exclusive,        feature::waits,        feature::asks};
    for (const feature each : waiting) {
      if (its_[0] == each) return 0;
      if (its_[1] == each) return 1;
    }
    return otherwise;
  }

  void run_briefly() {
    int turns = choose(12, "how many turns");
    if (turns != 0) (void)sim_.run_until([&] { return turns-- <= 0; }, 1ms);
  }

  void do_all(const std::vector<recipe>& those) {
    for (const recipe& each : those) {
      do_one(each.what, each.by, each.other);
      // The actor has to be suspended before its mailbox is filled.
      int turns = 8;
      if (each.by == 1) (void)sim_.run_until([&] { return turns-- <= 0; }, 1us);
    }
  }

  // Operations that end an actor are rare.
  operation drawn_operation() {
    const auto drawn =
        static_cast<operation>(choose(static_cast<int>(operation_count), "what is done"));
    if (drawn == operation::close_channel) {
      return one_in(6, "whether a channel is closed") ? drawn : operation::nothing;
    }
    const bool is_rare = ends_an_actor(drawn) || drawn == operation::drop_reference;
    return !is_rare || one_in(3, "whether an actor ends") ? drawn : operation::nothing;
  }

  static bool ends_an_actor(operation what) noexcept {
    return what == operation::stop || what == operation::stop_now || what == operation::fail ||
           what == operation::fail_constructor || what == operation::fail_on_stop;
  }

  [[nodiscard]] int somebody() {
    return choose(static_cast<int>(world_.parts().size()), "an actor");
  }

  void do_one(operation what, int by, int other) {
    if (what == operation::nothing) return;
    if (by == by_any && is_from_outside(what) && one_in(4, "who does it")) by = by_outside;
    if (what >= operation::advance) by = by_outside;
    if (by == by_any) by = somebody();
    if (other == by_any) other = somebody();
    order o{static_cast<int>(what), other, choose(64, "a number")};
    if (is_slow(what)) o.then = static_cast<int>(what_then(by));
    if (by == by_outside) {
      outside(what, o);
    } else if (is_slow(what)) {
      const bool often = by == 1 || (by == 0 && is_in_focus(feature::exclusive));
      const bool exclusively =
          world_.at(by).is != shape::function && (one_in(4, "exclusively") != often);
      tell_to(by, o, exclusively);
    } else if (what == operation::change_state && one_in(2, "who changes a state")) {
      if (const ref<machine> it = world_.at(by).weak_machine.lock()) (void)it.send(flip{});
    } else {
      tell_to(by, o);
    }
  }

  // The operation that a slow one executes when it resumes.
  operation what_then(int by) {
    if (by == 0 && is_in_focus(feature::exclusive)) {
      const auto those = recipes_of(its_[0] == feature::exclusive ? its_[1] : its_[0]);
      for (const recipe& each : those) {
        if (each.by != by_outside && is_at_once(each.what) && each.other != 0 &&
            one_in(2, "what follows")) {
          return each.what;
        }
      }
    }
    if (!one_in(4, "what follows")) return operation::nothing;
    const operation drawn = drawn_operation();
    return is_at_once(drawn) ? drawn : operation::nothing;
  }

  void outside(operation what, const order& o) {
    world_.log(std::string("outside: ") + to_string(what));
    part& p = world_.at(o.other);
    switch (what) {
      case operation::advance:
        sim_.advance(std::chrono::microseconds(500 * (1 + o.number % 8)));
        break;
      case operation::run:
        sim_.run_until_idle();
        break;
      case operation::collect:
        (void)world_.system->collect_cycles();
        break;
      case operation::drop_reference:
        p.as_player = {};
        p.as_machine = {};
        p.as_function = {};
        break;
      case operation::close_channel:
        (void)world_.channels[static_cast<std::size_t>(o.number) % 2].close();
        break;
      default:
        do_outside(o);
        break;
    }
  }

  template <class Handle>
  static void give(const Handle& to, const order& o, bool is_slow_one, bool exclusively) {
    if (!is_slow_one) {
      (void)to.send(act{o});
    } else if (!exclusively) {
      (void)to.send(slow{o});
    } else if constexpr (requires { to.send(alone{o}); }) {
      (void)to.send(alone{o});
    }
  }

  void tell_to(int by, const order& o, bool exclusively = false) {
    const part& p = world_.at(by);
    const bool is_slow_one = is_slow(static_cast<operation>(o.what));
    if (const ref<player> it = p.weak_player.lock()) {
      give(it, o, is_slow_one, exclusively);
    } else if (const ref<machine> its = p.weak_machine.lock()) {
      give(its, o, is_slow_one, exclusively);
    } else if (p.as_function) {
      const walker_handle held = p.as_function;
      if (is_slow_one) {
        (void)held.send(slow{o});
      } else {
        (void)held.send(act{o});
      }
    }
  }

  void run_a_while() {
    switch (choose(8, "how long it runs")) {
      case 0:
      case 1:
      case 2:
        break;
      case 3:
      case 4: {
        int turns = 1 + choose(12, "how many turns");
        (void)sim_.run_until([&] { return turns-- <= 0; }, 1ms);
        break;
      }
      case 5:
        sim_.run_until_idle();
        break;
      case 6:
        sim_.advance(500us);
        break;
      default:
        sim_.advance(4ms);
        break;
    }
  }

  // ── The end of a run ────────────────────────────────────────────────────────────────────────

  void end(troupe::system& system) {
    int how = choose(4, "how it ends");
    if (is_in_focus(feature::shutdown)) how = 1;
    if (is_in_focus(feature::shutdown_now)) how = 2;
    world_.log(std::array{"it settles, and is shut down", "it is shut down", "it is shut down now",
                          "it settles"}[static_cast<std::size_t>(how)]);
    if (how == 0 || how == 3) {
      settle(system);
      probe();
      settle(system);
      world_.throw_if_broken();
    } else {
      if (how != 0 && (is_in_focus(feature::shutdown) || is_in_focus(feature::shutdown_now))) {
        for (const feature each : its_) do_all(recipes_of(each));
        int turns = 12;
        (void)sim_.run_until([&] { return turns-- <= 0; }, 100us);
        for (int i = 0; i < 2; ++i) tell_to(0, {});
      }
      note_backlog(how == 1 ? feature::shutdown : feature::shutdown_now);
    }
    supervisor_ = {};
    if (how == 0 || how == 1) check_end(system, system.shutdown(60s));
    if (how == 2) check_end(system, system.shutdown_now(60s));
  }

  // Even after an exception, no reference outlives the system.
  struct references_go_first {
    program& of;
    ~references_go_first() {
      of.supervisor_ = {};
      for (part& each : of.world_.parts()) {
        each.as_player = {};
        each.as_machine = {};
        each.as_function = {};
      }
    }
  };

  // Runs until nothing happens any more. An actor may have been told several times to stop, and is
  // restarted each time.
  void settle(troupe::system& system) {
    std::uint64_t before = 0;
    for (int rounds = 0;; ++rounds) {
      const std::uint64_t now = world_.handlers + world_.timers.size() + world_.objects_made;
      if (rounds > 1 && now == before) break;
      before = now;
      if (rounds > 200) return world_.broken("it does not settle");
      sim_.advance(40ms);
      for (std::size_t i = 0; i < world_.timers.size(); ++i) {
        if (!world_.timers[i].is_over) world_.cancel(static_cast<int>(i), -1);
      }
    }
    (void)system.collect_cycles();
    sim_.run_until_idle();
    (void)system.collect_cycles();
    sim_.advance(20ms);
    world_.settled();
  }

  // The limits of an idle actor are fully available.
  void probe() {
    for (std::size_t i = 0; i < world_.parts().size(); ++i) {
      part& p = world_.at(static_cast<int>(i));
      if (p.as_player) probe(p, p.as_player);
      if (p.as_machine) probe(p, p.as_machine);
    }
  }

  template <class Handle>
  void probe(part& p, const Handle& it) {
    const std::size_t fits = std::min<std::size_t>(p.max_messages, 6);
    const auto send = [&](auto make) {
      const int id = world_.new_letter(world::kind_of<decltype(make(0))>(), -1, p.index);
      const delivery said = it.send(make(id));
      world_.sent(id, said);
      world_.require(p.has_ended ? said == delivery::refused : said == delivery::accepted,
                     "an idle actor has all of its room, and one that has ended none");
    };
    for (int i = 0; i < 2; ++i) send([](int id) { return limited{token(id)}; });
    sim_.run_until_idle();
    for (std::size_t i = 0; i < fits; ++i) send([](int id) { return parcel{token(id)}; });
    sim_.run_until_idle();
  }

  void note_backlog(feature what) {
    for (part& each : world_.parts()) {
      const std::uint32_t idle = each.policy == policy::drop_oldest ? 0 : 1;  // such messages do
                                                                              // not count
      const bool waits = (each.as_player && load_of(each.as_player) > idle) ||
                         (each.as_machine && load_of(each.as_machine) > idle) ||
                         (each.as_function && load_of(each.as_function) > idle);
      if (waits && !each.has_ended) world_.happens(each, what);
    }
  }

  static std::uint32_t load_of(const walker_handle& of) {
    return detail::recipient_access::block(of).load();
  }
  template <class A>
  static std::uint32_t load_of(const ref<A>& of) {
    return detail::ref_access::block(of).load();
  }

  void check_end(troupe::system& system, const shutdown_report& report) {
    world& w = world_;
    if (!report.complete()) w.broken("a shutdown is not complete: " + to_string(report));
    const statistics now = system.statistics();
    w.require(now.actors_alive == 0, "no actor is left");
    w.require(now.messages_waiting == 0, "no message is left");
    w.require(now.message_bytes_waiting == 0, "no byte is left");
    w.require(now.senders_paused == 0, "no sender is left suspended");
    w.require(now.handlers_waiting == 0, "no handler is left in async_send()");
    w.require(now.overdraft_bytes == 0, "the overdraft is given back at the end");
    w.require(now.timers_armed == 0, "no timer is left");
    w.require(now.dead_letters == w.dead_letters, "dead letters are counted and told");
    w.require(now.messages_refused == w.refused, "what is refused is counted and told");
    w.require(now.messages_dropped == w.dropped, "what is dropped is counted and told");
    w.require(now.messages_redirected == w.redirected, "what is redirected is counted and told");
    w.require(now.pauses == w.pauses, "suspensions are counted and told");
    w.require(now.wait_cycles == w.wait_cycles, "wait cycles are counted and told");
    w.require(now.failures == w.failures, "failures are counted and told");
    w.require(registry(system).count() == 0, "no name is left");
    w.require(w.subscriptions.empty(), "no subscription is left");
    for (const budget& each : w.budgets) {
      w.require(each.used() == 0, "the budgets are given back at the end");
    }
  }

  sim::simulation& sim_;
  world world_;
  const focus its_;
  ref<supervisor> supervisor_;
  bool is_group_elsewhere_ = false;
};

}  // namespace

void run_program(sim::simulation& sim, matrix& into, bool verbose) {
  try {
    program(sim, verbose).run(into);
  } catch (...) {
    if (verbose) std::fprintf(stderr, "%s", sim.trace().c_str());
    throw;
  }
}

}  // namespace troupe::random_programs
