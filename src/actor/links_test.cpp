// SPDX-License-Identifier: Apache-2.0
// Actors that terminate together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <thread>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/troupe.hpp>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class member;
struct act {
  std::function<void(member&)> what;
};

// Terminates with the actors that it is linked with.
class member : public actor {
 public:
  explicit member(journal* log = nullptr) : log_(log) {}
  void on(const act& a) { a.what(*this); }
  void on(const note& n) { log_->write(n.text); }
  void on(const down& d) { downs.push_back(d); }
  void on_stop() {
    if (log_ != nullptr) log_->write("on_stop");
  }

  using actor::link;
  using actor::stop;
  using actor::unlink;
  using actor::watch;

  std::vector<down> downs;

 private:
  journal* const log_;
};

// Is notified instead.
class trapper : public actor {
 public:
  explicit trapper(journal& log) : log_(log) {}
  void on(const std::function<void(trapper&)>& what) { what(*this); }
  void on(const note& n) { log_.write(n.text); }
  void on(const link_down& d) {
    log_.write("link_down: " + std::string(to_string(d.reason)) + d.what);
    last = d;
  }

  using actor::link;
  using actor::unlink;

  link_down last;

 private:
  journal& log_;
};
using trap_act = std::function<void(trapper&)>;

void fail(const ref<member>& one) {
  one.send(act{[](member&) { throw std::runtime_error("broken"); }});
}

struct seen {
  journal log;
};

// Two that are linked, and one that watches both.
struct theatre : seen, stage {
  ref<member> a = spawn<member>();
  ref<member> b = spawn<member>(&log);
  ref<member> w = spawn<member>();
  std::vector<down> downs;

  theatre() {
    link(a, b);
    w.send(act{[this](member& m) { m.watch(a), m.watch(b); }});
    play();
  }
  ~theatre() {
    for (const auto* each : {&a, &b, &w}) each->stop();
    play();
  }
  static void link(const ref<member>& one, const ref<member>& other) {
    one.send(act{[other](member& m) { m.link(other); }});
  }
  std::vector<exit_reason> ends() {
    play();
    std::vector<exit_reason> those;
    w.send(act{[&](member& m) {
      downs = m.downs;
      for (const down& d : downs) those.push_back(d.reason);
    }});
    play();
    return those;
  }
};

TEST(link, terminates_the_other_actor_when_one_fails) {
  theatre t;
  fail(t.a);
  EXPECT_THAT(t.ends(), ElementsAre(exit_reason::failed, exit_reason::link_broken));
  EXPECT_THAT(t.log.lines(), ElementsAre("on_stop")) << "it is whole, and may say goodbye";
  EXPECT_EQ(t.told.failures().size(), 1u) << "the cause is told once";
}

TEST(link, terminates_the_actor_that_made_the_link_as_well) {
  theatre t;
  fail(t.b);
  EXPECT_THAT(t.ends(), ElementsAre(exit_reason::failed, exit_reason::link_broken));
}

TEST(link, names_the_cause) {
  theatre t;
  fail(t.a);
  ASSERT_EQ(t.ends().size(), 2u);
  EXPECT_THAT(t.downs[1].what, HasSubstr("linked with"));
  EXPECT_THAT(t.downs[1].what, HasSubstr(to_string(t.a.address())));
  EXPECT_THAT(t.downs[1].what, HasSubstr("which failed: broken"));
}

TEST(link, to_an_actor_that_stop_now_terminates_terminates_the_other) {
  theatre t;
  t.a.stop_now();
  EXPECT_THAT(t.ends(), ElementsAre(exit_reason::stopped_now, exit_reason::link_broken));
  EXPECT_THAT(t.downs[1].what, HasSubstr("which stop_now() terminated"));
}

TEST(link, to_an_actor_that_stops_leaves_the_other_running) {
  theatre t;
  t.a.stop();
  EXPECT_THAT(t.ends(), ElementsAre(exit_reason::stopped));
}

TEST(link, to_an_unreachable_actor_leaves_the_other_running_and_keeps_none_alive) {
  theatre t;
  t.a = {};
  EXPECT_THAT(t.ends(), ElementsAre(exit_reason::unreachable));
  t.a = t.spawn<member>();
}

TEST(link, terminates_the_other_actor_before_its_waiting_messages) {
  theatre t;
  journal held;
  event in;
  event go_on;
  const auto b = t.system.spawn<member>(spawn_options{.where = own_thread}, &held);
  b.send(act{[&](member& m) {
    m.link(t.a);
    in.set();
    go_on.wait();
    held.write("handled");
  }});
  ASSERT_TRUE(in.wait());
  b.send(note{"never"});
  fail(t.a);
  t.play();
  go_on.set();
  EXPECT_EQ(b.join(), exit_reason::link_broken);
  EXPECT_THAT(held.lines(), ElementsAre("handled", "on_stop"));
}

