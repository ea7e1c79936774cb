// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <utility>

// Bugs planted for the checker to find: a mailbox. A structure is written once, and its parameter
// selects the line that is broken. The unbroken structure must hold, so that a finding means
// something.

namespace troupe {
namespace {

namespace mailbox {

enum class fault { none, null_means_idle, idle_without_a_look, taken_relaxed };

struct message {
  message* next = nullptr;
  model::plain<int> value{1};
};

// Null means that the mailbox is empty and its reader is active. The marker means that it is empty
// and has no active reader.
template <fault planted>
class mailbox {
 public:
  /// Returns true if no reader was active: the caller must then start one.
  [[nodiscard]] bool push(message& fresh) {
    // [newest] relaxed: checked by the exchange.
    message* before = newest_.load(relaxed);
    do {
      fresh.next = before == idle() ? nullptr : before;
      // [newest] release: the message, and the state that the last reader left when it became idle.
    } while (!newest_.compare_exchange_weak(before, &fresh, release, relaxed));
    return before == idle();
  }

  /// Takes all messages, the newest first. For the reader, until it has become idle.
  [[nodiscard]] message* take_all() {
    // [newest] acquire: the messages, and the work of the last reader.
    return newest_.exchange(nullptr, planted == fault::taken_relaxed ? relaxed : acquire);
  }

  /// Returns false if there is more to read.
  [[nodiscard]] bool become_idle() {
    if constexpr (planted == fault::idle_without_a_look) {
      newest_.store(idle(), release);
      return true;
    }
    message* nothing = nullptr;
    // [newest] release: the work of this reader. Relaxed on failure: take_all() follows.
    return newest_.compare_exchange_strong(nothing, idle(), release, relaxed);
  }

 private:
  message* idle() { return planted == fault::null_means_idle ? nullptr : &marker_; }

  message marker_;
  atomic<message*> newest_{idle()};
};

template <fault planted>
void two_push_and_read_when_nobody_does() {
  mailbox<planted> box;
  model::plain<int> sum{0};
  const auto send = [&] {
    if (!box.push(*new message)) return;
    do {
      for (message* each = box.take_all(); each != nullptr;) {
        sum = sum + each->value;
        delete std::exchange(each, each->next);
      }
    } while (!box.become_idle());
  };
  {
    jthread left("left", send);
    jthread right("right", send);
  }
  model::require(sum == 2, "each message is read");
}

TEST(planted_mailbox, has_each_message_read_by_one_reader_at_a_time) {
  model::expect_holds(two_push_and_read_when_nobody_does<fault::none>);
}

TEST(planted_mailbox, to_which_empty_is_idle_has_two_readers_at_a_time) {
  model::expect_fails("data race: right reads", {},
                      two_push_and_read_when_nobody_does<fault::null_means_idle>);
}

TEST(planted_mailbox, that_becomes_idle_without_a_look_loses_a_message) {
  model::expect_fails("broken promise: each message is read", {},
                      two_push_and_read_when_nobody_does<fault::idle_without_a_look>);
}

TEST(planted_mailbox, taken_with_relaxed_order_does_not_show_the_last_readers_writes) {
  model::expect_fails("data race: right reads", {},
                      two_push_and_read_when_nobody_does<fault::taken_relaxed>);
}

}  // namespace mailbox

}  // namespace
}  // namespace troupe
