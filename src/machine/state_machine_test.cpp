// SPDX-License-Identifier: Apache-2.0
// Which handler of a machine gets a message, and which actions run on the way from state to state.
// (Time limits: state_limit_test.cpp; deferred messages: state_deferral_test.cpp.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct go {};  // each test gives them a meaning
struct back {};
struct again {};
struct inner {};
struct look {};
struct jump_history {};
struct jump_deep {};
struct jump_history_of_a {};
struct choose {
  int n;
};

/// Shared by the machines of these tests: each action is recorded.
template <class Self>
class logged_machine : public state_machine<Self> {
 public:
  explicit logged_machine(journal& log) : log_(log) {}

 protected:
  void entered(std::string_view what) { write('+', what); }
  void left(std::string_view what) { write('-', what); }

  journal& log_;

 private:
  // Not as a sum of strings, of which GCC 12 warns at -O3.
  void write(char sign, std::string_view what) {
    std::string line(1, sign);
    line.append(what);
    log_.write(line);
  }
};

// outer { a { a1, a2 }, b { b1, b2 } }, other
class nested : public logged_machine<nested> {
 public:
  using logged_machine::logged_machine;

  struct outer : state {};
  struct a : in<outer> {};
  struct a1 : in<a> {};
  struct a2 : in<a> {};
  struct b : in<outer> {};
  struct b1 : in<b> {};
  struct b2 : in<b> {};
  struct other : state {};
  using states = troupe::states<outer, a, a1, a2, b, b1, b2, other>;
  using messages =
      troupe::messages<go, back, again, inner, look, jump_history, jump_deep, jump_history_of_a>;

  to<b2> on(a1, go) { return {}; }
  to<a2> on(b2, go) { return {}; }
  to<other> on(outer, back) { return {}; }
  to<outer> on(other, back) { return {}; }
  to<outer> on(outer, again) { return {}; }
  to<a> on(a1, inner) { return {}; }
  to<a2> on(a, inner) { return {}; }
  to<b2> on(b1, inner) { return {}; }
  to<b1> on(look) { return {}; }
  to<history<outer>> on(other, jump_history) { return {}; }
  to<deep_history<outer>> on(other, jump_deep) { return {}; }
  to<history<a>> on(jump_history_of_a) { return {}; }

  template <class S>
  void on_enter(S) {
    entered(detail::short_name<S>());
  }
  template <class S>
  void on_exit(S) {
    left(detail::short_name<S>());
  }
};

class state_machine_nested : public ::testing::Test {
 protected:
  template <class... Ms>
  std::vector<std::string> after(Ms... sent) {
    stage_.play();
    const std::size_t before = log_.lines().size();
    (machine_.send(sent), ...);
    stage_.play();
    auto lines = log_.lines();
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(before));
    return lines;
  }

  journal log_;
  stage stage_;
  ref<nested> machine_ = stage_.spawn<nested>(log_);
};

TEST_F(state_machine_nested, begins_in_the_first_state_and_in_the_first_within_it) {
  stage_.play();
  EXPECT_THAT(log_.lines(), ElementsAre("+outer", "+a", "+a1"));
}

TEST_F(state_machine_nested, leaves_inner_first_and_enters_outer_first_below_the_common_state) {
  EXPECT_THAT(after(go{}), ElementsAre("-a1", "-a", "+b", "+b2"));
  EXPECT_THAT(after(go{}), ElementsAre("-b2", "-b", "+a", "+a2"));
}

TEST_F(state_machine_nested, a_handler_of_an_outer_state_leaves_all_that_is_within_it) {
  EXPECT_THAT(after(back{}), ElementsAre("-a1", "-a", "-outer", "+other"));
  EXPECT_THAT(after(back{}), ElementsAre("-other", "+outer", "+a", "+a1"));
}

TEST_F(state_machine_nested, a_transition_to_the_handlers_own_state_leaves_and_reenters_it) {
  after(go{});
  EXPECT_THAT(after(again{}), ElementsAre("-b2", "-b", "-outer", "+outer", "+a", "+a1"));
}

