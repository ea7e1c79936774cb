// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

// The work of the experiment `pipeline`: requests of three kinds, and their computations.

namespace troupe::lab::pipeline {

/// One request. If it sleeps, it does so first, as if it fetched its input. It computes in `yields
/// + 1` parts of the same length, and yields between them.
struct request {
  std::uint64_t number = 0;  ///< from 1; the computation depends on it
  std::uint32_t rounds = 0;  ///< length of the computation
  std::uint32_t yields = 0;
  std::chrono::microseconds sleep{0};
};

using requests = std::vector<request>;

/// The state of one request's computation. It is a plain value, so that it can be a message.
class computation {
 public:
  explicit computation(const request& of) noexcept
      : of_(&of), value_(of.number * 0x9e37'79b9'7f4a'7c15) {}

  [[nodiscard]] bool is_over() const noexcept { return parts_ > of_->yields; }
  void next_part() noexcept;

  /// Returns, once it is over, the request's share of the control sum.
  [[nodiscard]] std::uint64_t result() const noexcept { return value_; }

 private:
  const request* of_;  // outlives this object
  std::uint64_t value_;
  std::uint32_t parts_ = 0;
};

/// A number of requests, out of `per`, that sleep for this time.
struct sleepers {
  std::uint64_t count;
  std::chrono::milliseconds sleep;
};

// The published counts: 100,000 requests yield 49,800 times and sleep for 18,920 ms.
inline constexpr std::uint64_t per = 100'000;
inline constexpr std::uint64_t yielders = 24'900;
inline constexpr std::uint32_t yields_each = 2;
inline constexpr std::array sleepers_of_all{
    sleepers{8, std::chrono::milliseconds(1'000)}, sleepers{12, std::chrono::milliseconds(500)},
    sleepers{20, std::chrono::milliseconds(200)}, sleepers{46, std::chrono::milliseconds(20)}};
inline constexpr std::uint32_t rounds_least = 4'000;
inline constexpr std::uint32_t rounds_most = 36'000;

static_assert(yielders * yields_each == 49'800);
static_assert([] {
  std::chrono::milliseconds all{0};
  for (const sleepers& each : sleepers_of_all) all += each.count * each.sleep;
  return all == std::chrono::milliseconds(18'920);
}());

/// Returns `count` requests with these kinds in the same proportion, but at least one of each,
/// spread evenly. The longest sleeps for `longest`. They are the same on every host.
requests generate(std::uint64_t count, std::chrono::milliseconds longest);

/// Errors: std::runtime_error with the file, the line and the error.
requests read_requests(const std::string& file);

/// Writes the form that read_requests() reads. Errors: std::runtime_error if the file cannot be
/// written.
void write_requests(const std::string& file, const requests& all);

}  // namespace troupe::lab::pipeline
