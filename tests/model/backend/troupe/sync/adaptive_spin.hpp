// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/sync/atomic.hpp>

// The interface of include/troupe/sync/adaptive_spin.hpp, with one look and without adaptation.

namespace troupe {

class adaptive_spin {
 public:
  constexpr adaptive_spin() noexcept = default;
  constexpr explicit adaptive_spin(std::uint32_t) noexcept {}

  template <class Look>
  [[nodiscard]] bool until(Look&& look, std::uint32_t = 1) noexcept {
    return look();
  }
};

}  // namespace troupe
