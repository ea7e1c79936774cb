// SPDX-License-Identifier: Apache-2.0

#include "rate_limiter.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <new>

namespace troupe::http::detail {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

// More is charged in several steps. It keeps the products below within 64 bits.
constexpr std::uint64_t amount_max = 1024 * 1024 * 1024;

// Rounded up, so that a rate is never exceeded.
std::int64_t nanoseconds(std::uint64_t amount, std::uint64_t per_second) noexcept {
  const std::uint64_t product = std::min(amount, amount_max) * second;
  return static_cast<std::int64_t>(product / per_second + (product % per_second != 0 ? 1 : 0));
}

}  // namespace

/// Some of the addresses. The last one that was used is the newest; the oldest goes first.
class rate_limiter::table {
 public:
  using index = std::uint32_t;
  static constexpr index none = std::numeric_limits<index>::max();

  struct entry {
    client_key who;
    std::array<std::int64_t, kinds> full_at{};  // the clock's nanoseconds
    index next_in_chain = none;
    index older = none;
    index newer = none;
  };

  static constexpr std::size_t chunk_entries = 64;  // the last chunk may have fewer
  // A chain's head is 4 bytes, and there are at most two for an entry. While the heads are replaced
  // by twice as many, the old ones are there too.
  static constexpr std::size_t entry_bytes = sizeof(entry) + 3 * sizeof(index) + 4;

  table(std::size_t most, const client_key_hash& hash) noexcept : most_(most), hash_(hash) {}

  mutex guard;  // for all that follows
  // The latest of all buckets. All of them are full then.
  std::int64_t last_full_at = std::numeric_limits<std::int64_t>::min();