TEST_F(state_machine_nested, a_target_within_the_handlers_state_does_not_leave_that_one) {
  after(inner{});  // a1 to a
  after(go{}, go{});
  EXPECT_THAT(after(inner{}), ElementsAre("-a2", "+a2")) << "a's handler, to a2";
}

TEST_F(state_machine_nested, a_transition_to_an_enclosing_state_restarts_it_without_leaving_it) {
  EXPECT_THAT(after(inner{}), ElementsAre("-a1", "+a1"));
}

TEST_F(state_machine_nested, the_actors_own_handler_leaves_every_state) {
  EXPECT_THAT(after(look{}), ElementsAre("-a1", "-a", "-outer", "+outer", "+b", "+b1"));
  EXPECT_THAT(after(inner{}), ElementsAre("-b1", "+b2"));
}

TEST_F(state_machine_nested, history_is_of_one_level) {
  after(look{}, inner{});  // in b2
  EXPECT_THAT(after(back{}, jump_history{}),
              ElementsAre("-b2", "-b", "-outer", "+other", "-other", "+outer", "+b", "+b1"));
}

TEST_F(state_machine_nested, deep_history_is_of_all_levels) {
  after(look{}, inner{});  // in b2
  EXPECT_THAT(after(back{}, jump_deep{}),
              ElementsAre("-b2", "-b", "-outer", "+other", "-other", "+outer", "+b", "+b2"));
}

/// Begins outside the state of which it may have a history.
class outsider : public logged_machine<outsider> {
 public:
  using logged_machine::logged_machine;

  struct outside : state {};
  struct house : state {};
  struct hall : in<house> {};
  struct door : in<hall> {};
  struct stairs : in<hall> {};
  struct attic : in<house> {};
  using states = troupe::states<outside, house, hall, door, stairs, attic>;
  using messages = troupe::messages<jump_history, jump_deep, jump_history_of_a>;

  to<history<house>> on(outside, jump_history) { return {}; }
  to<deep_history<house>> on(outside, jump_deep) { return {}; }
  to<history<hall>> on(outside, jump_history_of_a) { return {}; }

  template <class S>
  void on_enter(S) {
    entered(detail::short_name<S>());
  }
  template <class S>
  void on_exit(S) {
    left(detail::short_name<S>());
  }
};

TEST(state_machine, history_of_a_state_never_visited_is_its_initial_state) {
  const auto first_after = [](auto jump) {
    journal log;
    stage on;
    on.spawn<outsider>(log).send(jump);
    on.play();
    return log.lines();
  };
  EXPECT_THAT(first_after(jump_history{}),
              ElementsAre("+outside", "-outside", "+house", "+hall", "+door"));
  EXPECT_THAT(first_after(jump_deep{}),
              ElementsAre("+outside", "-outside", "+house", "+hall", "+door"));
  EXPECT_THAT(first_after(jump_history_of_a{}),
              ElementsAre("+outside", "-outside", "+house", "+hall", "+door"));
}

TEST_F(state_machine_nested, history_restores_the_state_that_was_left_last) {
  after(go{}, go{}, back{});  // a2
  EXPECT_THAT(after(jump_history_of_a{}), ElementsAre("-other", "+outer", "+a", "+a2"));
  EXPECT_THAT(after(jump_history_of_a{}),
              ElementsAre("-a2", "-a", "-outer", "+outer", "+a", "+a2"));
}

// ── Who handles a message ─────────────────────────────────────────────────────────────────────

class layered : public logged_machine<layered> {
 public:
  using logged_machine::logged_machine;

  struct outer : state {};
  struct in_it : in<outer> {};
  struct beside : in<outer> {};
  struct alone : state {};
  using states = troupe::states<outer, in_it, beside, alone>;
  using messages = troupe::messages<go, look, back>;

  void on(in_it, look) { log_.write("innermost"); }
  void on(outer, look) { log_.write("outer"); }
  void on(look) { log_.write("actor"); }
  to<beside> on(in_it, go) { return {}; }
  to<alone> on(beside, go) { return {}; }
  void on(alone, back) {}

