// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/base/cache_line.hpp>
#include <troupe/mailbox/limits.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// What a send to an actor has to keep to. Constant once the actor can be named.
struct sending_rules : mailbox_limits {
  /// False: there is more to it than the limits of the mailbox; the side block has it.
  bool plain = true;
};

/// What every send looks at of the system.
struct alignas(cache_line_bytes) system_state {
  sending_rules rules;  // for actors without any of their own
  bool has_budget = false;
  bool looked_at = false;  // it has an observer, or traces: no rules of its actors are plain
  bool traces = false;
  atomic<bool> over_budget{false};
};

}  // namespace troupe::detail
