// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <utility>
#include <vector>

#include <troupe/mailbox/mailbox.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/thread.hpp>

namespace troupe::detail {
namespace {

// A message that stays where it was made.
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

// Looks whether each sender's messages come in the order in which he pushed them.
struct order_of_senders {
  explicit order_of_senders(int senders) : next(static_cast<std::size_t>(senders)) {}
  [[nodiscard]] bool is_kept_by(const numbered& message) {
    return next[static_cast<std::size_t>(message.sender)]++ == message.number;
  }
  std::vector<int> next;
};

// ── One thread ────────────────────────────────────────────────────────────────────────────────

TEST(mailbox, takes_nothing_before_it_is_opened) {
  mailbox box;
  numbered message;
  EXPECT_EQ(box.push(message), mailbox::pushed::closed);
}

TEST(mailbox, empty) {
  mailbox box;
  box.open_busy();
  EXPECT_TRUE(box.is_empty());
  EXPECT_EQ(box.pop(), nullptr);
  EXPECT_EQ(box.collect(), 0u);
  EXPECT_EQ(box.ready(), 0u);
  EXPECT_TRUE(box.rest());
  EXPECT_EQ(box.close(), nullptr);
}

TEST(mailbox, order) {
  mailbox box;
  box.open_busy();
  auto some = messages(100);
  for (numbered& each : some) EXPECT_EQ(box.push(each), mailbox::pushed::to_busy);
  EXPECT_FALSE(box.is_empty());
  for (numbered& each : some) EXPECT_EQ(box.pop(), &each);
  EXPECT_EQ(box.pop(), nullptr);
}

TEST(mailbox, is_never_full) {
  mailbox box;
  box.open_busy();
  auto some = messages(100'000);
  for (numbered& each : some) ASSERT_EQ(box.push(each), mailbox::pushed::to_busy);
  EXPECT_EQ(box.collect(), some.size());
  for (numbered& each : some) ASSERT_EQ(box.pop(), &each);
}

TEST(mailbox, only_the_first_push_after_a_rest_finds_it_idle) {
  mailbox box;
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

TEST(mailbox, does_not_rest_while_there_is_something_to_read) {
  mailbox box;
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

TEST(mailbox, what_is_collected_in_parts_stays_in_order) {
  mailbox box;
  box.open_busy();
  auto some = messages(30);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(box.push(some[i]), mailbox::pushed::to_busy);
    if (i % 3 == 2) {
      EXPECT_EQ(box.collect(), i + 1);
    }
  }
  EXPECT_EQ(box.ready(), some.size());
  for (numbered& each : some) EXPECT_EQ(box.pop(), &each);
  EXPECT_EQ(box.ready(), 0u);
}

TEST(mailbox, what_is_left_when_it_closes_is_in_order) {
  mailbox box;
  box.open_busy();
  auto some = messages(6);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(box.push(some[i]), mailbox::pushed::to_busy);
  EXPECT_EQ(box.pop(), &some[0]);  // the other two are on the reader's list now
  for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(box.push(some[i]), mailbox::pushed::to_busy);
  envelope* left = box.close();
  for (std::size_t i = 1; i < 6; ++i, left = left->next) ASSERT_EQ(left, &some[i]);
  EXPECT_EQ(left, nullptr);
  EXPECT_EQ(box.ready(), 0u);
  EXPECT_EQ(box.push(some[0]), mailbox::pushed::closed);
}

TEST(mailbox, can_be_opened_again) {
  mailbox box;
  auto some = messages(2);
  for (int round = 0; round < 3; ++round) {
    box.open_busy();
    EXPECT_EQ(box.push(some[0]), mailbox::pushed::to_busy);
    EXPECT_EQ(box.pop(), &some[0]);
    EXPECT_EQ(box.push(some[1]), mailbox::pushed::to_busy);
    EXPECT_EQ(box.close(), &some[1]);
  }
}

// ── Several threads ───────────────────────────────────────────────────────────────────────────

// The reader sleeps when it rests, and who finds it idle wakes it: the last message arrives only if
// no wake-up is lost.
void many_to_one(int senders, int each) {
  mailbox box;
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

// Nobody owns the mailbox: whoever finds it idle reads it until it rests, as the workers of a pool
// do. Everything here but the mailbox is plain data, which the mailbox hands from one reader to the
// next.
TEST(mailbox, stampede) {
  constexpr int senders = 4;
  constexpr int each = 50'000;
  mailbox box;
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

// Every message is either read, left when the mailbox closes, or not taken; and who finds it closed
// sees what the reader did before.
TEST(mailbox, close_races_push) {
  constexpr int senders = 3;
  constexpr int each = 200;
  for (int round = 0; round < 200; ++round) {
    mailbox box;
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
    envelope* left = box.close();
    for (; left != nullptr; left = left->next) ASSERT_TRUE(order.is_kept_by(content(*left)));
    for (jthread& one : threads) one.join();
    EXPECT_EQ(order.next, accepted);
    EXPECT_EQ(box.close(), nullptr);
  }
}

// ── With the envelopes of the message layer ───────────────────────────────────────────────────

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
  mailbox box;
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
  for (envelope* left = box.close(); left != nullptr;) {
    envelope& message = *std::exchange(left, left->next);
    message.how->discard(message);
  }
  for (jthread& one : threads) one.join();
  EXPECT_EQ(alive.load(relaxed), 0);
}

}  // namespace
}  // namespace troupe::detail
