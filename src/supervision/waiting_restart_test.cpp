// SPDX-License-Identifier: Apache-2.0
// Handlers that wait for a channel, a termination, or a name while their actor is restarted.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

struct wait_for_a_value {};
struct wait_for_an_end {
  address of;
};
struct wait_for_a_name {};

/// Records its messages, and which incarnation received them.
class patient : public actor {
 public:
  patient(script& does, channel<int> in) : does_(does), in_(std::move(in)) {
    object_ = ++does_.objects;
  }
  task<> on(wait_for_a_value) { write("value " + std::to_string(*co_await in_.next())); }
  task<> on(wait_for_an_end m) { write(to_string((co_await end_of(m.of)).reason)); }
  task<> on(wait_for_a_name) {
    const auto found = co_await registry(system()).wait<pupil>("a");
    write(found ? "found" : "not found");
  }
  void on(const fail& m) { throw std::runtime_error(m.why); }

 private:
  void write(std::string_view what) {
    does_.write(std::string(what) + " of " + std::to_string(object_));
  }

  script& does_;
  const channel<int> in_;
  int object_ = 0;
};

// Data that outlives the actors.
struct records {
  script p{"p"};
  script other_does{"other"};
};

struct ward : records, school {
  ward() {
    open(at_once, child<patient>("p", std::ref(p), in).options({.where = bound_to(pump)}));
    it = find<patient>("p");
  }
  void fail_and_come_back() {
    it.send(fail{"why not"});
    play();
    EXPECT_EQ(p.objects, 2);
  }

  const channel<int> in{2};
  ref<pupil> other = spawn<pupil>(other_does);
  ref<patient> it;
};

using lines = std::vector<std::string>;

TEST(restart_while_suspended, returns_a_value_delivered_to_the_failed_incarnation) {
  ward on;
  on.it.send(wait_for_a_value{});
  on.play();
  on.it.send(fail{"why not"});
  on.in.send(1);  // the notification comes after the failure
  on.play();
  EXPECT_EQ(on.p.objects, 2);
  EXPECT_EQ(on.in.size(), 1u);
  EXPECT_EQ(on.in.waiting(), 0u);
  on.it.send(wait_for_a_value{});
  on.play();
  EXPECT_EQ(on.p.log.lines(), lines{"value 1 of 2"});
}

TEST(restart_while_suspended, does_not_notify_the_next_incarnation_of_a_termination) {
  ward on;
  on.it.send(wait_for_an_end{on.other});
  on.play();
  on.fail_and_come_back();
  on.other.stop();
  on.play();
  EXPECT_EQ(on.p.log.lines(), lines{});
}

TEST(restart_while_suspended, discards_a_termination_notification_in_flight) {
  ward on;
  const auto ends = on.system.spawn<pupil>(on.other_does);
  on.it.send(wait_for_an_end{ends});
  on.play();
  on.it.send(fail{"why not"});
  ends.stop();
  (void)ends.join();  // so the notification has been sent
  on.play();
  EXPECT_EQ(on.p.objects, 2);
  EXPECT_EQ(on.p.log.lines(), lines{});
}

TEST(restart_while_suspended, discards_a_name_notification_in_flight) {
  ward on;
  on.it.send(wait_for_a_name{});
  on.play();
  on.it.send(fail{"why not"});
  registry(on.system).add("a", on.other);
  on.play();
  EXPECT_EQ(on.p.objects, 2);
  EXPECT_EQ(on.p.log.lines(), lines{});
  on.it.send(wait_for_a_name{});
  on.play();
  EXPECT_EQ(on.p.log.lines(), lines{"found of 2"});
}

}  // namespace
}  // namespace troupe::test