TEST(link, notifies_an_actor_that_handles_link_down_instead_of_terminating_it) {
  journal log;
  stage s;
  const auto a = s.spawn<member>();
  const auto t = s.spawn<trapper>(log);
  t.send(trap_act{[&](trapper& me) { me.link(a); }});
  s.play();
  a.send(act{[&](member&) { t.send(note{"last words"}); }});
  fail(a);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("last words", "link_down: failedbroken"));
  t.send(trap_act{[&](trapper& me) { EXPECT_EQ(me.last.who, a.address()); }});
  t.stop();
  s.play();
  EXPECT_EQ(t.join(), exit_reason::stopped);
}

TEST(link, notifies_of_normal_terminations_as_well) {
  journal log;
  stage s;
  const auto t = s.spawn<trapper>(log);
  for (int i = 0; i < 2; ++i) {
    auto a = s.spawn<member>();
    t.send(trap_act{[a](trapper& me) { me.link(a); }});
    s.play();
    if (i == 0) a.stop();
    a = {};
    s.play();
  }
  EXPECT_THAT(log.lines(), ElementsAre("link_down: stopped", "link_down: unreachable"));
}

TEST(link, made_twice_from_either_side_notifies_once) {
  journal log;
  stage s;
  const auto a = s.spawn<trapper>(log);
  const auto b = s.spawn<trapper>(log);
  for (int i = 0; i < 2; ++i) {
    a.send(trap_act{[&](trapper& me) { me.link(b); }});
    b.send(trap_act{[&](trapper& me) { me.link(a.address()); }});
  }
  s.play();
  a.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("link_down: stopped"));
}

TEST(link, to_oneself_is_nothing) {
  theatre t;
  theatre::link(t.w, t.w);
  t.w.send(act{[&](member& m) { m.unlink(t.w); }});
  t.play();
  EXPECT_THAT(t.ends(), IsEmpty());
}

TEST(link, to_one_that_has_ended_is_as_if_it_ended_now) {
  theatre t;
  const auto failed = t.spawn<member>();
  const auto stopped = t.spawn<member>();
  fail(failed);
  stopped.stop();
  t.play();
  theatre::link(t.a, stopped);
  t.a.send(act{[&](member& m) { m.unlink(t.b); }});
  EXPECT_THAT(t.ends(), IsEmpty());
  theatre::link(t.a, failed);
  EXPECT_THAT(t.ends(), ElementsAre(exit_reason::link_broken));
  EXPECT_THAT(t.downs[0].what, HasSubstr("which failed: broken"));
}

TEST(link, to_one_of_which_nothing_is_known_any_more_is_abnormal) {
  theatre t;
  t.a.send(act{[](member& m) { m.link(address{}); }});
  EXPECT_THAT(t.ends(), ElementsAre(exit_reason::link_broken, exit_reason::link_broken));
  EXPECT_THAT(t.downs[0].what, HasSubstr("which had already terminated"));
}

TEST(link, to_a_terminated_actor_notifies_a_link_down_handler) {
  journal log;
  stage s;
  const auto a = s.spawn<member>();
  a.stop();
  s.play();
  const auto t = s.spawn<trapper>(log);
  t.send(trap_act{[&](trapper& me) { me.link(a), me.link(a); }});
  s.play();
  t.send(trap_act{[&](trapper& me) { me.link(a.address()); }});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("link_down: stopped", "link_down: unknown"));
}

TEST(unlink, leaves_both_alone) {
  theatre t;
  t.b.send(act{[&](member& m) { m.unlink(t.a); }});
  t.play();
  fail(t.a);
  EXPECT_THAT(t.ends(), ElementsAre(exit_reason::failed));
}

TEST(unlink, removes_a_link_down_that_is_in_the_mailbox) {
  journal log;
  stage s;
  const auto a = s.spawn<member>();
  const auto t = s.spawn<trapper>(log);
  t.send(trap_act{[&](trapper& me) { me.link(a); }});
  s.play();
  a.stop();
  t.send(trap_act{[&](trapper& me) { me.unlink(a); }});
  s.pump.drain();
  s.play();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(unlink, takes_effect_within_the_handler_in_which_the_link_breaks) {
  stage s;
  journal log;
  const auto healthy = s.system.spawn<member>();
  const auto other = s.system.spawn<member>();
  const auto a = s.system.spawn<member>(spawn_options{.where = own_thread}, &log);
  a.send(act{[&](member& m) {
    m.link(healthy);
    m.link(other);
    fail(other);
    other.join();
    m.unlink(other);
  }});
  a.send(note{"lives"});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped) << "nothing of it is left";
  EXPECT_THAT(log.lines(), ElementsAre("lives", "on_stop"));
}

