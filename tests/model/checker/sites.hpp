// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "memory.hpp"

// The places of memory orders in the checked code, and the effect of weakening one of them.
//
// TROUPE_MODEL_SITES=file writes each place that was executed, and the check that executed it, one
// per line: `file:line operation order check`.
// TROUPE_MODEL_WEAKEN='file:line operation order' makes one of them use that order instead. The
// checks of a structure should find each of these: an order whose weakening breaks nothing is
// either not needed or not tested. orders.py tries them all.

namespace troupe::model {

enum class operation : std::uint8_t {
  load,
  store,
  change,   // read-modify-write, compare-exchange that succeeds
  failure,  // compare-exchange that fails
};

/// Places executed from here on belong to this check.
void begin_check(std::string name);

/// The order to use at this place.
[[nodiscard]] std::memory_order order_at(source_line where, operation what,
                                         std::memory_order written);

}  // namespace troupe::model
