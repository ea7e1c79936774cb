// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <troupe/message/envelope.hpp>
#include <troupe/scheduler/tuning.hpp>

namespace troupe::detail {

/// What an actor has taken out of its mailbox when high messages came: these, and the others, each in its
/// order. It keeps them here until all are handled, so that none is looked at twice.
///
/// Threads:   the turn's.
/// Invariant: all that is here is older than what is in the mailbox.
class sorted_messages {
 public:
  [[nodiscard]] bool empty() const noexcept {
    return high_.first == nullptr && others_.first == nullptr;
  }

  /// A list, in order, of what is newer than all that is here.
  void add(envelope* list) noexcept {
    while (list != nullptr) {
      envelope& each = *std::exchange(list, list->next);
      (each.how->high ? high_ : others_).push(each);
    }
    if (others_.first == nullptr) in_a_row_ = 0;
  }

  /// So many high ones were handled that it is time to look whether others wait.
  [[nodiscard]] bool is_to_look() const noexcept {
    return in_a_row_ >= tuning::high_in_a_row && others_.first == nullptr;
  }

  /// What is to be handled next. There must be something.
  [[nodiscard]] const envelope& next() const noexcept {
    return is_high_next() ? *high_.first : *others_.first;
  }
  [[nodiscard]] envelope& pop() noexcept {
    if (is_high_next()) {
      ++in_a_row_;
      return high_.pop();
    }
    in_a_row_ = 0;
    return others_.pop();
  }

 private:
  struct lane {
    envelope* first = nullptr;
    envelope* last = nullptr;

    void push(envelope& message) noexcept {
      message.next = nullptr;
      (first == nullptr ? first : last->next) = &message;
      last = &message;
    }
    envelope& pop() noexcept {
      envelope& message = *first;
      first = std::exchange(message.next, nullptr);
      return message;
    }
  };

  [[nodiscard]] bool is_high_next() const noexcept {
    const bool is_their_turn = in_a_row_ >= tuning::high_in_a_row && others_.first != nullptr;
    return high_.first != nullptr && !is_their_turn;
  }

  lane high_;
  lane others_;
  unsigned in_a_row_ = 0;  // high ones, since others were seen to wait
};

}  // namespace troupe::detail
