// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <utility>
#include <vector>

#include <troupe/detail/mailbox/mailbox.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace troupe::detail {
namespace {

// A message that stays where it was constructed.
struct numbered : envelope {
  int sender = 0;
  int number = 0;
};

numbered& content(envelope& message) { return static_cast<numbered&>(message); }

std::vector<numbered> messages(int count, int sender = 0) {
  std::vector<numbered> those(static_cast<std::size_t>(count));
  for (int i = 0; numbered & each : those) {
    each.sender = sender;
    each.number = i++;
  }
  return those;
}

// Checks that the messages of each sender arrive in the order in which it pushed them.
struct order_of_senders {
  explicit order_of_senders(int senders) : next(static_cast<std::size_t>(senders)) {}
  [[nodiscard]] bool is_kept_by(const numbered& message) {
    return next[static_cast<std::size_t>(message.sender)]++ == message.number;
  }
  std::vector<int> next;
};

// ── One thread ────────────────────────────────────────────────────────────────────────────────

TEST(mailbox, takes_nothing_before_it_is_opened) {
  whole_mailbox box;
  numbered message;
  EXPECT_EQ(box.push(message), mailbox::pushed::closed);
}

TEST(mailbox, empty) {
  whole_mailbox box;
  box.open_busy();
  EXPECT_TRUE(box.is_empty());
  EXPECT_EQ(box.pop(), nullptr);
  EXPECT_EQ(box.refill(0), mailbox::refilled{});
  EXPECT_TRUE(box.rest());
  EXPECT_EQ(box.close().messages, nullptr);
}

TEST(mailbox, order) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(100);
  for (numbered& each : some) EXPECT_EQ(box.push(each), mailbox::pushed::to_busy);
  EXPECT_FALSE(box.is_empty());
  for (numbered& each : some) EXPECT_EQ(box.pop(), &each);
  EXPECT_EQ(box.pop(), nullptr);
}

TEST(mailbox, is_never_full_of_messages_without_weight) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(100'000);
  for (numbered& each : some) ASSERT_EQ(box.push(each), mailbox::pushed::to_busy);
  EXPECT_EQ(box.refill(0).messages, some.size());
  for (numbered& each : some) ASSERT_EQ(box.pop(), &each);
}

TEST(mailbox, only_the_first_push_after_a_rest_finds_it_idle) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(2);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(box.rest());
    EXPECT_EQ(box.push(some[0]), mailbox::pushed::to_idle);
    EXPECT_EQ(box.push(some[1]), mailbox::pushed::to_busy);
    EXPECT_EQ(box.pop(), &some[0]);
    EXPECT_EQ(box.pop(), &some[1]);
  }
}

TEST(mailbox, does_not_rest_while_it_has_messages) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(2);
  EXPECT_EQ(box.push(some[0]), mailbox::pushed::to_busy);
  EXPECT_EQ(box.push(some[1]), mailbox::pushed::to_busy);
  EXPECT_FALSE(box.rest()) << "both are on the senders' stack";
  EXPECT_EQ(box.pop(), &some[0]);
  EXPECT_FALSE(box.rest()) << "one is on the reader's list";
  EXPECT_EQ(box.pop(), &some[1]);
  EXPECT_TRUE(box.rest());
}

TEST(mailbox, the_message_that_finds_it_idle_is_on_the_readers_list) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(3);
  ASSERT_TRUE(box.rest());
  EXPECT_FALSE(box.has_ready());
  ASSERT_EQ(box.push(some[0]), mailbox::pushed::to_idle);
  EXPECT_TRUE(box.has_one_ready());
  EXPECT_FALSE(box.is_empty());
  EXPECT_FALSE(box.rest());
  for (const int i : {1, 2}) EXPECT_EQ(box.push(some[std::size_t(i)]), mailbox::pushed::to_busy);
  EXPECT_TRUE(box.has_one_ready()) << "the others are not yet taken";
  EXPECT_EQ(box.refill(0), (mailbox::refilled{2, false}));
  EXPECT_FALSE(box.has_one_ready());
  for (numbered& each : some) EXPECT_EQ(&box.pop_ready(), &each);
  EXPECT_FALSE(box.has_ready());
  EXPECT_TRUE(box.rest());
}

