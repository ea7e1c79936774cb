// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <source_location>
#include <vector>

#include "address_table.hpp"

// The memory model: which store a load may read, and where in an object's modification order a
// store may be placed. It is that of C++20, except for the differences listed in README.md of this
// folder.
//
// An execution is built operation by operation, in an order in which every load comes after the
// store that it reads. Coherence and happens-before (vector clocks) decide which store a load may
// read. A store may be placed anywhere in the modification order that coherence leaves open, not
// only at its end. The order S of all seq_cst operations need not be the order of the execution: a
// graph of its constraints is kept, and an operation that would close a cycle in it is not
// permitted.

namespace troupe::model {

inline constexpr std::size_t threads_max = 8;
using thread_index = std::uint8_t;
using bits = std::uint64_t;

/// Mixes one more word into a hash (the finaliser of splitmix64).
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  std::uint64_t z = hash + 0x9e3779b97f4a7c15u + word * 0xd6e8feb86659fd93u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// How much of each thread's past is known.
struct vector_clock {
  std::array<std::uint32_t, threads_max> at{};

  void join(const vector_clock& other) noexcept {
    for (std::size_t t = 0; t < threads_max; ++t) {
      if (other.at[t] > at[t]) at[t] = other.at[t];
    }
  }
  [[nodiscard]] bool covers(thread_index of, std::uint32_t stamp) const noexcept {
    return stamp <= at[of];
  }
};

struct source_line {
  const char* file = "";
  std::uint32_t line = 0;

  source_line() = default;
  source_line(const std::source_location& at) noexcept : file(at.file_name()), line(at.line()) {}

  /// A line that is known only by a return address, for operators that cannot take a location
  /// argument, such as a conversion or an assignment. with_lines() finds the line.
  [[nodiscard]] static source_line returning_to(const void* code) noexcept {
    source_line at;
    at.file = static_cast<const char*>(code);
    at.line = of_an_instruction;
    return at;
  }
  [[nodiscard]] const void* instruction() const noexcept {
    return line == of_an_instruction ? file : nullptr;
  }

 private:
  static constexpr std::uint32_t of_an_instruction = std::numeric_limits<std::uint32_t>::max();
};

/// A moment in one thread's history.
struct moment {
  thread_index thread = 0;
  std::uint32_t stamp = 0;
  source_line where;
};

/// One modification of an atomic object.
struct store {
  bits value = 0;
  moment made;
  std::uint64_t identity = 0;  // the same whatever other threads did meanwhile
  vector_clock released;       // the clock that an acquire load of this store joins
  bool is_rmw = false;         // reads its predecessor; no store comes in between
  std::uint32_t position = 0;  // position in the modification order
};

/// An atomic object.
struct location {
  const void* at = nullptr;
  std::size_t bytes = 0;
  std::uint64_t name = 0;  // used in hashes
  std::uint32_t number = 0;
  moment born;
  bool is_freed = false;
  moment freed;
  vector_clock wakes;  // the clock of the futex_wake() calls on it

  struct read {
    std::uint32_t stamp;
    const store* from;
  };
  std::vector<store*> order;
  std::array<std::vector<read>, threads_max> reads;
  std::vector<std::uint32_t> seq_cst;  // its operations in S
  std::uint64_t order_hash = 0;
};

/// A piece of watched memory that is not atomic.
struct plain_cell {
  source_line born;
  bool is_written = false;
  moment written;
  std::array<moment, threads_max> read{};  // stamp 0: not read since
  bool is_freed = false;
  moment freed;
};

class memory {
 public:
  /// Removes all objects.
  void reset();

  // ── Objects ─────────────────────────────────────────────────────────────────────────────────
  location* find(const void* at) noexcept;
  /// `known_to_all` is for an object that existed before the execution began.
  location& make(const void* at, std::size_t bytes, bits initial, std::uint64_t name, moment by,
                 bool known_to_all);
  plain_cell* find_plain(const void* at) noexcept;
  plain_cell& make_plain(const void* at, source_line born);
  /// The memory in this range is given back. Returns a plain cell that another thread uses
  /// concurrently, if any.
  const plain_cell* free(const void* begin, std::size_t bytes, moment by, const vector_clock& clock,
                         const moment** other);

