// SPDX-License-Identifier: Apache-2.0
#include "dispatchers.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/sync/thread_traits.hpp>

#include "runtime.hpp"

namespace troupe::detail {

namespace {

unsigned workers_of(const dispatcher_options& options) {
  if (options.workers != 0) return options.workers;
  if (!options.cpus.empty()) return static_cast<unsigned>(options.cpus.size());
  return usable_cpus();
}

}  // namespace

// ── Opening and closing ───────────────────────────────────────────────────────────────────────

void dispatchers::open(std::vector<dispatcher_options> all, std::int64_t settles_at) {
  for (dispatcher_options& each : all) open(std::move(each), settles_at);
  first_ = all_.front()->pool.get();
}

void dispatchers::simulate(const std::vector<dispatcher_options>& all) {
  for (const dispatcher_options& each : all) all_.push_back(fresh(each));
}

std::unique_ptr<dispatchers::dispatcher> dispatchers::fresh(const dispatcher_options& options) {
  if (options.name.empty()) {
    throw std::invalid_argument(
        "troupe: an entry of system_options::dispatchers has no name: set "
        "dispatcher_options::name");
  }
  if (find(options.name) != nullptr) {
    throw std::invalid_argument("troupe: two dispatchers have the name \"" + options.name +
                                "\": choose another name; the names in use are " + names());
  }
  return std::make_unique<dispatcher>(home_, options.name);
}

void dispatchers::open(dispatcher_options options, std::int64_t settles_at) {
  auto one = fresh(options);
  const bool is_first = all_.empty();
  one->pool = std::make_unique<worker_pool>(
      pool_options{.workers = workers_of(options),
                   .max_threads = options.max_threads,
                   .blocking_threshold = options.blocking_threshold,
                   .turn_messages = std::max(1u, options.turn_messages),
                   .spin_rounds = std::max(1u, options.spin_rounds),
                   .settles_at = settles_at,
                   .listener = one.get(),
                   .name = is_first ? "troupe" : options.name,
                   .threads = thread_traits(std::move(options.cpus), options.niceness,
                                            "the dispatcher \"" + options.name + "\""),
                   .draws = home_.draws()},
      control_block::turn);
  all_.push_back(std::move(one));
}

// Stops all of them first: until then one pool's listener may inspect the others.
void dispatchers::stop() noexcept {
  for (const auto& each : all_) {
    if (each->pool != nullptr) each->pool->stop();
  }
}

void dispatchers::close() noexcept {
  stop();
  first_ = nullptr;
  all_.clear();
}

// ── Names ─────────────────────────────────────────────────────────────────────────────────────

dispatchers::dispatcher* dispatchers::find(std::string_view name) const noexcept {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each->name == name; });
  return at == all_.end() ? nullptr : at->get();
}

std::string dispatchers::names() const {
  std::string text;
  for (const auto& each : all_) text += (text.empty() ? "\"" : ", \"") + each->name + "\"";
  return text;
}

worker_pool& dispatchers::named(std::string_view name) const {
  check(name);
  return *find(name)->pool;
}

void dispatchers::check(std::string_view name) const {
  if (find(name) != nullptr) return;
  throw std::invalid_argument("troupe: the dispatcher \"" + std::string(name) +
                              "\" does not exist in this system, which has " + names() +
                              ": add it to system_options::dispatchers");
}

// ── Notifying and counting ────────────────────────────────────────────────────────────────────

dispatcher_statistics dispatchers::dispatcher::statistics() const {
  dispatcher_statistics s;
  s.name = name;
  if (pool == nullptr) return s;  // a simulation has no threads
  const worker_pool::population threads = pool->threads();
  s.workers = pool->size();
  s.workers_parked = pool->parked();
  s.workers_busy = s.workers - std::min(s.workers, s.workers_parked);
  s.workers_limit = pool->limit();
  s.threads = threads.threads;
  s.threads_resting = threads.resting;
  s.workers_replaced = threads.replacements;
  s.workers_stuck = threads.refused;
  return s;
}

void dispatchers::add_to(troupe::statistics& s) const {
  for (const auto& each : all_) {
    dispatcher_statistics one = each->statistics();
    s.workers += one.workers;
    s.workers_busy += one.workers_busy;
    s.workers_parked += one.workers_parked;
    s.workers_limit += one.workers_limit;
    s.pool_threads += one.threads;
    s.pool_threads_resting += one.threads_resting;
    s.workers_replaced += one.workers_replaced;
    s.workers_stuck += one.workers_stuck;
    s.dispatchers.push_back(std::move(one));
  }
}

void dispatchers::dispatcher::grew(const stuck_turn& why) noexcept {
  tell(pool_event::kind::grew, why.threads, &why);
}
void dispatchers::dispatcher::could_not_grow(const stuck_turn& why) noexcept {
  tell(pool_event::kind::could_not_grow, why.threads, &why);
}
void dispatchers::dispatcher::shrank(unsigned threads) noexcept {
  tell(pool_event::kind::shrank, threads, nullptr);
}

void dispatchers::dispatcher::tell(pool_event::kind what, unsigned threads,
                                   const stuck_turn* why) const noexcept {
  pool_event event;
  event.what = what;
  event.dispatcher = name;
  event.threads = threads;
  if (why != nullptr) event.lasted = why->lasted;
  home.pool_changed(event, why != nullptr ? why->whose : nullptr);
}

}  // namespace troupe::detail
