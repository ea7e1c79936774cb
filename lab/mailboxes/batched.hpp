// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "lab/mailboxes/candidate.hpp"
#include "lab/mailboxes/two_stacks.hpp"

namespace troupe::lab {

/// Two stacks whose senders gather: messages are chained where they are sent, and published with one
/// step, when there are `Batch` of them or when the sender says flush(): at the end of a turn.
///
/// It takes a promise away: what a sender has not flushed is overtaken by what somebody else sends
/// because of something sent later (the order is no longer causal).
template <class M, std::uint32_t Batch = 64>
class batched : public two_stacks<M> {
  using base = two_stacks<M>;

 public:
  using base::base;

  /// Of one thread; flushes when it ends, and drops what finds no place then.
  class sender {
   public:
    explicit sender(batched& to) : to_(to) {}
    ~sender() { (void)flush(); }

    /// `full`: so many are gathered, and the mailbox does not take them.
    pushed push(M&& message) {
      if (mine_.count >= Batch) {
        const pushed before = flush();
        if (!is_taken(before)) return before;
        mine_.add(make_node<typename base::node_type>(std::move(message)));
        return before;
      }
      mine_.add(make_node<typename base::node_type>(std::move(message)));
      return pushed::to_busy;
    }

    pushed flush() {
      if (mine_.count == 0) return pushed::to_busy;
      const pushed result = to_.publish(mine_.newest, mine_.oldest, mine_.count);
      if (is_taken(result)) mine_.forget();
      return result;
    }

   private:
    batched& to_;
    typename base::chain mine_;
  };
};

}  // namespace troupe::lab
