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

/// What a store has, and what it has done.
struct store_statistics {
  std::uint64_t entries =
      0;  // at the moment, those included that have expired and are not freed yet
  std::uint64_t bytes = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t refused = 0;  // for want of room
  std::uint64_t evicted = 0;  // for want of room
  std::uint64_t expired = 0;
};

/// Keys and values in memory, some of them for a time.
///
/// Threads:   any.
/// Invariant: there are never more entries and bytes than its options say.
/// Cost:      a mutex, and what a map of its entries costs. A value is copied nowhere. What has expired is freed a few
///            entries at a time, by each call that may change something, or by sweep().
class shared_store {
 public:
  using value = std::shared_ptr<const std::string>;
  static constexpr std::size_t entry_bytes = 128;

  struct found {
    shared_store::value value;
    std::uint64_t version = 0;  // from 1 on; another one after each change, in the whole store
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

  /// From the next write on.
  void set_bounds(const store_options& bounds);

  [[nodiscard]] std::optional<found> get(std::string_view key, time_point now);

  written set(std::string_view key, value what, time_point until, time_point now);
  /// Not done: it is there.
  written add(std::string_view key, value what, time_point until, time_point now);
  /// Not done: it has another version. Version 0: it is not there.
  written compare_and_set(std::string_view key, std::uint64_t version, value what, time_point until,
                          time_point now);
  /// Adds to an integer, or to 0 if it is not there; only then `until` is for it.
  increased increase(std::string_view key, std::int64_t by, time_point until, time_point now);
  /// False: it was not there.
  bool remove(std::string_view key, time_point now);
  bool expire(std::string_view key, time_point until, time_point now);

  /// In their order, those that begin with `prefix` and come behind `after`. What has expired goes on the way.
  [[nodiscard]] std::vector<std::string> keys(std::string_view prefix, std::string_view after,
                                              std::size_t most, time_point now);

  /// Frees what has expired, `most` at a time. False: nothing is left that will.
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

  // All with the mutex.
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

  mutable mutex mutex_;  // guards what follows
  store_options bounds_;
  all_entries entries_;
  std::list<const std::string*> recent_;  // the one used last is the first
  std::multimap<time_point, const std::string*> due_;
  std::size_t bytes_ = 0;
  std::uint64_t last_version_ = 0;
  store_statistics counts_;
};

}  // namespace troupe::lua::detail