  /// An atomic in this range that another thread uses concurrently, if any. Call it before free().
  [[nodiscard]] const location* find_unordered(const void* begin, std::size_t bytes,
                                               const vector_clock& clock) const;

  // ── Possible outcomes ───────────────────────────────────────────────────────────────────────
  /// The first store in modification order that a thread with this clock may read.
  [[nodiscard]] static std::uint32_t floor(const location& at, const vector_clock& clock) noexcept;
  /// Returns false if the construction of `at` does not happen before.
  [[nodiscard]] static bool is_known(const location& at, const vector_clock& clock) noexcept {
    return clock.covers(at.born.thread, at.born.stamp);
  }
  /// Whether S permits a seq_cst operation that reads `read` (null: a plain store) and then writes
  /// after `behind` (null: a plain load).
  [[nodiscard]] bool permits(const location& at, const vector_clock& clock, const store* read,
                             const store* behind);

  // ── Effects ─────────────────────────────────────────────────────────────────────────────────
  void note_read(location& at, moment by, const store& from);
  store& insert(location& at, const store& behind, bits value, moment by, std::uint64_t identity,
                bool is_rmw);
  void note_seq_cst(location& at, moment by, const vector_clock& clock, const store* read,
                    const store* written);

  /// A hash of all modification orders.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// Whether S has no space for another operation.
  [[nodiscard]] bool is_full() const noexcept { return ordered_.size() + 1 >= seq_cst_max; }

  template <class Function>
  void for_each_location(Function&& fn) {
    for (std::size_t i = 0; i < locations_used_; ++i) fn(locations_[i]);
  }

 private:
  static constexpr std::size_t seq_cst_max = 4096;
  using set = std::array<std::uint64_t, seq_cst_max / 64>;

  // One operation in S. Its keys give its position in the modification order: 4p+1 for a load of
  // the store at p, 4p for the store itself, 4p+2 for one that is about to be inserted after p.
  struct ordered {
    moment by;
    const location* at;
    const store* read;
    const store* written;
    [[nodiscard]] std::uint32_t lowest() const noexcept {
      return read != nullptr ? 4 * read->position + 1 : 4 * written->position;
    }
    [[nodiscard]] std::uint32_t highest() const noexcept {
      return written != nullptr ? 4 * written->position : 4 * read->position + 1;
    }
  };
  // The neighbours of a new operation: all operations before it, and those at its location after
  // it.
  struct neighbours {
    set before;
    set after;
  };
  static bool contains(const set& of, std::uint32_t i) noexcept {
    return (of[i / 64] >> (i % 64) & 1) != 0;
  }
  static void add(set& to, std::uint32_t i) noexcept { to[i / 64] |= std::uint64_t{1} << (i % 64); }
  void find_neighbours(const location& at, const vector_clock& clock, std::uint32_t lowest,
                       std::uint32_t highest, neighbours& found) const;
  [[nodiscard]] std::size_t words() const noexcept { return ordered_.size() / 64 + 1; }

  void rehash(location& at) noexcept;

  address_table<location> by_address_;
  std::deque<location> locations_;
  std::size_t locations_used_ = 0;
  std::deque<store> stores_;
  std::size_t stores_used_ = 0;
  address_table<plain_cell> plain_by_address_;
  std::deque<plain_cell> plain_;
  std::size_t plain_used_ = 0;

  std::vector<ordered> ordered_;  // in the order of execution
  // [i]: the operations known to come before i in S, for any reason
  std::vector<set> precede_;
  std::array<std::vector<std::uint32_t>, threads_max> of_thread_;
  neighbours scratch_;
  std::uint64_t hash_ = 0;
};

}  // namespace troupe::model