  /// Null: there is no memory for a new address.
  entry* find(const client_key& who, std::size_t hash, std::int64_t now,
              counter& evicted) noexcept {
    if (!heads_.empty()) {
      for (index at = head(hash); at != none; at = entry_at(at).next_in_chain) {
        if (entry_at(at).who != who) continue;
        unlink(at);
        link(at);
        return &entry_at(at);
      }
    }
    forget_full(now);
    try {
      return add(who, hash, evicted);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return std::min(chunks_.size() * chunk_entries, most_) * sizeof(entry) +
           chunks_.capacity() * sizeof(chunks_[0]) + heads_.capacity() * sizeof(index);
  }

 private:
  [[nodiscard]] entry& entry_at(index at) noexcept {
    return chunks_[at / chunk_entries][at % chunk_entries];
  }
  [[nodiscard]] index& head(std::size_t hash) noexcept {
    return heads_[hash & (heads_.size() - 1)];
  }

  entry* add(const client_key& who, std::size_t hash, counter& evicted) {
    if (used_ == most_) {
      forget(oldest_);
      evicted.add();
    }
    if (free_ == none && made_ == chunks_.size() * chunk_entries) {
      chunks_.push_back(std::make_unique<entry[]>(std::min(chunk_entries, most_ - made_)));
    }
    if (used_ == heads_.size()) grow_heads();
    const index at = free_ != none ? free_ : made_;
    entry& made = entry_at(at);
    if (free_ != none) {
      free_ = made.next_in_chain;
    } else {
      ++made_;
    }
    made = entry{.who = who};
    index& first = head(hash);
    made.next_in_chain = first;
    first = at;
    link(at);
    ++used_;
    return &made;
  }

  void grow_heads() {
    std::vector<index> more(std::max<std::size_t>(1, 2 * heads_.size()), none);
    heads_.swap(more);
    for (index at = oldest_; at != none; at = entry_at(at).newer) {
      index& first = head(hash_(entry_at(at).who));
      entry_at(at).next_in_chain = first;
      first = at;
    }
  }

  // A new address frees more than it takes, so the table shrinks after a burst. If no bucket is in
  // use any more, the memory is returned.
  void forget_full(std::int64_t now) noexcept {
    if (last_full_at <= now) return clear();
    for (int i = 0; i < 8 && oldest_ != none; ++i) {
      const entry& it = entry_at(oldest_);
      if (*std::max_element(it.full_at.begin(), it.full_at.end()) > now) return;
      forget(oldest_);
    }
  }

  void clear() noexcept {
    std::vector<std::unique_ptr<entry[]>>().swap(chunks_);
    std::vector<index>().swap(heads_);
    used_ = made_ = 0;
    free_ = oldest_ = newest_ = none;
  }

  void forget(index which) noexcept {
    entry& it = entry_at(which);
    index* at = &head(hash_(it.who));
    while (*at != which) at = &entry_at(*at).next_in_chain;
    *at = it.next_in_chain;
    unlink(which);
    it.next_in_chain = free_;
    free_ = which;
    --used_;
  }

  void unlink(index which) noexcept {
    const entry& it = entry_at(which);
    (it.older == none ? oldest_ : entry_at(it.older).newer) = it.newer;
    (it.newer == none ? newest_ : entry_at(it.newer).older) = it.older;
  }
  void link(index which) noexcept {
    entry& it = entry_at(which);
    it.newer = none;
    it.older = newest_;
    (newest_ == none ? oldest_ : entry_at(newest_).newer) = which;
    newest_ = which;
  }

  const std::size_t most_;
  const client_key_hash& hash_;
  std::vector<std::unique_ptr<entry[]>> chunks_;
  std::vector<index> heads_;  // a power of two
  index made_ = 0;            // entries that were ever used
  index free_ = none;         // of these, those that are not
  std::size_t used_ = 0;
  index oldest_ = none;
  index newest_ = none;
};

rate_limiter::rate_limiter(const http::limits& of, std::size_t loops) {
  const auto set = [&](rate what, std::uint64_t per_second, std::uint64_t burst) {
    if (per_second == 0) return;
    const std::uint64_t held = std::min(burst != 0 ? burst : per_second, amount_max);
    // Tokens that are taken one by one are rounded each time.
    const std::int64_t full = what == rate::received_bytes
                                  ? nanoseconds(held, per_second)
                                  : static_cast<std::int64_t>(held) * nanoseconds(1, per_second);
    rules_[static_cast<std::size_t>(what)] = {.per_second = per_second, .burst = full};
  };
  set(rate::connections, of.connections_per_second, of.connections_burst);
  set(rate::tls_handshakes, of.tls_handshakes_per_second, of.tls_handshakes_burst);
  set(rate::requests, of.requests_per_second, of.requests_burst);
  set(rate::messages, of.messages_per_second, of.messages_burst);
  set(rate::received_bytes, of.received_bytes_per_second, of.received_bytes_burst);
  const bool has_limit = std::any_of(rules_.begin(), rules_.end(),
                                     [](const rule& each) { return each.per_second != 0; });
  if (!has_limit) return;
  // More tables than threads, so that two threads seldom need the same one.
  std::size_t most = std::min(of.rate_addresses_max, of.rate_addresses_bytes / table::entry_bytes);
  most = std::clamp<std::size_t>(most, 1, table::none - 1);
  const std::size_t wanted = loops <= 1 ? 1 : std::bit_ceil(4 * loops);
  const std::size_t affordable =
      std::bit_floor(std::max<std::size_t>(1, most / table::chunk_entries));
  const std::size_t count = std::min(wanted, affordable);
  for (std::size_t i = 0; i < count; ++i) {
    tables_.push_back(std::make_unique<table>(most / count, hash_));
  }
}

rate_limiter::~rate_limiter() = default;

duration rate_limiter::use(rate what, const client_key& who, std::uint64_t amount,
                           bool may_overdraw) noexcept {
  const rule& its = rule_of(what);
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now().time_since_epoch()).count();
  const std::size_t hash = hash_(who);
  table& in = *tables_[(hash >> 32) & (tables_.size() - 1)];
  const std::lock_guard lock(in.guard);
  table::entry* const found = in.find(who, hash, now, evicted_);
  if (found == nullptr) return duration{0};
  std::int64_t& full_at = found->full_at[static_cast<std::size_t>(what)];
  const std::int64_t next = std::max(full_at, now) + nanoseconds(amount, its.per_second);
  const std::int64_t missing = next - its.burst - now;
  if (missing <= 0 || may_overdraw) {
    const std::int64_t last = now + its.burst + std::chrono::nanoseconds(longest_pause).count();
    full_at = std::min(next, last);
    in.last_full_at = std::max(in.last_full_at, full_at);
  }
  const std::int64_t longest = std::chrono::nanoseconds(longest_pause).count();
  return std::chrono::nanoseconds(std::clamp<std::int64_t>(missing, 0, longest));
}

std::size_t rate_limiter::addresses() const noexcept {
  std::size_t all = 0;
  for (const auto& each : tables_) {
    const std::lock_guard lock(each->guard);
    all += each->size();
  }
  return all;
}

std::size_t rate_limiter::bytes() const noexcept {
  std::size_t all = 0;
  for (const auto& each : tables_) {
    const std::lock_guard lock(each->guard);
    all += each->bytes();
  }
  return all;
}

}  // namespace troupe::http::detail
