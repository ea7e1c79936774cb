// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "lab/mailboxes/candidate.hpp"
#include "lab/mailboxes/two_stacks.hpp"

namespace troupe::lab {

/// Two stacks whose senders collect messages: they are chained by the sender, and published in one
/// step, when there are `Batch` of them or when the sender calls flush() at the end of a turn.
///
/// It gives up a guarantee: a message that is not flushed is overtaken by a message that another
/// sender sends in reaction to a later one (the order is no longer causal).
template <class M, std::uint32_t Batch = 64>
class batched : public two_stacks<M> {
  using base = two_stacks<M>;

 public:
  using base::base;

  /// For one thread. The destructor flushes, and drops the messages that do not fit.
  class sender {
   public:
    explicit sender(batched& to) : to_(to) {}
    ~sender() { (void)flush(); }

    /// Returns `full` if that number is collected and the mailbox does not accept them.
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
