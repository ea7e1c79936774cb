// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "memory.hpp"

// Where in the checked code memory orders stand, and what happens if one of them is weaker.
//
// TROUPE_MODEL_SITES=file writes all that were passed, and by which check, a line each:
// `file:line operation order check`.
// TROUPE_MODEL_WEAKEN='file:line operation order' has one of them use that order instead. Whoever
// checks a structure wants each of these to be found: an order whose weakening breaks nothing is
// either not needed or not tested. orders.py tries them all.

namespace troupe::model {

enum class operation : std::uint8_t {
  load,
  store,
  change,   // read-modify-write, compare-exchange that succeeds
  failure,  // compare-exchange that fails
};

/// What passes an order from here on belongs to this check.
void begin_check(std::string name);

/// The order that is to be used at this place.
[[nodiscard]] std::memory_order order_at(source_line where, operation what,
                                         std::memory_order written);

}  // namespace troupe::model
