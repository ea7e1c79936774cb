// SPDX-License-Identifier: Apache-2.0
// Every kind of message through limited mailboxes of each policy: nothing leaks, and nothing is
// duplicated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

struct of_messages {};

struct empty {};
struct unmovable_at_times {
  unmovable_at_times() = default;
  unmovable_at_times(unmovable_at_times&& other) : moves_left(other.moves_left - 1) {
    if (moves_left < 0) throw std::runtime_error("cannot be moved");
  }
  int moves_left = 0;
  counted<of_messages> alive;
};
struct alignas(256) over_aligned {
  std::uint64_t number = 0;
  counted<of_messages> alive;
};
struct move_only {
  std::unique_ptr<int> number;
  counted<of_messages> alive;
};
struct huge {
  std::array<char, 100'000> bytes{};
  counted<of_messages> alive;
};

/// Records the sums of the messages that it received, in atomics: it runs anywhere.
struct tally {
  atomic<std::uint64_t> handled{0};
  atomic<std::uint64_t> broken{0};
};

class taker : public actor {
 public:
  using messages = troupe::messages<empty, unmovable_at_times, over_aligned, move_only, huge>;
  explicit taker(tally& all) : all_(all) {}
  void on(empty) { ++all_.handled; }
  void on(const unmovable_at_times&) { ++all_.handled; }
  void on(const over_aligned& m) {
    ++all_.handled;
    if (reinterpret_cast<std::uintptr_t>(&m) % alignof(over_aligned) != 0) ++all_.broken;
  }
  void on(move_only&& m) {
    ++all_.handled;
    const auto mine = std::move(m.number);
    if (mine == nullptr) ++all_.broken;
  }
  void on(const huge& m) {
    ++all_.handled;
    if (m.bytes.front() != 'a' || m.bytes.back() != 'z') ++all_.broken;
  }

 private:
  tally& all_;
};

// Understands the same, with the sender: redirected messages are made anew here.
class taker_with_sender : public actor {
 public:
  explicit taker_with_sender(tally& all) : all_(all) {}
  void on(empty, address) { ++all_.handled; }
  void on(const unmovable_at_times&, address) { ++all_.handled; }
  void on(const over_aligned& m, address) {
    ++all_.handled;
    if (reinterpret_cast<std::uintptr_t>(&m) % alignof(over_aligned) != 0) ++all_.broken;
  }
  void on(move_only&& m, address) {
    ++all_.handled;
    if (m.number == nullptr) ++all_.broken;
  }
  void on(const huge& m, address) {
    ++all_.handled;
    if (m.bytes.front() != 'a' || m.bytes.back() != 'z') ++all_.broken;
  }

 private:
  tally& all_;
};

enum class kind { backpressure, refuse, drop_newest, drop_oldest, redirect_same, redirect_other };
constexpr std::array kinds{"backpressure", "refuse",        "drop_newest",
                           "drop_oldest",  "redirect_same", "redirect_other"};

class any_message : public ::testing::TestWithParam<kind> {
 protected:
  [[nodiscard]] ref<taker> limited(std::size_t most) {
    const auto with = [&](overflow on_full) {
      return s.system.spawn<taker>(
          spawn_options{.max_messages = most, .max_bytes = no_limit, .on_full = on_full}, all);
    };
    switch (GetParam()) {
      case kind::backpressure:
        return with(overflow::backpressure);
      case kind::refuse:
        return with(overflow::refuse);
      case kind::drop_newest:
        return with(overflow::drop_newest);
      case kind::drop_oldest:
        return with(overflow::drop_oldest);
      case kind::redirect_same:
        return with(overflow::redirect_to(with(overflow::refuse)));
      case kind::redirect_other:
        break;
    }
    const auto other = s.system.spawn<taker_with_sender>(
        spawn_options{.max_messages = most, .on_full = overflow::refuse}, all);
    return with(overflow::redirect_to<taker>(other));
  }

  // When all has terminated: the handled, refused and dropped messages add up to those that were
  // sent.
  void check(std::uint64_t sent) {
    EXPECT_TRUE(s.system.shutdown(patience).complete());
    const overload_counts told = s.full.counts();
    EXPECT_EQ(sent, all.handled + told.refused + told.dropped);
    EXPECT_EQ(all.broken, 0u);
    EXPECT_EQ(counted<of_messages>::alive(), 0);
    EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
    EXPECT_TRUE(s.told.dead_letters().empty());
  }

  tally all;
  crowd s;
};

INSTANTIATE_TEST_SUITE_P(overload, any_message,
                         ::testing::Values(kind::backpressure, kind::refuse, kind::drop_newest,
                                           kind::drop_oldest, kind::redirect_same,
                                           kind::redirect_other),
                         [](const auto& chosen) {
                           return std::string(kinds[static_cast<std::size_t>(chosen.param)]);
                         });

template <class Send>
void from_two_threads(Send&& send) {
  std::jthread one(send);
  std::jthread other(send);
}

TEST_P(any_message, that_is_empty_is_handled_or_reported) {
  const auto to = limited(4);
  from_two_threads([&] {
    for (int i = 0; i < 2'000; ++i) to.send(empty{});
  });
  check(4'000);
}

TEST_P(any_message, that_is_move_only_is_handled_or_reported) {
  const auto to = limited(4);
  from_two_threads([&] {
    for (int i = 0; i < 2'000; ++i) to.send(move_only{std::make_unique<int>(i), {}});
  });
  check(4'000);
}

TEST_P(any_message, that_is_over_aligned_is_handled_or_reported) {
  const auto to = limited(4);
  from_two_threads([&] {
    for (int i = 0; i < 2'000; ++i) to.send(over_aligned{});
  });
  check(4'000);
}

TEST_P(any_message, that_is_huge_is_handled_or_reported) {
  const auto to = limited(4);
  from_two_threads([&] {
    const auto message = std::make_unique<huge>();
    message->bytes.front() = 'a';
    message->bytes.back() = 'z';
    for (int i = 0; i < 500; ++i) to.send(*message);
  });
  check(1'000);
}

TEST_P(any_message, one_that_throws_while_it_is_sent_is_not_sent) {
  const auto to = limited(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_THROW(to.send(unmovable_at_times{}), std::runtime_error);
  }
  EXPECT_EQ(s.full.counts(), overload_counts{});
  check(0);
}

// It can be moved into the first envelope, but not into that for the other class.
TEST_P(any_message, that_throws_while_it_is_redirected_is_refused_and_reported) {
  const auto to = limited(2);
  std::jthread([&] {
    for (int i = 0; i < 1'000; ++i) {
      unmovable_at_times once;
      once.moves_left = 1;
      to.send(std::move(once));
    }
  }).join();
  check(1'000);
}

}  // namespace
}  // namespace troupe::test
