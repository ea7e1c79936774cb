// SPDX-License-Identifier: Apache-2.0
#include "units.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <system_error>

namespace troupe::server::detail {
namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<unit, 5> sizes{{{"B", 1},
                                     {"KiB", std::uint64_t{1} << 10},
                                     {"MiB", std::uint64_t{1} << 20},
                                     {"GiB", std::uint64_t{1} << 30},
                                     {"TiB", std::uint64_t{1} << 40}}};
constexpr std::array<unit, 4> durations{{{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};

constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();

// One space is allowed between the number and the unit.
std::optional<std::uint64_t> parse(std::string_view text, std::span<const unit> units) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  for (const unit& each : units) {
    if (each.name != text) continue;
    if (number > most / each.factor) return std::nullopt;
    return number * each.factor;
  }
  return std::nullopt;
}

const unit& largest(std::uint64_t number, std::span<const unit> units) {
  const unit* found = &units.front();
  for (const unit& each : units) {
    if (number != 0 && number % each.factor == 0) found = &each;
  }
  return *found;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) { return parse(text, sizes); }

std::string size_text(std::uint64_t bytes) {
  const unit& in = largest(bytes, sizes);
  return std::to_string(bytes / in.factor) + " " + std::string(in.name);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto number = parse(text, durations);
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(*number));
}

std::string duration_text(std::chrono::milliseconds of) {
  const auto number = static_cast<std::uint64_t>(of.count());
  const unit& in = largest(number, durations);
  return std::to_string(number / in.factor) + std::string(in.name);
}

}  // namespace troupe::server::detail
