// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

#include "lab/mailboxes/arena.hpp"
#include "lab/mailboxes/batched.hpp"
#include "lab/mailboxes/candidate.hpp"
#include "lab/mailboxes/locked.hpp"
#include "lab/mailboxes/marked.hpp"
#include "lab/mailboxes/of_troupe.hpp"
#include "lab/mailboxes/segments.hpp"
#include "lab/mailboxes/two_stacks.hpp"
#include "lab/mailboxes/vyukov.hpp"

namespace troupe::lab {
namespace {

struct in_troupe {
  template <class M>
  using box = of_troupe<M>;
  static constexpr std::size_t slack = 0;
};
struct in_two_stacks {
  template <class M>
  using box = two_stacks<M>;
  static constexpr std::size_t slack = 0;
};
struct in_vyukov {
  template <class M>
  using box = vyukov<M>;
  static constexpr std::size_t slack = 0;
};
struct in_segments {
  template <class M>
  using box = segments<M>;
  static constexpr std::size_t slack = 4'096;  // whole segments
};
struct in_arena {
  template <class M>
  using box = arena<M>;
  static constexpr std::size_t slack = 300 * 1'024;  // its fixed size
};
struct in_marked {
  template <class M>
  using box = marked<M>;
  static constexpr std::size_t slack = 256;  // whole slabs
};
struct in_batched {
  template <class M>
  using box = batched<M>;
  static constexpr std::size_t slack = 64;  // the messages that a sender collects
};
struct in_locked_deque {
  template <class M>
  using box = locked_deque<M>;
  static constexpr std::size_t slack = 0;
};
struct in_locked_vector {
  template <class M>
  using box = locked_vector<M>;
  static constexpr std::size_t slack = 0;
};

// A mailbox, and a sender for the test's own thread.
template <class Box>
struct pair {
  explicit pair(std::size_t limit = no_limit) : box(limit), mine(std::in_place, box) {}

  pushed push(typename Box::value_type&& message) {
    const pushed result = mine->push(std::move(message));
    return is_taken(result) ? flush(result) : result;
  }
  pushed flush(pushed result) {
    if constexpr (requires { mine->flush(); }) {
      // Messages that the mailbox refuses stay with the sender, and count as accepted so far.
      const pushed flushed = mine->flush();
      return flushed == pushed::full ? result : flushed;
    } else {
      return result;
    }
  }

  struct direct {
    explicit direct(Box& to) : box(to) {}
    pushed push(typename Box::value_type&& message) { return box.push(std::move(message)); }
    Box& box;
  };
  using sender = std::conditional_t<std::is_reference_v<sender_of_t<Box>>, direct,
                                    std::remove_reference_t<sender_of_t<Box>>>;

