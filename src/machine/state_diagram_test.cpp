// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <troupe/troupe.hpp>
#include <utility>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct dial {};
struct pick_up {};
struct hang_up {};
struct text {};
struct show {
  std::string* into;
};
struct ask {};

class telephone : public state_machine<telephone> {
 public:
  explicit telephone(duration patient = 1h) : patient_(patient) {}

  struct idle : state {};
  struct call : state {
    using defers = troupe::messages<ask>;
  };
  struct ringing : in<call> {
    using unhandled = fails;
  };
  struct talking : in<call> {
    using unhandled = deferred;
  };
  struct broken : state {};
  using states = troupe::states<idle, call, ringing, talking, broken>;
  using messages = troupe::messages<dial, pick_up, hang_up, text, show, ask>;

  to<call> on(idle, dial) { return {}; }
  to<talking, stay> on(ringing, pick_up) { return talking{}; }
  void on(talking, text) {}
  to<history<call>, deep_history<call>> on(idle, pick_up) { return history<call>{}; }
  to<idle> on(call, hang_up) { return {}; }
  to<call> on(call, dial) { return {}; }
  to<call> on(talking, dial) { return {}; }
  static constexpr duration limit(ringing) { return 30s; }
  to<idle> on(ringing, time_limit) { return {}; }
  [[nodiscard]] duration limit(talking) const { return patient_; }
  void on(talking, time_limit) {}
  to<broken> on(hang_up) { return {}; }
  void on(const show& m) { *m.into = to_dot(*this); }
  void on(broken, ask) {}

  void on_enter(call) {}
  void on_exit(ringing) {}

 private:
  duration patient_;
};

TEST(state_diagram, shows_the_whole_machine) {
  EXPECT_EQ(to_dot<telephone>(), R"(digraph "telephone" {
  compound=true;
  label="telephone\nshow /\l";
  labelloc=t;
  node [shape=box, style=rounded];
  " begins" [shape=point];
  " begins" -> "idle";
  "idle" [label="idle"];
  subgraph "cluster call" {
    label="call\nentry /\lask / defer\l";
    style=rounded; penwidth=1;
    "call history" [shape=circle, label="H"];
    "call deep history" [shape=circle, label="H*"];
    "call begins" [shape=point];
    "call begins" -> "ringing";
    "ringing" [label="ringing\nexit /\lall others / fail\lpick_up /\l"];
    "talking" [label="talking\nall others / defer\ltext /\lafter a time limit /\l"];
  }
  "broken" [label="broken\nask /\l"];
  "in any state" [style="rounded,dashed"];
  "idle" -> "call begins" [label="dial", lhead="cluster call"];
  "idle" -> "call history" [label="pick_up"];
  "idle" -> "call deep history" [label="pick_up"];
  "call begins" -> "call begins" [label="dial"];
  "call begins" -> "idle" [label="hang_up", ltail="cluster call"];
  "ringing" -> "talking" [label="pick_up"];
  "ringing" -> "idle" [label="after 30s"];
  "talking" -> "call begins" [label="dial"];
  "in any state" -> "broken" [label="hang_up"];
}
)");
}

TEST(state_diagram, of_a_machine_marks_where_it_is_and_knows_its_time_limits) {
  stage s;
  const auto m = s.spawn<telephone>(90min);
  std::string shown;
  m.send(dial{});
  m.send(pick_up{});
  m.send(show{&shown});
  s.play();
  EXPECT_THAT(shown, HasSubstr(R"("talking" [label="talking\nall others / defer\ltext /\l)"
                               R"(after 90min /\l", style="rounded,filled", penwidth=2];)"));
  EXPECT_THAT(shown, HasSubstr("style=rounded; penwidth=2;")) << "the state around it";
  EXPECT_THAT(shown, HasSubstr("\"idle\" [label=\"idle\"];"));
}

TEST(state_diagram, writes_durations_in_the_largest_unit_that_fits) {
  EXPECT_EQ(detail::limit_text(2h), "after 2h");
  EXPECT_EQ(detail::limit_text(90s), "after 90s");
  EXPECT_EQ(detail::limit_text(1500ms), "after 1500ms");
  EXPECT_EQ(detail::limit_text(1us), "after 1us");
  EXPECT_EQ(detail::limit_text(0s), "after 0ns");
  EXPECT_EQ(detail::limit_text(1001ns), "after 1001ns");
}

struct first_part {
  struct same : statechart::state {};
};
struct second_part {
  struct same : statechart::state {};
};
template <class T>
struct boxed {};

class twins : public state_machine<twins> {
 public:
  using states = troupe::states<first_part::same, second_part::same>;
  using messages = troupe::messages<boxed<std::pair<dial, text>>>;
  to<second_part::same> on(first_part::same, boxed<std::pair<dial, text>>) { return {}; }
};

TEST(state_diagram, keeps_states_apart_that_have_the_same_name) {
  const std::string dot = to_dot<twins>();
  EXPECT_THAT(dot, HasSubstr("\"same#0\" [label=\"same\"]"));
  EXPECT_THAT(dot, HasSubstr("\"same#0\" -> \"same#1\" [label=\"boxed<"));
}

}  // namespace
}  // namespace troupe::test
