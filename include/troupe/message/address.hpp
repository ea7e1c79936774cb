// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace troupe {

namespace detail {
class lifeline;
struct address_access;
}  // namespace detail

/// Identifies an actor: it can be compared, hashed, used as a key, printed and monitored. It keeps
/// no actor alive and never dangles: the address of a terminated actor stays unequal to that of any
/// other actor.
///
/// Threads: a plain value.
/// Cost:    16 bytes; copying touches no shared memory.
class address {
 public:
  address() = default;

  /// Returns false for an address that never identified an actor, such as the sender of a message
  /// from a plain thread.
  explicit operator bool() const noexcept { return line_ != nullptr; }

  friend bool operator==(const address&, const address&) = default;
  friend std::strong_ordering operator<=>(const address& a, const address& b) noexcept {
    if (const auto order = std::compare_three_way{}(a.line_, b.line_); order != 0) return order;
    return a.generation_ <=> b.generation_;
  }

  [[nodiscard]] std::size_t hash() const noexcept {
    return std::hash<const void*>{}(line_) ^ (std::size_t{generation_} * 0x9e37'79b9'7f4a'7c15ULL);
  }

 private:
  friend struct detail::address_access;
  address(detail::lifeline* line, std::uint32_t generation) noexcept
      : line_(line), generation_(generation) {}

  detail::lifeline* line_ = nullptr;
  std::uint32_t generation_ = 0;
};

/// Returns a short text for logs, the same for equal addresses: "4f3a80.2". In a simulation "#7",
/// as in its trace.
[[nodiscard]] std::string to_string(const address& of);

namespace detail {

/// Lets the layers that know lifelines make addresses and take them apart.
struct address_access {
  static address make(lifeline* line, std::uint32_t generation) noexcept {
    return {line, generation};
  }
  static lifeline* line(const address& of) noexcept { return of.line_; }
  static std::uint32_t generation(const address& of) noexcept { return of.generation_; }
};

}  // namespace detail
}  // namespace troupe

template <>
struct std::hash<troupe::address> {
  std::size_t operator()(const troupe::address& of) const noexcept { return of.hash(); }
};