  Box box;
  std::optional<sender> mine;
};

template <class Kind>
class mailbox_candidate : public testing::Test {
 public:
  template <class M>
  using box = pair<typename Kind::template box<M>>;
};

using kinds = testing::Types<in_troupe, in_two_stacks, in_vyukov, in_segments, in_arena, in_marked,
                             in_batched, in_locked_deque, in_locked_vector>;
struct name_of_kind {
  template <class Kind>
  static std::string GetName(int index) {
    constexpr std::array names{"of_troupe", "two_stacks", "vyukov",       "segments",     "arena",
                               "marked",    "batched",    "locked_deque", "locked_vector"};
    return names[static_cast<std::size_t>(index)];
  }
};
TYPED_TEST_SUITE(mailbox_candidate, kinds, name_of_kind);

static_assert(candidate<two_stacks<int>> && takes_batches<two_stacks<int>&, int> &&
              closes<two_stacks<int>>);
static_assert(candidate<segments<std::string>> && takes_batches<segments<int>&, int> &&
              closes<segments<int>>);
static_assert(candidate<arena<int>> && takes_batches<arena<int>&, int> && closes<arena<int>>);
static_assert(candidate<vyukov<int>> && takes_batches<vyukov<int>&, int>);
static_assert(candidate<locked_deque<int>> && candidate<locked_vector<int>>);

template <class Box>
void wait_for(Box& pair, std::size_t count, auto&& handle) {
  for (std::size_t handled = 0; handled < count;) {
    const std::size_t now = pair.box.drain(handle);
    handled += now;
    if (now == 0) std::this_thread::yield();
  }
}

struct numbered {
  std::uint32_t sender;
  std::uint32_t number;
};

// ── One thread ────────────────────────────────────────────────────────────────────────────────

TYPED_TEST(mailbox_candidate, empty) {
  typename TestFixture::template box<int> pair;
  EXPECT_EQ(pair.box.drain([](int&&) { FAIL(); }), 0u);
  EXPECT_TRUE(pair.box.rest());
}

TYPED_TEST(mailbox_candidate, order) {
  typename TestFixture::template box<int> pair;
  for (int i = 0; i < 5'000; ++i) ASSERT_EQ(pair.push(int{i}), pushed::to_busy);
  int next = 0;
  EXPECT_EQ(pair.box.drain([&](int&& each) { EXPECT_EQ(each, next++); }, 10), 10u);
  for (int i = 5'000; i < 6'000; ++i) ASSERT_EQ(pair.push(int{i}), pushed::to_busy);
  EXPECT_FALSE(pair.box.rest());
  EXPECT_EQ(pair.box.drain([&](int&& each) { EXPECT_EQ(each, next++); }), 5'990u);
  EXPECT_TRUE(pair.box.rest());
}

TYPED_TEST(mailbox_candidate, only_the_first_push_after_a_rest_finds_it_idle) {
  typename TestFixture::template box<int> pair;
  for (int round = 0; round < 1'000; ++round) {
    ASSERT_TRUE(pair.box.rest());
    ASSERT_EQ(pair.push(1), pushed::to_idle);
    ASSERT_EQ(pair.push(2), pushed::to_busy);
    ASSERT_FALSE(pair.box.rest());
    ASSERT_EQ(pair.box.drain([](int&&) {}), 2u);
  }
}

TYPED_TEST(mailbox_candidate, full) {
  using message = std::unique_ptr<int>;
  constexpr std::size_t limit = 1'000;
  typename TestFixture::template box<message> pair(limit);
  for (int round = 0; round < 3; ++round) {
    auto one = std::make_unique<int>(7);
    std::size_t taken = 0;
    while (is_taken(pair.push(std::move(one)))) {
      ASSERT_LE(++taken, limit + TypeParam::slack);
      one = std::make_unique<int>(7);
    }
    EXPECT_GE(taken, round == 0 ? limit / 2 : 1);
    ASSERT_NE(one, nullptr) << "what is refused stays with the sender";
    EXPECT_EQ(pair.push(std::move(one)), pushed::full);
    const std::size_t some = taken - 10;  // where memory is freed in pieces, a part of one
    // Messages that a sender has collected have not arrived yet.
    EXPECT_GE(pair.box.drain([](message&& each) { EXPECT_EQ(*each, 7); }, some),
              std::min(some, limit - 2 * 64));
    EXPECT_TRUE(is_taken(pair.push(std::move(one))));
    pair.box.drain([](message&&) {});
  }
}

TYPED_TEST(mailbox_candidate, destroys_all) {
  const auto witness = std::make_shared<int>();
  {
    typename TestFixture::template box<std::shared_ptr<int>> pair;
    for (int i = 0; i < 3'000; ++i) {
      EXPECT_TRUE(is_taken(pair.push(std::shared_ptr(witness))));
    }
    pair.box.drain([](std::shared_ptr<int>&&) {}, 100);
    EXPECT_GE(witness.use_count(), 2'901);
  }
  EXPECT_EQ(witness.use_count(), 1);
}

TYPED_TEST(mailbox_candidate, a_handler_that_throws_has_used_up_its_message) {
  const auto witness = std::make_shared<int>();
  typename TestFixture::template box<std::shared_ptr<int>> pair;
  for (int i = 0; i < 3; ++i) (void)pair.push(std::shared_ptr(witness));
  EXPECT_THROW(pair.box.drain([](std::shared_ptr<int>&&) { throw std::runtime_error("handler"); }),
               std::runtime_error);
  EXPECT_EQ(witness.use_count(), 3);
  EXPECT_EQ(pair.box.drain([](std::shared_ptr<int>&&) {}), 2u);
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_TRUE(pair.box.rest());
}

// ── Kinds of messages ─────────────────────────────────────────────────────────────────────────

struct nothing {};
struct alignas(64) aligned {
  std::uintptr_t value = 0;
};
struct alignas(16) aligned_to_16 {
  std::uint64_t value = 0;
};
struct huge {
  std::array<std::uint32_t, 25'000> values{};
};

TYPED_TEST(mailbox_candidate, carries_empty_messages) {
  typename TestFixture::template box<nothing> pair;
  for (int i = 0; i < 100; ++i) (void)pair.push(nothing{});
  EXPECT_EQ(pair.box.drain([](nothing&&) {}), 100u);
}

TYPED_TEST(mailbox_candidate, keeps_the_alignment) {
  typename TestFixture::template box<aligned> pair;
  typename TestFixture::template box<aligned_to_16> other;
  for (std::uint64_t i = 0; i < 100; ++i) {
    (void)pair.push({i});
    (void)other.push({i});
  }
  std::uint64_t next = 0;
  pair.box.drain([&](aligned&& each) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&each) % 64, 0u);
    EXPECT_EQ(each.value, next++);
  });
  next = 0;
  other.box.drain([&](aligned_to_16&& each) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&each) % 16, 0u);
    EXPECT_EQ(each.value, next++);
  });
}

