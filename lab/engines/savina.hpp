// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// The computations and the expected results of the Savina workloads, for all engines in C++. C++17,
// because the engines use it. The workloads are those of S. Imam and V. Sarkar, "Savina - An Actor
// Benchmark Suite", AGERE! 2014; the code is our own.
namespace workloads::savina {

inline void expect(bool holds, const char* otherwise) {
  if (!holds) throw std::logic_error(otherwise);
}

/// Savina's generator: 16 bits, the same numbers in every language.
class small_random {
 public:
  explicit small_random(std::uint64_t seed) : value_(seed) {}

  std::uint64_t next() {
    value_ = (value_ * 1309 + 13849) & 65535;
    return value_;
  }
  double next_double() { return 1.0 / static_cast<double>(next() + 1); }

 private:
  std::uint64_t value_;
};

/// A generator with 64 bits, for keys. The seed must not be zero.
class wide_random {
 public:
  explicit wide_random(std::uint64_t seed) : value_(seed) {}

  std::uint64_t next() {
    value_ ^= value_ << 13;
    value_ ^= value_ >> 7;
    value_ ^= value_ << 17;
    return value_;
  }

 private:
  std::uint64_t value_;
};

// ── create ────────────────────────────────────────────────────────────────────────────────────

/// The computation of one actor, in millionths.
inline std::uint64_t compute_sine(double theta) {
  const double sine = std::sin(theta);
  return static_cast<std::uint64_t>(1e6 * sine * sine);
}

inline constexpr double theta = 37.2;

// ── chameneos ─────────────────────────────────────────────────────────────────────────────────

enum class colour : std::uint8_t { blue, red, yellow };

/// Returns the colour of both after a meeting: the same if they are equal, otherwise the third one.
inline colour complement(colour one, colour other) {
  if (one == other) return one;
  return static_cast<colour>(3 - static_cast<int>(one) - static_cast<int>(other));
}

// ── dictionary ────────────────────────────────────────────────────────────────────────────────

/// One request of a client. The value that belongs to a key always leaves the same remainder, so
/// that each reply can be checked.
struct dictionary_request {
  std::uint32_t key;
  bool writes;
};

class dictionary_requests {
 public:
  dictionary_requests(std::uint64_t client, std::uint64_t entries)
      : random_(88172645463325252ULL + client), entries_(entries) {}

  dictionary_request next() {
    const std::uint64_t number = random_.next();
    return {static_cast<std::uint32_t>((number >> 8) % entries_),
            (number & 0xff) * 100 < write_percent * 256};
  }

  static constexpr std::uint64_t write_percent = 10;

 private:
  wide_random random_;
  std::uint64_t entries_;
};

/// Returns how many writes all clients make.
inline std::uint64_t expected_writes(std::uint64_t clients, std::uint64_t requests,
                                     std::uint64_t entries) {
  std::uint64_t writes = 0;
  for (std::uint64_t client = 0; client < clients; ++client) {
    dictionary_requests all(client, entries);
    for (std::uint64_t i = 0; i < requests; ++i) writes += all.next().writes ? 1 : 0;
  }
  return writes;
}

// ── buffer ────────────────────────────────────────────────────────────────────────────────────

inline constexpr std::size_t buffer_capacity = 50;
inline constexpr std::uint64_t item_cost = 25;  // of producing and of consuming

/// Producing or consuming an item: 2,500 logarithms, whose sum is the same each time.
inline double process_item(double term) {
  double result = term;
  small_random random(item_cost);
  for (std::uint64_t i = 0; i < 100 * item_cost; ++i) {
    result += std::log(random.next_double() + 0.01);
  }
  return result;
}

/// Checks the sum of all items. They were added in any order, so the last digits differ.
inline void expect_items(double sum, std::uint64_t producers, std::uint64_t items) {
  const double each = process_item(0);
  const auto n = static_cast<double>(items);
  const double expected = static_cast<double>(producers) * each * n * (n + 1) / 2;
  expect(std::fabs(sum - expected) <= 1e-6 * std::fabs(expected), "an item was lost");
}

// ── logistic ──────────────────────────────────────────────────────────────────────────────────

inline double rate_of_series(std::uint64_t number) {
  return 3.46 + 0.0025 * static_cast<double>(number);
}
inline double first_term_of_series(std::uint64_t number) {
  return 0.0025 * static_cast<double>(number);
}
inline double next_term(double term, double rate) { return rate * term * (1 - term); }

/// `last` has the last term of each series.
inline void expect_terms(const std::vector<double>& last, std::uint64_t terms) {
  for (std::size_t i = 0; i < last.size(); ++i) {
    double term = first_term_of_series(i);
    for (std::uint64_t k = 0; k < terms; ++k) term = next_term(term, rate_of_series(i));
    expect(term == last[i], "a term is wrong");
  }
}

// ── bank ──────────────────────────────────────────────────────────────────────────────────────

struct transfer {
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t amount;
};

/// All transfers go to an account with a higher number, so that accounts that wait for each other
/// never form a cycle. Requires at least 10 accounts.
class transfers {
 public:
  explicit transfers(std::uint64_t accounts) : accounts_(accounts) {}

