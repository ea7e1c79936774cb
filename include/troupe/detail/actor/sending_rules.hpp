// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/mailbox/limits.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

/// The limits and rules that apply to each send to an actor. Constant once the actor has an
/// address.
struct sending_rules : mailbox_limits {
  /// False: further rules beyond the mailbox limits apply; they are in the side block.
  bool plain = true;
};

/// The state of the system that every send reads.
struct alignas(cache_line_bytes) system_state {
  sending_rules rules;  // for actors without rules of their own
  bool settles_each_turn =
      false;               // the memory budget is so small that each turn reports what it has used
  bool looked_at = false;  // it has an observer, or traces: the rules of its actors are never plain
  bool traces = false;
  atomic<bool> over_budget{false};
};

}  // namespace troupe::detail
