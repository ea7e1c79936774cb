// SPDX-License-Identifier: Apache-2.0
// Restarts and mailbox limits: the charges, counts and suspended senders that the next incarnation
// finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

constexpr auto A = delivery::accepted;
constexpr auto R = delivery::refused;
constexpr int places = 4;

struct crate {
  std::size_t size;
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return size; }
};
struct number {
  int value;
};

class storekeeper : public pupil {
 public:
  using message_limits = troupe::message_limits<at_most<crate, places>>;
  explicit storekeeper(script& does) : pupil(does) {}
  using pupil::on;
  void on(const crate&) { ++crates; }
  void on(number) { ++numbers; }

  static inline int crates = 0;
  static inline int numbers = 0;
};

struct warehouse : clinic<storekeeper> {
  explicit warehouse(bool forgets, std::size_t max_messages = places,
                     overflow on_full = overflow::refuse) {
    storekeeper::crates = storekeeper::numbers = 0;
    spawn_options options{
        .where = bound_to(pump), .max_messages = max_messages, .on_full = on_full};
    options.memory_budget = group;
    auto spec = child<storekeeper>("a", std::ref(does)).options(options);
    if (forgets) spec.clear_mailbox();
    open_spec(spec);
  }

  // Nothing is charged, and as many messages fit as into a new mailbox.
  void expect_as_new() {
    play();
    EXPECT_EQ(group.used(), 0u);
    EXPECT_EQ(system.statistics().message_bytes_waiting, 0u);
    EXPECT_EQ(system.statistics().overdraft_bytes, 0u);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < places; ++i) EXPECT_EQ(it.send(crate{10}), A) << i << " in " << round;
      EXPECT_EQ(it.send(crate{10}), R);
      play();
      EXPECT_EQ(group.used(), 0u);
    }
  }

  budget group{100'000'000};
};

TEST(restart, releases_the_mailbox_space_of_discarded_messages) {
  for (int failures = 1; failures < 4; ++failures) {
    warehouse on(true);
    for (int i = 0; i < failures; ++i) {
      EXPECT_EQ(on.it.send(fail{"why not"}), A);
      for (int each = 0; each < places - 1; ++each) EXPECT_EQ(on.it.send(crate{100}), A);
      on.play();
    }
    EXPECT_EQ(storekeeper::crates, 0) << "they are forgotten";
    on.expect_as_new();
  }
}

TEST(restart, releases_the_mailbox_space_of_messages_handled_after_it) {
  for (int failures = 1; failures < 4; ++failures) {
    warehouse on(false);
    for (int i = 0; i < failures; ++i) {
      EXPECT_EQ(on.it.send(fail{"why not"}), A);
      for (int each = 0; each < places - 1; ++each) EXPECT_EQ(on.it.send(crate{100}), A);
      on.play();
    }
    EXPECT_EQ(storekeeper::crates, failures * (places - 1));
    on.expect_as_new();
  }
}

// Sends a message that fails the receiver, and then the requested number of messages.
class flooder : public actor {
 public:
  explicit flooder(ref<storekeeper> to) : to_(std::move(to)) {}
  void on(number m) {
    (void)to_.send(fail{"why not"});
    for (int i = 0; i < m.value; ++i) (void)to_.send(number{i});
  }

 private:
  const ref<storekeeper> to_;
};

TEST(restart, with_clear_mailbox_resumes_suspended_senders) {
  warehouse on(true, places, overflow::backpressure);
  const auto from = on.spawn<flooder>(on.it);
  from.send(number{20});
  on.play();
  EXPECT_EQ(on.system.statistics().senders_paused, 0u);
  EXPECT_EQ(storekeeper::numbers, 0);
  EXPECT_EQ(on.does.objects, 2);
  on.expect_as_new();
}

TEST(restart, with_clear_mailbox_discards_messages_that_the_mailbox_does_not_count) {
  warehouse on(true, 100'000, overflow::backpressure);
  const auto from = on.spawn<flooder>(on.it);
  from.send(number{600'000});
  on.play();
  EXPECT_EQ(on.system.statistics().senders_paused, 0u);
  EXPECT_EQ(storekeeper::numbers, 0);
  on.play();
  EXPECT_EQ(on.group.used(), 0u);
  EXPECT_EQ(on.system.statistics().message_bytes_waiting, 0u);
  EXPECT_EQ(on.system.statistics().overdraft_bytes, 0u);
}

TEST(restart, after_a_broken_link_names_that_link_and_no_earlier_one) {
  clinic<pupil> on;
  const auto one = on.spawn<probe>(spawn_options{.name = "one"}, on.log);
  const auto two = on.spawn<probe>(spawn_options{.name = "two"}, on.log);
  on.open();
  on.let_it([&](pupil& p) {
    p.link(one);
    p.link(two);
  });
  for (const auto& [which, name] : {std::pair{one, "one"}, std::pair{two, "two"}}) {
    which.send(call{[](probe&) { throw std::runtime_error("over"); }});
    on.play();
    EXPECT_THAT(on.list().at(0).what, ::testing::HasSubstr(name));
  }
  EXPECT_EQ(on.does.objects, 3);
}

TEST(restart, never_follows_shutdown_now) {
  for (const auto when : {troupe::restart::always, troupe::restart::on_failure}) {
    clinic<pupil> on;
    on.open_spec(child<pupil>("a", std::ref(on.does))
                     .restart_policy(when)
                     .options({.where = bound_to(on.pump)}));
    (void)on.system.shutdown_now(patience);
    EXPECT_EQ(on.does.objects, 1);
    EXPECT_EQ(on.system.statistics().restarts, 0u);
  }
}

}  // namespace
}  // namespace troupe::test
