// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Small programs as data: threads that do a few operations each on a few atomic ints, all of which
// are initially 0.

namespace troupe::model::axioms {

enum class action : std::uint8_t { load, store, add, exchange, compare_exchange };

struct operation {
  action what = action::load;
  std::size_t location = 0;
  int value = 0;     // the value to store or add, or the desired value
  int expected = 0;  // by a compare-exchange
  std::memory_order order = std::memory_order_relaxed;
  std::memory_order failing = std::memory_order_relaxed;  // of a compare-exchange

  [[nodiscard]] bool reads() const noexcept { return what != action::store; }
};

struct program {
  std::size_t locations = 0;
  std::vector<std::vector<operation>> threads;
};

/// The values that the operations have read, thread by thread, and then the last value of each
/// location.
using values = std::vector<int>;

inline std::string to_string(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

inline std::string to_string(const operation& one) {
  const std::string at(1, "xyz"[one.location]);
  const std::string value = std::to_string(one.value);
  const std::string order = to_string(one.order);
  switch (one.what) {
    case action::load:
      return at + ".load(" + order + ");";
    case action::store:
      return at + ".store(" + value + ", " + order + ");";
    case action::add:
      return at + ".fetch_add(" + value + ", " + order + ");";
    case action::exchange:
      return at + ".exchange(" + value + ", " + order + ");";
    case action::compare_exchange:
      return at + ".compare_exchange_strong(" + std::to_string(one.expected) + ", " + value + ", " +
             order + ", " + to_string(one.failing) + ");";
  }
  return "?";
}

inline std::string to_string(const program& all) {
  std::string text;
  for (std::size_t t = 0; t < all.threads.size(); ++t) {
    text += "  thread " + std::to_string(t + 1) + ":";
    for (const operation& each : all.threads[t]) text += "  " + to_string(each);
    text += '\n';
  }
  return text;
}

inline std::string to_string(const program& of, const values& one) {
  std::string text;
  std::size_t next = 0;
  for (const std::vector<operation>& each : of.threads) {
    for (const operation& it : each) {
      if (it.reads()) text += std::to_string(one[next++]) + ' ';
    }
    text += "| ";
  }
  for (std::size_t l = 0; l < of.locations; ++l) {
    text += std::string(l == 0 ? "" : " ") + "xyz"[l] + '=' + std::to_string(one[next++]);
  }
  return text;
}

}  // namespace troupe::model::axioms