  void on_unhandled(std::string_view in_state, std::string_view message) {
    log_.write(std::string(in_state) + " does not handle " + std::string(message));
    EXPECT_EQ(in_state, state_name());
    log_.write(std::to_string(unhandled()));
  }
};

TEST(state_machine, a_message_goes_to_the_innermost_handling_state_or_to_the_actor) {
  journal log;
  stage s;
  const auto m = s.spawn<layered>(log);
  m.send(look{});
  m.send(go{});
  m.send(look{});
  m.send(go{});
  m.send(look{});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("innermost", "outer", "actor"));
}

TEST(state_machine, an_unhandled_message_is_counted_and_reported) {
  journal log;
  stage s;
  const auto m = s.spawn<layered>(log);
  m.send(back{});
  m.send(back{});
  s.play();
  const auto back_in_it = ::testing::AllOf(::testing::StartsWith("in_it does not handle "),
                                           ::testing::EndsWith("::back"));
  EXPECT_THAT(log.lines(), ElementsAre(back_in_it, "1", back_in_it, "2"));
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

class strict : public state_machine<strict> {
 public:
  struct lenient : state {};
  struct hard : state {
    using unhandled = fails;
  };
  struct harder : in<hard> {};
  struct soft : in<hard> {
    using unhandled = ignored;
  };
  using states = troupe::states<lenient, hard, harder, soft>;
  using messages = troupe::messages<go, back, choose>;

  to<harder, soft> on(lenient, choose c) {
    if (c.n == 0) return harder{};
    return soft{};
  }
  void on(lenient, go) {}
  void on(soft, back) { stop(); }
};

TEST(state_machine, a_state_and_its_inner_states_may_fail_on_unhandled_messages) {
  stage s;
  const auto m = s.spawn<strict>();
  m.send(choose{0});
  m.send(go{});
  s.play();
  EXPECT_EQ(m.join(), exit_reason::failed);
  ASSERT_EQ(s.told.failures().size(), 1u);
  EXPECT_THAT(s.told.failures()[0].what, HasSubstr("in the state harder"));
  EXPECT_THAT(s.told.failures()[0].message, HasSubstr("go"));
}

TEST(state_machine, a_state_may_be_more_lenient_than_the_one_around_it) {
  stage s;
  const auto m = s.spawn<strict>();
  m.send(choose{1});
  m.send(go{});
  m.send(back{});
  s.play();
  EXPECT_EQ(m.join(), exit_reason::stopped);
}

// ── Forms of handlers ─────────────────────────────────────────────────────────────────────────

struct by_value {
  std::string text;
};
struct by_reference {
  std::string text;
};
struct by_rvalue {
  std::unique_ptr<int> number;
};
struct with_sender {};

class forms : public logged_machine<forms> {
 public:
  using logged_machine::logged_machine;

  struct only : state {};
  struct last : state {};
  using states = troupe::states<only, last>;
  using messages = troupe::messages<by_value, by_reference, by_rvalue, with_sender, int, long>;

  void on(only, by_value m) { log_.write("value " + m.text); }
  void on(only, const by_reference& m) const { log_.write("reference " + m.text); }
  void on(only, by_rvalue&& m) noexcept {
    log_.write("rvalue " + std::to_string(*std::exchange(m.number, nullptr)));
  }
  void on(only, with_sender, const address& from) { sender = from; }
  std::pair<std::string, to<last>> on(only, int) { return {"a result", last{}}; }
  std::string on(last, int) { return log_.write("only a result"), ""; }
  task<> on(only, long n) {
    log_.write("a coroutine " + std::to_string(n));
    co_return;
  }

  address sender;
};

TEST(state_machine, handlers_take_messages_in_every_form) {
  journal log;
  stage s;
  const auto m = s.spawn<forms>(log);
  const auto from = s.spawn<probe>(log);
  m.send(by_value{"1"});
  m.send(by_reference{"2"});
  m.send(by_rvalue{std::make_unique<int>(3)});
  m.send(long{4});
  m.send(1);
  m.send(2);
  s.play();
  EXPECT_THAT(log.lines(),
              ElementsAre("value 1", "reference 2", "rvalue 3", "a coroutine 4", "only a result"));
}

class asks : public state_machine<asks> {
 public:
  explicit asks(std::vector<address>& senders) : senders_(senders) {}
  struct first : state {};
  struct second : state {};
  using states = troupe::states<first, second>;
  using messages = troupe::messages<go>;

  to<second> on(first, go, address sender) {
    senders_.push_back(sender);
    return {};
  }
  to<first> on(second, go) {
    senders_.emplace_back();
    return {};
  }

 private:
  std::vector<address>& senders_;
};

TEST(state_machine, passes_the_sender_to_a_handler_that_takes_it) {
  journal log;
  std::vector<address> senders;
  stage s;
  const auto m = s.spawn<asks>(senders);
  const auto p = s.spawn<probe>(log);
  for (int i = 0; i < 3; ++i) p.send(call{[&](probe&) { m.send(go{}); }});
  s.play();
  m.send(go{});
  m.send(go{});
  s.play();
  EXPECT_THAT(senders, ElementsAre(p.address(), address{}, p.address(), address{}, address{}));
}

TEST(state_machine, understands_every_message_that_one_of_its_states_handles) {
  EXPECT_TRUE((understands<layered, go>));
  EXPECT_TRUE((understands<layered, look>));
  EXPECT_FALSE((understands<layered, choose>));
  EXPECT_FALSE((understands<layered, layered::outer>)) << "a state is no message";
  journal log;
  stage s;
  const recipient<go, look> m = s.spawn<layered>(log);
  m.send(go{});
  m.send(look{});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("outer"));
}

