// SPDX-License-Identifier: Apache-2.0

#include "shared_queues.hpp"

#include <mutex>

namespace troupe::lua::detail {

shared_queues::queue* shared_queues::find(id which) {
  const auto found = queues_.find(which);
  return found == queues_.end() ? nullptr : &found->second;
}

shared_queues::opened shared_queues::open(std::string_view name,
                                          std::optional<std::size_t> capacity,
                                          std::string_view application) {
  using outcome = opened::outcome;
  const std::lock_guard lock(mutex_);
  if (const auto found = names_.find(name); found != names_.end()) {
    queue& its = queues_.at(found->second);
    if (capacity && its.capacity_is_said && *capacity != its.capacity) {
      return {outcome::another_capacity, 0, its.capacity};
    }
    if (capacity) {
      its.capacity = *capacity;
      its.capacity_is_said = true;
    }
    return {outcome::done, found->second, its.capacity};
  }
  if (!made_.take(application, 1)) return {outcome::too_many, 0, 0};
  const id made = ++last_id_;
  try {
    queue& fresh = queues_[made];
    fresh.name = name;
    fresh.application = application;
    names_.emplace(name, made);
  } catch (...) {
    queues_.erase(made);
    made_.give_back(application, 1);
    throw;
  }
  queue& its = queues_.at(made);
  its.capacity = capacity.value_or(capacity_usual);
  its.capacity_is_said = capacity.has_value();
  return {outcome::done, made, its.capacity};
}

shared_queues::pushed shared_queues::push(id to, std::string item, std::string_view application) {
  pending_notifications whom;
  {
    const std::lock_guard lock(mutex_);
    queue* const its = find(to);
    if (its == nullptr || its->closed) return pushed::closed;
    queued one{std::move(item), std::string(application)};
    if (its->items.size() >= its->capacity || !bytes_.take(application, one.cost())) {
      ++its->counts.refused;
      return pushed::full;
    }
    try {
      its->items.push_back(std::move(one));
    } catch (...) {
      bytes_.give_back(application, one.cost());
      throw;
    }
    ++its->counts.pushed;
    tell_who_can(*its, whom);
  }
  whom.tell();
  return pushed::done;
}

// ── Taking ────────────────────────────────────────────────────────────────────────────────────

shared_queues::taken shared_queues::take_first(id from, queue& its) {
  using outcome = taken::outcome;
  if (its.items.empty()) return {its.closed ? outcome::closed : outcome::none, {}, {}};
  queued first = std::move(its.items.front());
  its.items.pop_front();
  bytes_.give_back(first.application, first.cost());
  taken got{outcome::item, std::move(first.item), std::move(first.application)};
  ++its.counts.taken;
  end_if_done(from, its);
  return got;
}

shared_queues::taken shared_queues::take(id from) {
  const std::lock_guard lock(mutex_);
  queue* const its = find(from);
  return its == nullptr ? taken{taken::outcome::closed, {}} : take_first(from, *its);
}

shared_queues::taken shared_queues::take_unpromised(id from) {
  const std::lock_guard lock(mutex_);
  queue* const its = find(from);
  if (its == nullptr) return {taken::outcome::closed, {}};
  if (!its->items.empty() && its->items.size() <= its->told.size()) {
    return {taken::outcome::none, {}};
  }
  return take_first(from, *its);
}

void shared_queues::put_back(id to, taken item) {
  pending_notifications whom;
  {
    const std::lock_guard lock(mutex_);
    queue* const its = find(to);
    if (its == nullptr) {
      ++lost_;
      return;
    }
    queued one{std::move(item.item), std::move(item.application)};
    const std::string& application = its->items.emplace_front(std::move(one)).application;
    bytes_.add(application, its->items.front().cost());
    --its->counts.taken;
    tell_who_can(*its, whom);
  }
  whom.tell();
}

// ── The line ──────────────────────────────────────────────────────────────────────────────────

std::optional<shared_queues::ticket> shared_queues::line_up(id at, const notifier& whom,
                                                            std::uint64_t what) {
  pending_notifications now;
  ticket mine = 0;
  {
    const std::lock_guard lock(mutex_);
    queue* const its = find(at);
    if (its == nullptr) return std::nullopt;
    mine = ++last_ticket_;
    its->untold.emplace(mine, consumer{whom, what});
    tell_who_can(*its, now);
  }
  now.tell();
  return mine;
}

shared_queues::taken shared_queues::take_told(id from, ticket which) {
  const std::lock_guard lock(mutex_);
  queue* const its = find(from);
  if (its == nullptr) return {taken::outcome::closed, {}};
  if (its->items.empty() && !its->closed) {
    // Another consumer was faster. The ticket returns to its position in the line.
    if (auto mine = its->told.extract(which)) its->untold.insert(std::move(mine));
    return {taken::outcome::none, {}};
  }
  its->told.erase(which);
  its->untold.erase(which);
  return take_first(from, *its);
}

void shared_queues::leave(id from, ticket which) {
  pending_notifications whom;
  {
    const std::lock_guard lock(mutex_);
    queue* const its = find(from);
    if (its == nullptr) return;
    its->untold.erase(which);
    its->told.erase(which);
    tell_who_can(*its, whom);
    end_if_done(from, *its);
  }
  whom.tell();
}

void shared_queues::tell_who_can(queue& its, pending_notifications& whom) {
  while (!its.untold.empty() && (its.closed || its.told.size() < its.items.size())) {
    whom.reserve_one();
    auto next = its.untold.extract(its.untold.begin());
    whom.add(next.mapped().whom, next.mapped().what);
    its.told.insert(std::move(next));
  }
}

// ── The rest ──────────────────────────────────────────────────────────────────────────────────

std::size_t shared_queues::count(id of) const {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(of);
  return found == queues_.end() ? 0 : found->second.items.size();
}

bool shared_queues::close(id which) {
  pending_notifications whom;
  {
    const std::lock_guard lock(mutex_);
    queue* const its = find(which);
    if (its == nullptr || its->closed) return false;
    its->closed = true;
    names_.erase(its->name);
    tell_who_can(*its, whom);
    end_if_done(which, *its);
  }
  whom.tell();
  return true;
}

void shared_queues::end_if_done(id which, queue& its) {
  // A notified consumer then finds that the queue no longer exists, which is equivalent.
  if (!its.closed || !its.items.empty()) return;
  made_.give_back(its.application, 1);
  queues_.erase(which);
}

std::vector<queue_statistics> shared_queues::statistics() const {
  std::vector<queue_statistics> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [which, its] : queues_) {
    all.push_back(its.counts);
    all.back().name = its.name;
    all.back().items = its.items.size();
    all.back().waiting = its.told.size() + its.untold.size();
  }
  return all;
}

std::uint64_t shared_queues::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace troupe::lua::detail