TYPED_TEST(mailbox_candidate, carries_huge_messages) {
  typename TestFixture::template box<huge> pair;
  auto one = std::make_unique<huge>();
  for (std::uint32_t i = 0; i < 20; ++i) {
    one->values.fill(i);
    EXPECT_TRUE(is_taken(pair.push(std::move(*one))));
  }
  std::uint32_t next = 0;
  pair.box.drain([&](huge&& each) {
    EXPECT_EQ(each.values.front(), next);
    EXPECT_EQ(each.values.back(), next++);
  });
  EXPECT_EQ(next, 20u);
}

TYPED_TEST(mailbox_candidate, carries_messages_that_own_memory) {
  typename TestFixture::template box<std::string> pair;
  for (int i = 0; i < 2'000; ++i) {
    (void)pair.push("a string that is too long to lie in the object " + std::to_string(i));
  }
  int next = 0;
  pair.box.drain([&](std::string&& each) {
    EXPECT_EQ(each, "a string that is too long to lie in the object " + std::to_string(next++));
  });
  EXPECT_EQ(next, 2'000);
}

// Throws at its nth move.
struct moody {
  explicit moody(int n, const std::shared_ptr<int>& count) : moves_left(n), alive(count) {}
  moody(moody&& from) noexcept(false) : moves_left(from.moves_left - 1), alive(from.alive) {
    if (moves_left < 0) throw std::runtime_error("move");
  }
  int moves_left;
  std::shared_ptr<int> alive;
};

TYPED_TEST(mailbox_candidate, a_throwing_move_leaves_the_mailbox_unchanged) {
  if constexpr (std::is_same_v<TypeParam, in_locked_deque> ||
                std::is_same_v<TypeParam, in_locked_vector>) {
    GTEST_SKIP() << "a baseline: it moves where it likes";
  } else {
    const auto witness = std::make_shared<int>();
    typename TestFixture::template box<moody> pair;
    ASSERT_TRUE(pair.box.rest());
    EXPECT_THROW((void)pair.push(moody(0, witness)), std::runtime_error);
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(pair.push(moody(3, witness)), pushed::to_idle) << "the failed one appointed nobody";
    EXPECT_THROW((void)pair.push(moody(0, witness)), std::runtime_error);
    EXPECT_EQ(pair.push(moody(3, witness)), pushed::to_busy);
    EXPECT_EQ(pair.box.drain([](moody&&) {}), 2u);
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_TRUE(pair.box.rest());
  }
}

// ── Batches ───────────────────────────────────────────────────────────────────────────────────

TYPED_TEST(mailbox_candidate, a_batch_is_taken_in_order_and_may_be_handled_in_parts) {
  if constexpr (takes_batches<typename TypeParam::template box<int>&, int>) {
    typename TestFixture::template box<int> pair;
    std::array<int, 64> some{};
    int sent = 0;
    int next = 0;
    for (int round = 0; round < 100; ++round) {
      for (int& each : some) each = sent++;
      ASSERT_TRUE(is_taken(pair.box.push_all(some)));
      pair.box.drain([&](int&& each) { EXPECT_EQ(each, next++); }, 50);
      EXPECT_FALSE(pair.box.rest());
    }
    pair.box.drain([&](int&& each) { EXPECT_EQ(each, next++); });
    EXPECT_EQ(next, sent);
  } else {
    GTEST_SKIP() << "does not support batches";
  }
}

// ── Several threads ───────────────────────────────────────────────────────────────────────────

// Each sender pushes that number of messages, and waits while the mailbox is full; the test's
// thread reads.
template <class Box>
void many_to_one(std::size_t limit, std::uint32_t senders, std::uint32_t count) {
  pair<Box> pair(limit);
  std::vector<std::uint32_t> next(senders);
  {
    std::vector<jthread> threads;
    for (std::uint32_t s = 0; s < senders; ++s) {
      threads.emplace_back([&, s] {
        typename lab::pair<Box>::sender mine(pair.box);
        for (std::uint32_t i = 0; i < count; ++i) {
          numbered message{s, i};
          while (mine.push(std::move(message)) == pushed::full) std::this_thread::yield();
        }
        if constexpr (requires { mine.flush(); }) {
          while (mine.flush() == pushed::full) std::this_thread::yield();
        }
      });
    }
    wait_for(pair, std::size_t{senders} * count, [&](numbered&& each) {
      ASSERT_EQ(each.number, next[each.sender]++) << "the order of sender " << each.sender;
    });
  }
  EXPECT_EQ(pair.box.drain([](numbered&&) {}), 0u);
  EXPECT_TRUE(pair.box.rest());
}

TYPED_TEST(mailbox_candidate, one_to_one) {
  many_to_one<typename TypeParam::template box<numbered>>(no_limit, 1, 50'000);
}

TYPED_TEST(mailbox_candidate, many_to_one) {
  many_to_one<typename TypeParam::template box<numbered>>(no_limit, 4, 20'000);
}

TYPED_TEST(mailbox_candidate, many_to_one_that_is_often_full) {
  many_to_one<typename TypeParam::template box<numbered>>(100, 3, 20'000);
}

// The thread that finds it idle reads: two concurrent readers, or none, would be detected.
TYPED_TEST(mailbox_candidate, stampede) {
  constexpr std::uint32_t senders = 4;
  constexpr std::uint32_t count = 10'000;
  pair<typename TypeParam::template box<numbered>> pair;
  std::vector<std::uint32_t> next(senders);
  std::uint64_t handled = 0;  // by the current reader
  ASSERT_TRUE(pair.box.rest());
  const auto read = [&] {
    do {
      pair.box.drain([&](numbered&& each) {
        ++handled;
        ASSERT_EQ(each.number, next[each.sender]++);
      });
    } while (!pair.box.rest());
  };
  {
    std::vector<jthread> threads;
    for (std::uint32_t s = 0; s < senders; ++s) {
      threads.emplace_back([&, s] {
        typename std::remove_reference_t<decltype(pair)>::sender mine(pair.box);
        for (std::uint32_t i = 0; i < count; ++i) {
          numbered message{s, i};
          for (;;) {
            const pushed result = mine.push(std::move(message));
            if (result == pushed::to_idle) read();
            if (result != pushed::full) break;
            std::this_thread::yield();
          }
        }
        if constexpr (requires { mine.flush(); }) {
          if (mine.flush() == pushed::to_idle) read();
        }
      });
    }
  }
  EXPECT_EQ(handled, std::uint64_t{senders} * count);
}

TYPED_TEST(mailbox_candidate, close_races_push) {
  using kind = typename TypeParam::template box<std::unique_ptr<numbered>>;
  if constexpr (closes<kind> && std::is_reference_v<sender_of_t<kind>>) {
    for (int round = 0; round < 50; ++round) {
      kind to;
      std::size_t taken = 0;
      std::size_t read = 0;
      {
        jthread sender([&] {
          for (std::uint32_t i = 0; i < 1'000; ++i) {
            const pushed result = to.push(std::make_unique<numbered>(0u, i));
            if (result == pushed::closed) break;
            taken += is_taken(result) ? 1 : 0;
          }
        });
        const auto count = [&](std::unique_ptr<numbered>&& each) {
          EXPECT_EQ(each->number, read++);
        };
        to.drain(count, 100);
        to.close(count);
        EXPECT_EQ(to.push(std::make_unique<numbered>()), pushed::closed);
      }
      EXPECT_EQ(taken, read);
    }
  } else {
    GTEST_SKIP() << "does not close";
  }
}

// ── Guarantees of single candidates ───────────────────────────────────────────────────────────

TEST(two_stacks_candidate, the_limit_is_exact) {
  two_stacks<int> box(4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(box.push(int{i}), pushed::to_busy);
  EXPECT_EQ(box.push(4), pushed::full);
  EXPECT_EQ(box.drain([](int&&) {}, 1), 1u);
  EXPECT_EQ(box.push(4), pushed::to_busy);
  EXPECT_EQ(box.push(5), pushed::full);
}

TEST(two_stacks_candidate, senders_never_exceed_the_limit) {
  two_stacks<int> box(16);
  atomic<int> inside{0};  // accepted and not yet handled, as seen from outside: slightly too low
  int most = 0;
  {
    std::vector<jthread> threads;
    for (int s = 0; s < 3; ++s) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5'000; ++i) {
          while (box.push(int{i}) == pushed::full) std::this_thread::yield();
          inside.fetch_add(1, relaxed);  // [test] relaxed: only counted
        }
      });
    }
    for (std::size_t handled = 0; handled < 15'000;) {
      most = std::max(most, inside.load(relaxed));                                      // [test]
      const std::size_t now = box.drain([&](int&&) { inside.fetch_sub(1, relaxed); });  // [test]
      handled += now;
      if (now == 0) std::this_thread::yield();
    }
  }
  EXPECT_LE(most, 16);
}

TEST(segments_candidate, an_idle_mailbox_owns_no_segment) {
  std::vector<std::unique_ptr<segments<int>>> boxes;
  for (int i = 0; i < 1'000; ++i) {
    boxes.push_back(std::make_unique<segments<int>>());
    ASSERT_TRUE(boxes.back()->rest());
  }
  const auto use_all = [&] {
    for (auto& each : boxes) {
      EXPECT_EQ(each->push(1), pushed::to_idle);
      EXPECT_EQ(each->drain([](int&&) {}), 1u);
      EXPECT_TRUE(each->rest());
    }
  };
  use_all();
  const std::size_t before = segment_pool::bytes_from_system();
  use_all();
  EXPECT_EQ(segment_pool::bytes_from_system(), before);
}

TEST(arena_candidate, a_record_does_not_wrap) {
  arena<std::array<std::uint64_t, 5>, 1'024> box;
  std::uint64_t sent = 0;
  std::uint64_t read = 0;
  for (int round = 0; round < 1'000; ++round) {
    while (is_taken(box.push({sent, sent, sent, sent, sent}))) ++sent;
    box.drain(
        [&](auto&& each) {
          EXPECT_EQ(each.front(), read);
          EXPECT_EQ(each.back(), read++);
        },
        static_cast<std::size_t>(round % 20));
  }
  box.drain([&](auto&&) { ++read; });
  EXPECT_EQ(read, sent);
}

}  // namespace
}  // namespace troupe::lab
