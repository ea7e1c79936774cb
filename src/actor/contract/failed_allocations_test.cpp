// SPDX-License-Identifier: Apache-2.0
// An allocation fails in the middle of an operation: what had been done by then is taken back.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>

#include "actor/ask_test_support.hpp"
#include "actor/no_memory_test_support.hpp"
#include "actor/overload_test_support.hpp"

namespace troupe::test {
namespace {

// ── Messages beyond the limit ─────────────────────────────────────────────────────────────────

struct freight {
  std::size_t size;
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return size; }
};

class depot : public actor {
 public:
  explicit depot(int& handled) : handled_(handled) {}
  void on(const freight&) { ++handled_; }

 private:
  int& handled_;
};

TEST(failed_allocation,
     for_a_message_that_the_mailbox_cannot_count_leaves_nothing_in_the_overdraft) {
  constexpr std::size_t beyond_counting = 20'000'000;
  int handled = 0;
  recorder told;
  system_options options = told.options(1);
  options.memory_budget = std::size_t{1} << 40;
  pumped_crowd s(options);
  spawn_options narrow = s.here(no_limit);
  narrow.max_bytes = 4'096;
  const auto full = s.system.spawn<depot>(narrow, handled);
  while (full.send(freight{100}) == delivery::accepted) {
  }
  const std::uint64_t before = s.system.statistics().overdraft_bytes;
  const std::uint64_t failed = with_each_allocation_failing(
      [&] { (void)full.send(freight{beyond_counting}); },
      [&] { EXPECT_EQ(s.system.statistics().overdraft_bytes, before); });
  EXPECT_GE(failed, 2u) << "of the message, and of what stands for it in the mailbox";
  EXPECT_GE(s.system.statistics().overdraft_bytes, before + beyond_counting);
  s.play();
  EXPECT_EQ(s.system.statistics().overdraft_bytes, 0u);
}

// ── Waiting for an answer ─────────────────────────────────────────────────────────────────────

TEST(failed_allocation, for_the_time_of_a_request_leaves_no_wait_that_keeps_its_actor) {
  journal log;
  stage s;
  const auto silent = s.spawn<oracle>();
  for (std::uint64_t which = 1, tries = 0; tries == 0; ++which) {
    auto asks = s.spawn<asker_actor>(log);
    bool has_failed = false;
    asks.send(work{[&](asker_actor&) -> task<> {
      const failing_allocation memory(which);
      try {
        const auto asked = silent.ask<answer_later>(1h);
      } catch (const std::bad_alloc&) {
      }
      has_failed = failing_allocation::has_failed();
      co_return;
    }});
    s.play();
    asks = {};
    s.play();
    EXPECT_EQ(s.system.statistics().actors_alive, 1u)
        << "after the failure of allocation " << which;
    if (!has_failed) tries = which;
    ASSERT_LT(which, 100u);
  }
}

// ── Links ─────────────────────────────────────────────────────────────────────────────────────

class linked : public actor {
 public:
  void on(const std::function<void(linked&)>& what) { what(*this); }
  using actor::link;
};

TEST(failed_allocation, for_a_link_leaves_neither_actor_linked) {
  stage s;
  for (std::uint64_t which = 1;; ++which) {
    const auto one = s.spawn<linked>();
    const auto other = s.spawn<linked>();
    bool has_failed = false;
    one.send(std::function<void(linked&)>([&](linked& me) {
      {
        const failing_allocation memory(which);
        try {
          me.link(other);
        } catch (const std::bad_alloc&) {
        }
        has_failed = failing_allocation::has_failed();
      }
      me.link(other);
    }));
    s.play();
    other.send(
        std::function<void(linked&)>([](linked&) { throw std::runtime_error("on purpose"); }));
    s.play();
    EXPECT_EQ(s.system.statistics().actors_alive, 0u)
        << "the link was made in the end, after the failure of allocation " << which;
    one.stop_now();
    s.play();
    if (!has_failed) break;
    ASSERT_LT(which, 100u);
  }
}

}  // namespace
}  // namespace troupe::test