TEST(mailbox, the_message_that_finds_it_idle_counts_until_it_is_handled) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(3);
  ASSERT_TRUE(box.rest());
  ASSERT_EQ(box.push(some[0], 1, 2), mailbox::pushed::to_idle);
  EXPECT_EQ(box.push(some[1], 1, 2), mailbox::pushed::to_busy);
  EXPECT_EQ(box.push(some[2], 1, 2), mailbox::pushed::full);
  EXPECT_EQ(&box.pop_ready(), &some[0]);
  EXPECT_EQ(box.push(some[2], 1, 2), mailbox::pushed::full) << "it is not handled yet";
  EXPECT_FALSE(box.handled(1, 100));
  EXPECT_EQ(box.refill(0), (mailbox::refilled{1, false})) << "counts it off";
  EXPECT_EQ(box.push(some[2], 1, 2), mailbox::pushed::to_busy);
  EXPECT_EQ(box.close().messages, &some[1]);
}

TEST(mailbox, messages_collected_in_parts_stay_in_order) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(30);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(box.push(some[i]), mailbox::pushed::to_busy);
    if (i % 3 == 2) {
      EXPECT_EQ(box.refill(0).messages, 3u);
    }
  }
  for (numbered& each : some) EXPECT_EQ(box.pop(), &each);
}

TEST(mailbox, close_returns_the_remaining_messages_in_order) {
  for (const bool alone : {false, true}) {
    whole_mailbox box;
    box.open_busy();
    auto some = messages(6);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(box.push(some[i]), mailbox::pushed::to_busy);
    EXPECT_EQ(box.pop(), &some[0]);  // the other two are now on the reader's list
    for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(box.push(some[i]), mailbox::pushed::to_busy);
    envelope* left = (alone ? box.close_alone() : box.close()).messages;
    for (std::size_t i = 1; i < 6; ++i, left = left->next) ASSERT_EQ(left, &some[i]);
    EXPECT_EQ(left, nullptr);
    EXPECT_EQ(box.push(some[0]), mailbox::pushed::closed);
  }
}

TEST(mailbox, can_be_opened_again) {
  whole_mailbox box;
  auto some = messages(2);
  for (int round = 0; round < 3; ++round) {
    box.open_busy();
    EXPECT_EQ(box.push(some[0]), mailbox::pushed::to_busy);
    EXPECT_EQ(box.pop(), &some[0]);
    EXPECT_EQ(box.push(some[1]), mailbox::pushed::to_busy);
    EXPECT_EQ(box.close().messages, &some[1]);
  }
}

// ── Limits ────────────────────────────────────────────────────────────────────────────────────

using pushed = mailbox::pushed;
using refilled = mailbox::refilled;

TEST(mailbox, full) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(6);
  EXPECT_EQ(box.push(some[0], 2, 5), pushed::to_busy);
  EXPECT_EQ(box.push(some[1], 3, 5), pushed::to_busy);
  EXPECT_EQ(box.push(some[2], 1, 5), pushed::full);
  EXPECT_EQ(box.push(some[2], 0, 5), pushed::to_busy) << "what weighs nothing is always taken";
  EXPECT_EQ(box.push(some[3], 1, 6), pushed::to_busy) << "the limit is the sender's";
  EXPECT_EQ(box.units(), 6u);
}

TEST(mailbox, more_than_it_can_count_to_is_full) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(2);
  constexpr std::size_t most = mailbox_limits::units_max;
  EXPECT_EQ(box.push(some[0], most + 1, most), pushed::full);
  EXPECT_EQ(box.push(some[0], std::size_t{1} << 40, most), pushed::full);
  EXPECT_EQ(box.push(some[0], most, most), pushed::to_busy);
  EXPECT_EQ(box.push(some[1], 1, most), pushed::full);
  EXPECT_EQ(box.pop(), &some[0]);
}

TEST(mailbox, popped_is_not_yet_handled) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(3);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(box.push(some[i], 1, 2), pushed::to_busy);
  EXPECT_EQ(box.pop(), &some[0]);
  EXPECT_EQ(box.push(some[2], 1, 2), pushed::full);
  EXPECT_TRUE(box.handled(1, 1));
  EXPECT_EQ(box.push(some[2], 1, 2), pushed::full) << "the senders are told by make_room()";
  EXPECT_FALSE(box.make_room(1)) << "nobody has asked";
  EXPECT_EQ(box.push(some[2], 1, 2), pushed::to_busy);
}

TEST(mailbox, handled_reports_a_complete_quantum) {
  whole_mailbox box;
  box.open_busy();
  EXPECT_FALSE(box.handled(1, 3));
  EXPECT_FALSE(box.handled(1, 3));
  EXPECT_TRUE(box.handled(1, 3));
}

