// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/scheduler/tuning.hpp>

namespace troupe::detail {

/// Messages that an actor has taken out of its mailbox because high-priority ones came: the
/// high-priority ones, and the others, each in order. They stay here until all are handled, so none
/// is sorted twice.
///
/// Threads:   the actor's turn only.
/// Invariant: everything here is older than everything in the mailbox.
class sorted_messages {
 public:
  [[nodiscard]] bool empty() const noexcept {
    return high_.first == nullptr && others_.first == nullptr;
  }

  /// Adds a list, in order, of messages that are newer than everything here.
  void add(envelope* list) noexcept {
    while (list != nullptr) {
      envelope& each = *std::exchange(list, list->next);
      (each.how->high ? high_ : others_).push(each);
    }
    if (others_.first == nullptr) in_a_row_ = 0;
  }

  /// True after enough high-priority messages in a row that the mailbox should be searched for
  /// other ones.
  [[nodiscard]] bool is_to_look() const noexcept {
    return in_a_row_ >= tuning::high_in_a_row && others_.first == nullptr;
  }

  /// The message to be handled next. There must be one.
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
  unsigned in_a_row_ = 0;  // high-priority ones handled since others were seen waiting
};

}  // namespace troupe::detail
