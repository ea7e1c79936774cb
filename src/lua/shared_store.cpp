// SPDX-License-Identifier: Apache-2.0

#include "shared_store.hpp"

#include <mutex>
#include <utility>

#include "cbor_integer.hpp"

namespace troupe::lua::detail {
namespace {

// The number of expired entries that a call frees in addition to its own work.
constexpr int expired_at_once = 4;

std::size_t cost_of(std::string_view key, const shared_store::value& what) noexcept {
  return key.size() + what->size() + shared_store::entry_bytes;
}

}  // namespace

void shared_store::set_bounds(const store_options& bounds) {
  const std::lock_guard lock(mutex_);
  bounds_ = bounds;
}

// ── Reading ───────────────────────────────────────────────────────────────────────────────────

std::optional<shared_store::found> shared_store::get(std::string_view key, time_point now) {
  const std::lock_guard lock(mutex_);
  const auto at = look(key, now);
  if (at == entries_.end()) {
    ++counts_.misses;
    return std::nullopt;
  }
  ++counts_.hits;
  recent_.splice(recent_.begin(), recent_, at->second.recent);
  return found{at->second.value, at->second.version};
}

std::vector<std::string> shared_store::keys(std::string_view prefix, std::string_view after,
                                            std::size_t most, time_point now) {
  std::vector<std::string> all;
  const std::lock_guard lock(mutex_);
  auto at = after < prefix ? entries_.lower_bound(prefix) : entries_.upper_bound(after);
  while (at != entries_.end() && at->first.starts_with(prefix) && all.size() < most) {
    const auto one = at++;
    if (has_expired(one, now)) {
      take_out(one);
      ++counts_.expired;
    } else {
      all.push_back(one->first);
    }
  }
  return all;
}

store_statistics shared_store::statistics() const {
  const std::lock_guard lock(mutex_);
  store_statistics now = counts_;
  now.entries = entries_.size();
  now.bytes = bytes_;
  return now;
}

// ── Writing ───────────────────────────────────────────────────────────────────────────────────

shared_store::written shared_store::set(std::string_view key, value what, time_point until,
                                        time_point now) {
  const std::lock_guard lock(mutex_);
  free_some_expired(now);
  (void)look(key, now);
  return put(key, std::move(what), until, now);
}

shared_store::written shared_store::add(std::string_view key, value what, time_point until,
                                        time_point now) {
  const std::lock_guard lock(mutex_);
  free_some_expired(now);
  if (look(key, now) != entries_.end()) return written::not_done;
  return put(key, std::move(what), until, now);
}

shared_store::written shared_store::compare_and_set(std::string_view key, std::uint64_t version,
                                                    value what, time_point until, time_point now) {
  const std::lock_guard lock(mutex_);
  free_some_expired(now);
  const auto at = look(key, now);
  if ((at == entries_.end() ? 0 : at->second.version) != version) return written::not_done;
  return put(key, std::move(what), until, now);
}

shared_store::increased shared_store::increase(std::string_view key, std::int64_t by,
                                               time_point until, time_point now) {
  using outcome = increased::outcome;
  const std::lock_guard lock(mutex_);
  free_some_expired(now);
  std::int64_t before = 0;
  if (const auto at = look(key, now); at != entries_.end()) {
    const auto is = integer_of_cbor(*at->second.value);
    if (!is) return {outcome::no_integer};
    before = *is;
    until = at->second.due == due_.end() ? never : at->second.due->first;
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(before, by, &sum)) return {outcome::too_large};
  const written did = put(key, std::make_shared<const std::string>(cbor_of(sum)), until, now);
  return did == written::done ? increased{outcome::done, sum} : increased{outcome::full};
}

bool shared_store::remove(std::string_view key, time_point now) {
  const std::lock_guard lock(mutex_);
  free_some_expired(now);
  const auto at = look(key, now);
  if (at == entries_.end()) return false;
  take_out(at);
  return true;
}

bool shared_store::expire(std::string_view key, time_point until, time_point now) {
  const std::lock_guard lock(mutex_);
  free_some_expired(now);
  const auto at = look(key, now);
  if (at == entries_.end()) return false;
  set_due(at, until);
  return true;
}

shared_store::written shared_store::put(std::string_view key, value what, time_point until,
                                        time_point now) {
  auto at = entries_.find(key);
  const bool is_new = at == entries_.end();
  const std::size_t cost = cost_of(key, what);
  const std::size_t before = is_new ? 0 : cost_of(key, at->second.value);
  if (!is_new) recent_.splice(recent_.begin(), recent_, at->second.recent);
  if (cost > before &&
      !make_room(cost - before, is_new ? 1 : 0, is_new ? nullptr : &at->first, now)) {
    ++counts_.refused;
    return written::full;
  }
  if (is_new) {
    recent_.push_front(nullptr);
    try {
      at = entries_.try_emplace(std::string(key)).first;
    } catch (...) {
      recent_.pop_front();
      throw;
    }
    recent_.front() = &at->first;
    at->second.recent = recent_.begin();
    at->second.due = due_.end();
  }
  at->second.value = std::move(what);
  at->second.version = ++last_version_;
  bytes_ += cost;
  bytes_ -= before;
  set_due(at, until);
  return written::done;
}

// ── Space ─────────────────────────────────────────────────────────────────────────────────────

bool shared_store::has_room(std::size_t bytes, std::size_t entries) const noexcept {
  return bytes <= bounds_.bytes && bytes_ <= bounds_.bytes - bytes &&
         entries_.size() + entries <= bounds_.entries;
}

// Frees space for that much more. `but` stays: it was used last, and has not expired.
bool shared_store::make_room(std::size_t bytes, std::size_t entries, const std::string* but,
                             time_point now) {
  while (!has_room(bytes, entries)) {
    if (free_one_expired(now)) continue;
    if (bounds_.on_full == on_full::refuse || bytes > bounds_.bytes) return false;
    if (recent_.empty() || recent_.back() == but) return false;
    take_out(entries_.find(*recent_.back()));
    ++counts_.evicted;
  }
  return true;
}

void shared_store::set_due(all_entries::iterator of, time_point until) {
  const auto before = of->second.due;
  of->second.due = until == never ? due_.end() : due_.emplace(until, &of->first);
  if (before != due_.end()) due_.erase(before);
}

void shared_store::take_out(all_entries::iterator which) {
  bytes_ -= cost_of(which->first, which->second.value);
  recent_.erase(which->second.recent);
  if (which->second.due != due_.end()) due_.erase(which->second.due);
  entries_.erase(which);
}

// ── Time ──────────────────────────────────────────────────────────────────────────────────────

// An expired entry counts as absent and is removed.
shared_store::all_entries::iterator shared_store::look(std::string_view key, time_point now) {
  const auto at = entries_.find(key);
  if (at == entries_.end() || !has_expired(at, now)) return at;
  take_out(at);
  ++counts_.expired;
  return entries_.end();
}

bool shared_store::has_expired(all_entries::iterator which, time_point now) const noexcept {
  return which->second.due != due_.end() && which->second.due->first <= now;
}

bool shared_store::free_one_expired(time_point now) {
  if (due_.empty() || due_.begin()->first > now) return false;
  take_out(entries_.find(*due_.begin()->second));
  ++counts_.expired;
  return true;
}

void shared_store::free_some_expired(time_point now) {
  for (int i = 0; i < expired_at_once && free_one_expired(now); ++i) {
  }
}

bool shared_store::sweep(std::size_t most, time_point now) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < most && free_one_expired(now); ++i) {
  }
  return !due_.empty();
}

}  // namespace troupe::lua::detail