TEST(mailbox, a_refill_deducts_handled_messages) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(3);
  EXPECT_EQ(box.push(some[0], 2, 3), pushed::to_busy);
  EXPECT_GT(box.refill(1).messages, 0u);
  EXPECT_EQ(&box.pop_ready(), &some[0]);
  EXPECT_EQ(box.push(some[1], 1, 3), pushed::to_busy);
  EXPECT_FALSE(box.handled(2, 100));
  EXPECT_GT(box.refill(1).messages, 0u);
  EXPECT_EQ(box.push(some[2], 2, 3), pushed::to_busy);
}

TEST(mailbox, rests_with_nothing_counted) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(2);
  EXPECT_EQ(box.push(some[0], 3, 3), pushed::to_busy);
  EXPECT_EQ(box.pop(), &some[0]);
  EXPECT_FALSE(box.handled(3, 100));
  EXPECT_TRUE(box.rest());
  EXPECT_EQ(box.push(some[1], 3, 3), pushed::to_idle);
  EXPECT_EQ(box.units(), 3u);
}

TEST(mailbox, want_room_succeeds_only_above_the_low_mark_of_an_open_mailbox) {
  whole_mailbox box;
  EXPECT_FALSE(box.want_room(0)) << "closed";
  box.open_busy();
  EXPECT_FALSE(box.want_room(0)) << "empty";
  auto some = messages(2);
  EXPECT_EQ(box.push(some[0], 1, 9), pushed::to_busy);
  EXPECT_FALSE(box.want_room(1));
  EXPECT_EQ(box.push(some[1], 1, 9), pushed::to_busy);
  EXPECT_TRUE(box.want_room(1));
  EXPECT_TRUE(box.want_room(1)) << "a second one";
  EXPECT_TRUE(box.close().room_wanted);
}

TEST(mailbox, make_room_reports_a_waiting_sender_once) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(4);
  for (numbered& each : some) EXPECT_EQ(box.push(each, 1, 9), pushed::to_busy);
  EXPECT_TRUE(box.want_room(2));
  EXPECT_EQ(box.refill(2), (refilled{4, false})) << "still four";
  EXPECT_EQ(&box.pop_ready(), &some[0]);
  EXPECT_TRUE(box.handled(1, 1));
  EXPECT_FALSE(box.make_room(2)) << "still three";
  EXPECT_EQ(&box.pop_ready(), &some[1]);
  EXPECT_TRUE(box.handled(1, 1));
  EXPECT_TRUE(box.make_room(2));
  EXPECT_EQ(&box.pop_ready(), &some[2]);
  EXPECT_TRUE(box.handled(1, 1));
  EXPECT_FALSE(box.make_room(2)) << "told already";
}

TEST(mailbox, a_refill_reports_a_waiting_sender_once_there_is_space) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(4);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(box.push(some[i], 1, 9), pushed::to_busy);
  EXPECT_GT(box.refill(1).messages, 0u);
  EXPECT_TRUE(box.want_room(1));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(&box.pop_ready(), &some[i]);
    EXPECT_FALSE(box.handled(1, 100));
  }
  EXPECT_FALSE(box.rest()) << "somebody has to be told";
  EXPECT_EQ(box.push(some[3], 1, 9), pushed::to_busy);
  EXPECT_EQ(box.refill(1), (refilled{1, true}));
  EXPECT_EQ(box.units(), 1u) << "what was handled is taken off once";
  EXPECT_EQ(&box.pop_ready(), &some[3]);
  EXPECT_FALSE(box.handled(1, 100));
  EXPECT_TRUE(box.rest());
}

TEST(mailbox, an_empty_mailbox_reports_a_waiting_sender) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(2);
  for (numbered& each : some) EXPECT_EQ(box.push(each, 1, 9), pushed::to_busy);
  EXPECT_GT(box.refill(1).messages, 0u);
  EXPECT_TRUE(box.want_room(1));
  while (box.has_ready()) {
    (void)box.pop_ready();
    EXPECT_FALSE(box.handled(1, 100));
  }
  EXPECT_EQ(box.refill(1), (refilled{0, true}));
  EXPECT_EQ(box.refill(1), refilled{});
  EXPECT_TRUE(box.rest());
}