TEST(link, in_a_chain_carries_the_first_cause_to_its_end) {
  constexpr std::size_t length = sanitized ? 2'000 : 100'000;
  stage s;
  std::vector<ref<member>> chain;
  for (std::size_t i = 0; i < length; ++i) {
    chain.push_back(s.spawn<member>());
    if (i > 0) theatre::link(chain[i], chain[i - 1]);
  }
  const auto w = s.spawn<member>();
  w.send(act{[&](member& m) { m.watch(chain.back()); }});
  s.play();
  fail(chain.front());
  s.play();
  for (const auto& each : chain) {
    ASSERT_EQ(each.join(),
              &each == &chain.front() ? exit_reason::failed : exit_reason::link_broken);
  }
  w.send(act{[&](member& m) {
    ASSERT_EQ(m.downs.size(), 1u);
    EXPECT_THAT(m.downs[0].what, HasSubstr(to_string(chain.front().address())));
    EXPECT_THAT(m.downs[0].what, HasSubstr("broken"));
  }});
  s.play();
  EXPECT_EQ(s.told.failures().size(), 1u);
}

TEST(link, in_a_ring_ends_all) {
  constexpr std::size_t length = sanitized ? 2'000 : 100'000;
  recorder told;
  troupe::system all(told.options(2));
  std::vector<ref<member>> ring;
  for (std::size_t i = 0; i < length; ++i) ring.push_back(all.spawn<member>());
  for (std::size_t i = 0; i < length; ++i) theatre::link(ring[i], ring[(i + 1) % length]);
  fail(ring[length / 2]);
  for (const auto& each : ring) EXPECT_TRUE(is_abnormal(each.join()));
}

TEST(link, of_very_many_with_one_ends_all) {
  constexpr std::size_t many = sanitized ? 2'000 : 100'000;
  recorder told;
  troupe::system all(told.options(2));
  const auto hub = all.spawn<member>();
  std::vector<ref<member>> those;
  for (std::size_t i = 0; i < many; ++i) {
    those.push_back(all.spawn<member>());
    theatre::link(those.back(), hub);
  }
  fail(those.front());
  EXPECT_EQ(hub.join(), exit_reason::link_broken);
  for (const auto& each : those) EXPECT_TRUE(is_abnormal(each.join()));
}

TEST(link, again_and_again_leaves_nothing) {
  constexpr int times = sanitized ? 10'000 : 200'000;
  journal log;
  stage s;
  const auto a = s.spawn<trapper>(log);
  const auto t = s.spawn<trapper>(log);
  const auto round = trap_act{[&](trapper& me) {
    for (int i = 0; i < times; ++i) me.link(a), me.unlink(a);
  }};
  t.send(trap_act{round});
  s.play();
  const std::size_t before = pool_used().resident;
  t.send(trap_act{round});
  s.play();
  EXPECT_LE(pool_used().resident, before + 100'000);
  a.stop();
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(link, against_the_end_ends_both_and_against_unlink_hangs_nothing) {
  for (int round = 0; round < (sanitized ? 100 : 300); ++round) {
    journal log;
    recorder told;
    troupe::system all(told.options(2));
    const auto a = all.spawn<member>();
    const auto b = all.spawn<member>();
    const auto c = all.spawn<member>();
    const auto t = all.spawn<trapper>(log);
    theatre::link(a, b);
    theatre::link(b, a);
    theatre::link(c, b);
    t.send(trap_act{[b](trapper& me) { me.link(b), me.unlink(b), me.link(b); }});
    c.send(act{[b](member& m) { m.unlink(b); }});
    fail(a);
    EXPECT_EQ(a.join(), exit_reason::failed);
    EXPECT_EQ(b.join(), exit_reason::link_broken);
    ASSERT_TRUE(log.wait_for(1)) << "round " << round;
    // c may have been linked as b ended.
    c.stop();
    t.stop();
    EXPECT_EQ(t.join(), exit_reason::stopped);
    EXPECT_EQ(log.lines().size(), 1u);
  }
}

// The link breaks while a handler of the other one runs, which takes the link back: what it is told
// after that counts.
TEST(link, that_was_removed_as_it_broke_does_not_hide_a_later_failure) {
  journal log;
  recorder told;
  troupe::system s(told.options(1));
  event linked;
  event broken;
  const auto other = s.spawn<member>();
  const auto one = s.spawn<member>(
      spawn_options{.where = own_thread, .max_messages = 2, .on_full = overflow::fail_receiver},
      &log);
  one.send(act{[&](member& me) {
    me.link(other);
    linked.set();
    broken.wait();
    me.unlink(other);
    for (int i = 0; i < 5; ++i) (void)one.send(note{"one too many"});
  }});
  ASSERT_TRUE(linked.wait());
  fail(other);
  EXPECT_EQ(other.join(), exit_reason::failed);
  broken.set();
  one.stop();
  EXPECT_EQ(one.join(), exit_reason::failed) << "its mailbox was full";
}

}  // namespace
}  // namespace troupe::test
