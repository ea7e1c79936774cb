// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::http::detail {

/// Maps texts to numbers: a hash table that only grows.
///
/// Threads: const functions from any, concurrently.
/// Cost:    find() compares one text, rarely two; it does not depend on the number of texts. The
///          texts come from the program, so a client cannot choose them to collide.
class text_index {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  [[nodiscard]] static std::uint32_t hash_of(std::string_view text) noexcept {
    const std::uint64_t all = std::hash<std::string_view>{}(text);
    return static_cast<std::uint32_t>(all ^ all >> 32);
  }

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

  [[nodiscard]] std::uint32_t find(std::string_view text) const noexcept {
    return empty() ? none : find(text, hash_of(text));
  }
  /// `hash` is hash_of(text).
  [[nodiscard]] std::uint32_t find(std::string_view text, std::uint32_t hash) const noexcept {
    if (empty()) return none;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask; slots_[i].entry != none; i = (i + 1) & mask) {
      if (slots_[i].hash != hash) continue;
      const entry& one = entries_[slots_[i].entry];
      if (one.text == text) return one.value;
    }
    return none;
  }

  /// The text is not there yet.
  void insert(std::string text, std::uint32_t value) {
    // At most a quarter is used, so that nearly every search ends at its first slot.
    if (4 * (entries_.size() + 1) > slots_.size()) grow();
    const std::uint32_t hash = hash_of(text);
    entries_.push_back({std::move(text), hash, value});
    place(static_cast<std::uint32_t>(entries_.size() - 1));
  }

 private:
  struct entry {
    std::string text;
    std::uint32_t hash;
    std::uint32_t value;
  };
  struct slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = none;
  };

  void grow() {
    slots_.assign(slots_.empty() ? 8 : 2 * slots_.size(), slot{});
    for (std::uint32_t i = 0; i < entries_.size(); ++i) place(i);
  }
  void place(std::uint32_t at) noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = entries_[at].hash & mask;
    while (slots_[i].entry != none) i = (i + 1) & mask;
    slots_[i] = {entries_[at].hash, at};
  }

  std::vector<entry> entries_;
  std::vector<slot> slots_;  // a power of two
};

}  // namespace troupe::http::detail