TEST(mailbox, stashed_messages_stay_counted_while_the_reader_rests) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(4);
  EXPECT_EQ(box.push(some[0], 2, 3), pushed::to_busy);
  EXPECT_EQ(box.pop(), &some[0]);
  EXPECT_TRUE(box.rest(2));
  EXPECT_EQ(box.push(some[1], 2, 3), pushed::full);
  EXPECT_EQ(box.push(some[1], 1, 3), pushed::to_idle);
  EXPECT_EQ(box.push(some[2], 1, 3), pushed::full);
  EXPECT_EQ(box.pop(), &some[1]);
  EXPECT_FALSE(box.handled(1, 100));
  box.put_in_front(some[0], some[0]);
  EXPECT_EQ(&box.pop_ready(), &some[0]);
  EXPECT_FALSE(box.handled(2, 100));
  EXPECT_TRUE(box.rest());
  EXPECT_EQ(box.push(some[3], 3, 3), pushed::to_idle);
}

TEST(mailbox, reports_a_waiting_sender_once_stashed_messages_are_handled) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(4);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(box.push(some[i], 1, 9), pushed::to_busy);
  while (box.pop() != nullptr) continue;
  EXPECT_TRUE(box.want_room(1));
  EXPECT_TRUE(box.rest(2, 1)) << "it would read for ever";
  EXPECT_TRUE(box.want_room(1)) << "it still does";
  EXPECT_EQ(box.push(some[2], 1, 9), pushed::to_idle);
  EXPECT_EQ(box.refill(1), refilled{}) << "it is on the reader's list";
  EXPECT_EQ(&box.pop_ready(), &some[2]);
  EXPECT_FALSE(box.handled(1, 100));
  box.put_in_front(some[0], some[0]);
  EXPECT_EQ(&box.pop_ready(), &some[0]);
  EXPECT_FALSE(box.handled(1, 100));
  EXPECT_FALSE(box.rest(1, 1)) << "somebody has to be told";
  EXPECT_EQ(box.push(some[3], 1, 9), pushed::to_busy);
  EXPECT_EQ(box.refill(2), (refilled{1, true}));
}

TEST(mailbox, reports_a_waiting_sender_later_if_its_messages_are_all_stashed) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(3);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(box.push(some[i], 1, 9), pushed::to_busy);
  while (box.pop() != nullptr) continue;
  EXPECT_TRUE(box.rest(2, 1));
  EXPECT_TRUE(box.want_room(1)) << "there is none, and nobody reads";
  EXPECT_EQ(box.push(some[2], 0), pushed::to_idle);
  EXPECT_EQ(box.pop(), &some[2]);
  EXPECT_FALSE(box.handled(2, 100)) << "the others";
  EXPECT_FALSE(box.rest(0, 1));
  EXPECT_EQ(box.refill(1), (refilled{0, true}));
  EXPECT_TRUE(box.rest());
}

TEST(mailbox, a_refill_before_reading_leaves_senders_waiting) {
  whole_mailbox box;
  box.open_busy();
  auto some = messages(3);
  for (numbered& each : some) EXPECT_EQ(box.push(each, 1, 9), pushed::to_busy);
  EXPECT_GT(box.refill(1).messages, 0u);
  EXPECT_TRUE(box.want_room(1));
  EXPECT_EQ(box.refill(1), refilled{}) << "nothing was handled";
}

// ── Several threads ───────────────────────────────────────────────────────────────────────────

// The reader sleeps when it rests, and a sender that finds it idle wakes it. The last message
// arrives only if no wake-up is lost.
void many_to_one(int senders, int each) {
  whole_mailbox box;
  box.open_busy();
  parker reader;
  std::vector<std::vector<numbered>> sent;
  for (int s = 0; s < senders; ++s) sent.push_back(messages(each, s));
  std::vector<jthread> threads;
  for (auto& mine : sent) {
    threads.emplace_back([&] {
      for (numbered& message : mine) {
        if (box.push(message) == mailbox::pushed::to_idle) reader.notify();
      }
    });
  }
  order_of_senders order(senders);
  for (int received = 0; received < senders * each;) {
    if (envelope* const message = box.pop()) {
      ++received;
      ASSERT_TRUE(order.is_kept_by(content(*message)));
    } else if (box.rest()) {
      reader.park();
    }
  }
  for (jthread& one : threads) one.join();
  EXPECT_TRUE(box.rest());
}