class watcher : public state_machine<watcher> {
 public:
  watcher(journal& log, const ref<probe>& other) : log_(log) { watch(other); }

  struct waiting : state {};
  struct alone : state {};
  using states = troupe::states<waiting, alone>;
  using messages = troupe::messages<down>;

  to<alone> on(waiting, const down&) { return {}; }
  void on_enter(alone) { log_.write("alone"); }

 private:
  journal& log_;
};

TEST(state_machine, may_watch_others) {
  journal log;
  stage s;
  auto p = s.spawn<probe>(log);
  const auto m = s.spawn<watcher>(log, p);
  s.play();
  p.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed", "alone"));
}

class late_reader : public state_machine<late_reader> {
 public:
  late_reader(journal& log, const ref<probe>& other)
      : log_(log), other_(other), first_(watch(other)), second_(watch(other)) {
    link(other);
  }

  struct busy : state {
    using unhandled = deferred;
  };
  struct reading : state {};
  using states = troupe::states<busy, reading>;
  using messages = troupe::messages<go, choose, down, link_down>;

  to<stay> on(busy, choose) {
    log_.write(unwatch(first_) ? "unwatched" : "was over");
    unlink(other_.address());
    return {};
  }
  to<reading> on(busy, go) { return {}; }
  void on(reading, const down& d) {
    log_.write(d.monitor == second_ ? "second" : "first");
    log_.write(unwatch(second_) ? "unwatched" : "was over");
  }
  void on(reading, const link_down&) { log_.write("link"); }

 private:
  journal& log_;
  ref<probe> other_;
  monitor first_;
  monitor second_;
};

TEST(state_machine, unwatch_and_unlink_withdraw_deferred_notifications) {
  journal log;
  stage s;
  auto p = s.spawn<probe>(log);
  const auto m = s.spawn<late_reader>(log, p);
  s.play();
  p.stop();
  s.play();
  m.send(choose{0});
  m.send(go{});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed", "unwatched", "second", "was over"));
}

// ── When a state changes ──────────────────────────────────────────────────────────────────────

class observer : public logged_machine<observer> {
 public:
  using logged_machine::logged_machine;

  struct first : state {};
  struct outer : state {};
  struct second : in<outer> {};
  using states = troupe::states<first, outer, second>;
  using messages = troupe::messages<go, look, choose>;

  to<outer> on(first, go) {
    self(this).send(look{});
    write("handler");
    return {};
  }
  void on(outer, look) { write("look"); }
  to<second, stay> on(second, choose c) {
    if (c.n == 0) return stay{};
    return second{};
  }
  void on_enter(outer) { write("enter outer"); }
  void on_enter(second) { write("enter second"); }
  void on_exit(first) { write("exit first"); }
  void on_exit(second) { write("exit second"); }

