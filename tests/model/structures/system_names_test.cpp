// SPDX-License-Identifier: Apache-2.0
// Names in a whole system. An actor that waits for a name is notified, in any order of events, and
// a wait that ends leaves nothing behind.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

struct begin {};

class seeker : public actor {
 public:
  explicit seeker(plain<int>& found) : found_(found) {}
  task<> on(begin) {
    const auto it = co_await registry(system()).wait<counter>("it");
    require(static_cast<bool>(it), "without a deadline it waits until it is there");
    found_ = found_ + 1;
    stop();
  }

 private:
  plain<int>& found_;
};

TEST(registry, notifies_a_suspended_handler_in_every_order) {
  expect_holds({.random = 3'000}, [] {
    record done;
    plain<int> found{0};
    troupe::system all{small(1)};
    const auto who = all.spawn<seeker>(found);
    who.send(begin{});
    const auto it = all.spawn<counter>(done);
    require(static_cast<bool>(registry(all).add("it", it)), "nobody else has it");
    require(who.join() == exit_reason::stopped, "it is told, and stops");
    require(found == 1, "once");
  });
}

TEST(registry, notifies_a_waiting_thread_in_every_order) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small(1)};
    const auto it = all.spawn<counter>(done);
    jthread other([&] { require(static_cast<bool>(registry(all).add("it", it)), "it is free"); });
    require(static_cast<bool>(registry(all).wait_for<counter>("it", time_point::max())),
            "it comes");
  });
}

TEST(registry, notifies_two_threads_that_wait_for_the_same_name) {
  expect_holds({.random = 1'500}, [] {
    record done;
    troupe::system all{small(1)};
    const auto it = all.spawn<counter>(done);
    const auto waits = [&] {
      require(static_cast<bool>(registry(all).wait_for<counter>("it", time_point::max())),
              "it comes");
    };
    jthread one(waits);
    jthread other(waits);
    require(static_cast<bool>(registry(all).add("it", it)), "it is free");
  });
}

TEST(registry, an_actor_terminating_while_it_waits_is_notified_at_most_once) {
  expect_holds({.random = 3'000}, [] {
    record done;
    plain<int> found{0};
    {
      troupe::system all{small(1)};
      const auto who = all.spawn<seeker>(found);
      who.send(begin{});
      const auto it = all.spawn<counter>(done);
      jthread other([&] { who.stop_now(); });
      (void)registry(all).add("it", it);
      (void)who.join();
    }
    require(found == 0 || found == 1, "at most once");
    varies(found == 1, "it is told before it ends");
    require(done.ends == 1, "who has the name ends with the system");
  });
}

TEST(registry, frees_a_name_when_its_actor_has_terminated) {
  expect_holds({.random = 3'000}, [] {
    record done;
    troupe::system all{small(1)};
    const auto one = all.spawn<counter>(done);
    const auto other = all.spawn<counter>(done);
    require(static_cast<bool>(registry(all).add("it", one)), "it is free");
    one.stop();
    (void)one.join();
    require(static_cast<bool>(registry(all).add("it", other)), "it is free again");
    const auto found = registry(all).find<counter>("it");
    require(found && *found == other, "it is the other one's");
  });
}

}  // namespace
}  // namespace troupe