TEST(mailbox, one_to_one) { many_to_one(1, 200'000); }
TEST(mailbox, many_to_one) { many_to_one(4, 50'000); }

// The mailbox has no fixed reader: the thread that finds it idle reads it until it rests, like the
// workers of a pool. All data here except the mailbox is plain data, which the mailbox passes from
// one reader to the next.
TEST(mailbox, stampede) {
  constexpr int senders = 4;
  constexpr int each = 50'000;
  whole_mailbox box;
  box.open_busy();
  ASSERT_TRUE(box.rest());
  order_of_senders order(senders);
  int received = 0;
  bool somebody_reads = false;
  bool alone = true;
  bool in_order = true;
  const auto read_until_it_rests = [&] {
    alone = alone && !somebody_reads;
    somebody_reads = true;
    for (;;) {
      while (envelope* const message = box.pop()) {
        ++received;
        in_order = order.is_kept_by(content(*message)) && in_order;
      }
      somebody_reads = false;  // after a successful rest it is the next reader's
      if (box.rest()) return;
      somebody_reads = true;
    }
  };

  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::vector<std::vector<numbered>> sent;
  for (int s = 0; s < senders; ++s) sent.push_back(messages(each, s));
  std::vector<jthread> threads;
  for (auto& mine : sent) {
    threads.emplace_back([&] {
      std::minstd_rand random(seed + static_cast<unsigned>(mine.front().sender));
      for (numbered& message : mine) {
        if (box.push(message) == mailbox::pushed::to_idle) read_until_it_rests();
        if (random() % 64 == 0) std::this_thread::yield();
      }
    });
  }
  for (jthread& one : threads) one.join();
  EXPECT_EQ(received, senders * each);
  EXPECT_TRUE(alone);
  EXPECT_TRUE(in_order);
  numbered last;
  EXPECT_EQ(box.push(last), mailbox::pushed::to_idle);
}

// Every message is either read, left over when the mailbox closes, or rejected; and a sender that
// finds the mailbox closed sees what the reader did before.
TEST(mailbox, close_races_push) {
  constexpr int senders = 3;
  constexpr int each = 200;
  for (int round = 0; round < 200; ++round) {
    whole_mailbox box;
    box.open_busy();
    int last_words = 0;  // not atomic
    std::vector<std::vector<numbered>> sent;
    for (int s = 0; s < senders; ++s) sent.push_back(messages(each, s));
    std::vector<int> accepted(senders, each);
    std::vector<jthread> threads;
    for (std::size_t s = 0; s < senders; ++s) {
      threads.emplace_back([&, s] {
        for (numbered& message : sent[s]) {
          if (box.push(message) != mailbox::pushed::closed) continue;
          accepted[s] = message.number;
          EXPECT_EQ(last_words, 42);
          return;
        }
      });
    }
    order_of_senders order(senders);
    for (int received = 0; received < 5 * round; ++received) {
      envelope* const message = box.pop();
      if (message == nullptr) break;
      ASSERT_TRUE(order.is_kept_by(content(*message)));
    }
    last_words = 42;
    envelope* left = box.close().messages;
    for (; left != nullptr; left = left->next) ASSERT_TRUE(order.is_kept_by(content(*left)));
    for (jthread& one : threads) one.join();
    EXPECT_EQ(order.next, accepted);
    EXPECT_EQ(box.close().messages, nullptr);
  }
}

// ── Envelopes of the message layer ────────────────────────────────────────────────────────────

struct counted {
  explicit counted(atomic<int>& n) : alive(&n) { alive->fetch_add(1, relaxed); }
  counted(counted&& other) noexcept : counted(*other.alive) {}
  ~counted() { alive->fetch_sub(1, relaxed); }
  atomic<int>* alive;
};

constexpr dispatch discard_only{
    .run = nullptr, .discard = discard_message<counted, false>, .message = "counted"};

TEST(mailbox, destroys_all) {
  constexpr int each = 5'000;
  atomic<int> alive{0};
  whole_mailbox box;
  box.open_busy();
  std::vector<jthread> threads;
  for (int s = 0; s < 2; ++s) {
    threads.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        envelope& message = *make_envelope<false>(discard_only, counted(alive));
        if (box.push(message) == mailbox::pushed::closed) message.how->discard(message);
      }
    });
  }
  for (int i = 0; i < each;) {
    envelope* const message = box.pop();
    if (message == nullptr) {
      std::this_thread::yield();
    } else {
      message->how->discard(*message);
      ++i;
    }
  }
  for (envelope* left = box.close().messages; left != nullptr;) {
    envelope& message = *std::exchange(left, left->next);
    message.how->discard(message);
  }
  for (jthread& one : threads) one.join();
  EXPECT_EQ(alive.load(relaxed), 0);
}

}  // namespace
}  // namespace troupe::detail