 private:
  void write(std::string_view what) {
    log_.write(std::string(what) + (is_in<first>() ? " first" : "") +
               (is_in<outer>() ? " outer" : "") + (is_in<second>() ? " second" : "") + " (" +
               std::string(state_name()) + ")");
  }
};

TEST(state_machine, changes_state_after_the_handler_and_reports_progress_to_actions) {
  journal log;
  stage s;
  const auto m = s.spawn<observer>(log);
  m.send(go{});
  s.play();
  EXPECT_THAT(
      log.lines(),
      ElementsAre("handler first (first)", "exit first first (first)", "enter outer outer (outer)",
                  "enter second outer second (second)", "look outer second (second)"));
}

TEST(state_machine, stays_where_it_is_without_actions) {
  journal log;
  stage s;
  const auto m = s.spawn<observer>(log);
  m.send(go{});
  s.play();
  const std::size_t before = log.lines().size();
  m.send(choose{0});
  s.play();
  EXPECT_EQ(log.lines().size(), before);
  m.send(choose{1});
  s.play();
  EXPECT_EQ(log.lines().size(), before + 2) << "exit and entry";
}

TEST(state_machine, the_end_of_the_actor_is_no_change_of_state) {
  journal log;
  stage s;
  const auto m = s.spawn<nested>(log);
  s.play();
  m.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("+outer", "+a", "+a1"));
}

class throwing : public state_machine<throwing> {
 public:
  struct calm : state {};
  struct bad_entry : state {};
  struct bad_exit : state {};
  using states = troupe::states<calm, bad_entry, bad_exit>;
  using messages = troupe::messages<choose>;

  to<bad_entry, bad_exit> on(calm, choose c) {
    if (c.n == 0) throw std::runtime_error("out of a handler");
    if (c.n == 1) return bad_entry{};
    return bad_exit{};
  }
  to<calm> on(bad_exit, choose) { return {}; }
  void on_enter(bad_entry) { throw std::runtime_error("out of an entry"); }
  void on_exit(bad_exit) { throw std::runtime_error("out of an exit"); }
};

TEST(state_machine, an_exception_out_of_a_handler_or_an_action_ends_the_actor_as_failed) {
  const char* const what[] = {"out of a handler", "out of an entry", "out of an exit"};
  for (int n = 0; n < 3; ++n) {
    stage s;
    const auto m = s.spawn<throwing>();
    m.send(choose{n});
    m.send(choose{n});
    s.play();
    EXPECT_EQ(m.join(), exit_reason::failed);
    ASSERT_EQ(s.told.failures().size(), 1u);
    EXPECT_EQ(s.told.failures()[0].what, what[n]);
  }
}

class stillborn : public state_machine<stillborn> {
 public:
  struct first : state {};
  using states = troupe::states<first>;
  using messages = troupe::messages<go>;
  void on(first, go) {}
  void on_enter(first) { throw std::runtime_error("at once"); }
};

TEST(state_machine, an_exception_out_of_the_first_entry_ends_the_actor_as_failed) {
  stage s;
  const auto m = s.spawn<stillborn>();
  s.play();
  EXPECT_EQ(m.join(), exit_reason::failed);
}

class named : public state_machine<named> {
 public:
  explicit named(int& changes) : active_(changes) {}
  struct first : state {};
  struct second : state {};
  using states = troupe::states<first, second>;
  using messages = troupe::messages<go>;
  to<second> on(first, go) { return {}; }
  void change(int) { ADD_FAILURE(); }
  void on_enter(second) { ++active_; }

 private:
  int& active_;
};

// Its members are called like those that a machine has for itself.
TEST(state_machine, members_of_the_actor_may_have_any_name) {
  int changes = 0;
  stage s;
  const auto m = s.spawn<named>(changes);
  m.send(go{});
  s.play();
  EXPECT_EQ(changes, 1);
}

}  // namespace
}  // namespace troupe::test