  transfer next() {
    const std::uint64_t from = random_.next() % (accounts_ / 10 * 8);
    const std::uint64_t step = random_.next() % (accounts_ - from);
    const std::uint64_t to = from + (step == 0 ? 1 : step);
    return {static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
            static_cast<std::int64_t>(random_.next() % 1000)};
  }

 private:
  small_random random_{123456};
  std::uint64_t accounts_;
};

/// An account begins with nothing and may be overdrawn: `balances` add up to zero.
inline void expect_balances(const std::vector<std::int64_t>& balances, std::uint64_t transactions) {
  std::vector<std::int64_t> expected(balances.size());
  transfers all(balances.size());
  for (std::uint64_t i = 0; i < transactions; ++i) {
    const transfer one = all.next();
    expected[one.from] -= one.amount;
    expected[one.to] += one.amount;
  }
  expect(expected == balances, "a balance is wrong");
}

// ── fibonacci ─────────────────────────────────────────────────────────────────────────────────

inline std::uint64_t fibonacci_number(std::uint64_t index) {
  std::uint64_t before = 0, number = 1;
  for (std::uint64_t i = 1; i < index; ++i) {
    const std::uint64_t next = before + number;
    before = number;
    number = next;
  }
  return number;
}

// ── sieve ─────────────────────────────────────────────────────────────────────────────────────

inline bool is_locally_prime(std::uint64_t candidate, const std::vector<std::uint64_t>& primes) {
  for (const std::uint64_t prime : primes) {
    if (candidate % prime == 0) return false;
  }
  return true;
}

/// Returns the number of primes below the limit.
inline std::uint64_t count_primes(std::uint64_t limit) {
  std::vector<bool> composite(limit);
  std::uint64_t count = 0;
  for (std::uint64_t i = 2; i < limit; ++i) {
    if (composite[i]) continue;
    ++count;
    for (std::uint64_t k = i * i; k < limit; k += i) composite[k] = true;
  }
  return count;
}

// ── queens ────────────────────────────────────────────────────────────────────────────────────

inline constexpr std::size_t most_queens = 16;

/// The columns of the queens in the first rows.
using board = std::array<std::uint8_t, most_queens>;

/// Savina's check: each pair of queens.
inline bool is_valid(const board& queens, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = i + 1; j < rows; ++j) {
      const int distance = static_cast<int>(queens[j]) - static_cast<int>(queens[i]);
      const int apart = static_cast<int>(j - i);
      if (distance == 0 || distance == apart || distance == -apart) return false;
    }
  }
  return true;
}

/// Calls `found` for each solution that begins with these rows.
template <class Found>
void place_queens(board& queens, std::size_t rows, std::size_t size, const Found& found) {
  if (rows == size) {
    found();
    return;
  }
  for (std::size_t column = 0; column < size; ++column) {
    queens[rows] = static_cast<std::uint8_t>(column);
    if (is_valid(queens, rows + 1)) place_queens(queens, rows + 1, size, found);
  }
}

inline std::uint64_t expected_solutions(std::uint64_t size) {
  constexpr std::uint64_t known[most_queens + 1] = {
      1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
  return known[size];
}

}  // namespace workloads::savina
