// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/lua/shared.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::lua::detail {

/// The state of a store, and counts of its events.
struct store_statistics {
  std::uint64_t entries = 0;  // current number, including expired entries that are not freed yet
  std::uint64_t bytes = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t refused = 0;  // because a limit was reached
  std::uint64_t evicted = 0;  // because a limit was reached
  std::uint64_t expired = 0;
};

/// Keys and values in memory. An entry may have an expiry time.
///
/// Threads:   any.
/// Invariant: the numbers of entries and bytes never exceed those in the options.
/// Cost:      a mutex, and the cost of a map of the entries. Values are never copied. Each call
///            that may change something frees a few expired entries; sweep() frees the others.
class shared_store {
 public:
  using value = std::shared_ptr<const std::string>;
  static constexpr std::size_t entry_bytes = 128;

  struct found {
    shared_store::value value;
    std::uint64_t version = 0;  // from 1; each change in the store makes a new one
  };
  enum class written : std::uint8_t { done, not_done, full };
  struct increased {
    enum class outcome : std::uint8_t { done, no_integer, too_large, full } what = outcome::done;
    std::int64_t value = 0;
  };
  static constexpr time_point never = time_point::max();

  explicit shared_store(const store_options& bounds) : bounds_(bounds) {}
  shared_store(const shared_store&) = delete;
  shared_store& operator=(const shared_store&) = delete;

  /// Takes effect at the next write.
  void set_bounds(const store_options& bounds);

  [[nodiscard]] std::optional<found> get(std::string_view key, time_point now);

  written set(std::string_view key, value what, time_point until, time_point now);
  /// Does nothing if the key exists.
  written add(std::string_view key, value what, time_point until, time_point now);
  /// Does nothing if the version differs. Version 0 means that the key does not exist.
  written compare_and_set(std::string_view key, std::uint64_t version, value what, time_point until,
                          time_point now);
  /// Adds to an integer, or to 0 if the key does not exist; `until` is used only in that case.
  increased increase(std::string_view key, std::int64_t by, time_point until, time_point now);
  /// Returns false if the key did not exist.
  bool remove(std::string_view key, time_point now);
  bool expire(std::string_view key, time_point until, time_point now);

  /// Returns, in order, the keys that begin with `prefix` and follow `after`. Expired entries are
  /// freed on the way.
  [[nodiscard]] std::vector<std::string> keys(std::string_view prefix, std::string_view after,
                                              std::size_t most, time_point now);

  /// Frees at most `most` expired entries. Returns false if no entry remains that will expire.
  bool sweep(std::size_t most, time_point now);

  [[nodiscard]] store_statistics statistics() const;

 private:
  struct entry {
    shared_store::value value;
    std::uint64_t version = 0;
    std::list<const std::string*>::iterator recent;
    std::multimap<time_point, const std::string*>::iterator due;  // end(): never
  };
  using all_entries = std::map<std::string, entry, std::less<>>;

  // All of these require the mutex.
  [[nodiscard]] all_entries::iterator look(std::string_view key, time_point now);
  written put(std::string_view key, value what, time_point until, time_point now);
  [[nodiscard]] bool has_room(std::size_t bytes, std::size_t entries) const noexcept;
  [[nodiscard]] bool make_room(std::size_t bytes, std::size_t entries, const std::string* but,
                               time_point now);
  void set_due(all_entries::iterator of, time_point until);
  void take_out(all_entries::iterator which);
  [[nodiscard]] bool has_expired(all_entries::iterator which, time_point now) const noexcept;
  bool free_one_expired(time_point now);
  void free_some_expired(time_point now);

  mutable mutex mutex_;  // guards the members below
  store_options bounds_;
  all_entries entries_;
  std::list<const std::string*> recent_;  // most recently used first
  std::multimap<time_point, const std::string*> due_;
  std::size_t bytes_ = 0;
  std::uint64_t last_version_ = 0;
  store_statistics counts_;
};

}  // namespace troupe::lua::detail
