// SPDX-License-Identifier: Apache-2.0
// Handlers that are coroutines: when they run, what lives as long as they do, and how they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <troupe/troupe.hpp>
#include <type_traits>
#include <utility>

#include "overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

static_assert(!std::is_copy_constructible_v<task<>>);
static_assert(!std::is_copy_constructible_v<sending> && !std::is_move_constructible_v<sending>);

/// A crowd with a mailbox that is full until the test pumps: something that a handler can wait for.
struct waiting_room : pumped_crowd {
  waiting_room() { send_items(full, 2, -2); }

  [[nodiscard]] bool wait_for_waiting(std::uint64_t handlers) {
    return eventually([&] { return system.statistics().handlers_waiting == handlers; });
  }

  std::vector<int> got;
  ref<sink> full = system.spawn<sink>(here(2), got);
};

struct begin {
  std::string text;
};
struct fail_later {};
struct asked_by {};

/// Records when it is destroyed.
class mark : counted<mark> {
 public:
  mark(journal& log, std::string text) : log_(log), text_(std::move(text)) {}
  mark(const mark&) = delete;
  mark& operator=(const mark&) = delete;
  ~mark() { log_.write(text_ + " is destroyed"); }

 private:
  journal& log_;
  const std::string text_;
};

/// Has handlers of both kinds.
class mixed : public actor {
 public:
  mixed(journal& log, ref<sink> full) : log_(log), full_(std::move(full)) {}
  ~mixed() { log_.write("~mixed"); }
  void on_stop() { log_.write("on_stop"); }

  task<> on(begin m) {
    const mark local(log_, "local of " + m.text);
    log_.write(m.text + " begins");
    const delivery became = co_await full_.async_send(item{1});
    log_.write(m.text + " goes on: " + std::string(to_string(became)));
  }
  void on(const note& n) { log_.write(n.text); }
  task<> on(fail_later) {
    const mark local(log_, "local of the failing one");
    (void)co_await full_.async_send(item{2});
    throw std::runtime_error("later");
  }
  task<> on(explode) {
    const mark local(log_, "local of the exploding one");
    throw std::runtime_error("at once");
    co_return;
  }
  task<> on(asked_by, address sender) {
    (void)co_await full_.async_send(item{3});
    log_.write(sender ? "by " + to_string(sender) : "by a thread");
  }

 private:
  journal& log_;
  const ref<sink> full_;
};

TEST(task, that_does_not_wait_finishes_in_the_turn_in_which_it_started) {
  class direct : public actor {
   public:
    explicit direct(journal& log) : log_(log) {}
    task<> on(begin m) {
      const mark local(log_, "local");
      log_.write(m.text);
      co_return;
    }
    void on(const note& n) { log_.write(n.text); }

   private:
    journal& log_;
  };
  journal log;
  stage s;
  const auto a = s.spawn<direct>(log);
  a.send(begin{"one"});
  a.send(note{"two"});
  a.send(begin{"three"});
  s.play();
  EXPECT_THAT(log.lines(),
              ElementsAre("one", "local is destroyed", "two", "three", "local is destroyed"));
}

TEST(task, handles_other_messages_while_it_waits) {
  journal log;
  waiting_room s;
  const auto a = s.system.spawn<mixed>(log, s.full);
  a.send(begin{"one"});
  a.send(note{"a note"});
  a.send(begin{"two"});
  a.send(note{"another"});
  ASSERT_TRUE(log.wait_for(4));
  EXPECT_THAT(log.lines(), ElementsAre("one begins", "a note", "two begins", "another"));
  ASSERT_TRUE(s.wait_for_waiting(2));
  s.play();
  ASSERT_TRUE(log.wait_for(8));
  EXPECT_THAT(log.lines(), ElementsAre("one begins", "a note", "two begins", "another",
                                       "one goes on: accepted", "local of one is destroyed",
                                       "two goes on: accepted", "local of two is destroyed"));
  EXPECT_THAT(s.got, ElementsAre(-2, -1, 1, 1));
}

TEST(task, receives_the_sender_of_the_message) {
  journal log;
  waiting_room s;
  const auto a = s.system.spawn<mixed>(log, s.full);
  const auto asks = s.system.spawn<probe>(log);
  asks.send(call{[&](probe&) { a.send(asked_by{}); }});
  ASSERT_TRUE(s.wait_for_waiting(1));
  s.play();
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre("by " + to_string(asks.address())));
}

TEST(task, keeps_its_message_for_as_long_as_it_runs) {
  struct parcel {
    std::string text;
    std::unique_ptr<int> number;
    std::vector<std::string> list;
    counted<parcel> here = {};
  };
  class reader : public actor {
   public:
    reader(journal& log, ref<sink> full) : log_(log), full_(std::move(full)) {}
    task<> on(parcel p) {
      (void)co_await full_.async_send(item{1});
      log_.write(p.text + std::to_string(*p.number) + p.list.at(1));
    }

   private:
    journal& log_;
    const ref<sink> full_;
  };
  journal log;
  waiting_room s;
  const auto a = s.system.spawn<reader>(log, s.full);
  a.send(parcel{std::string(100, 'x'), std::make_unique<int>(7), {"a", std::string(50, 'b')}});
  ASSERT_TRUE(s.wait_for_waiting(1));
  EXPECT_TRUE(eventually([] { return counted<parcel>::alive() == 1; })) << "the frame has it";
  s.play();
  ASSERT_TRUE(log.wait_for(1));
  EXPECT_THAT(log.lines(), ElementsAre(std::string(100, 'x') + "7" + std::string(50, 'b')));
  EXPECT_TRUE(eventually([] { return counted<parcel>::alive() == 0; }));
}

TEST(task, that_waits_keeps_its_actor_alive_and_then_does_not) {
  journal log;
  waiting_room s;
  s.system.spawn<mixed>(log, s.full).send(begin{"it"});
  ASSERT_TRUE(s.wait_for_waiting(1));
  EXPECT_EQ(s.system.statistics().actors_alive, 2u);
  s.play();
  ASSERT_TRUE(log.wait_for(5));
  EXPECT_THAT(log.lines(), ElementsAre("it begins", "it goes on: accepted",
                                       "local of it is destroyed", "on_stop", "~mixed"));
}

// ── Failing ───────────────────────────────────────────────────────────────────────────────────

TEST(task, that_throws_before_it_waits_ends_its_actor) {
  journal log;
  waiting_room s;
  const auto a = s.system.spawn<mixed>(log, s.full);
  a.send(explode{});
  EXPECT_EQ(a.join(), exit_reason::failed);
  EXPECT_THAT(log.lines(), ElementsAre("local of the exploding one is destroyed", "~mixed"));
  ASSERT_THAT(s.told.failures(), SizeIs(1));
  EXPECT_EQ(s.told.failures()[0].message, type_name<explode>());
  EXPECT_EQ(s.told.failures()[0].what, "at once");
}

TEST(task, that_throws_after_a_wait_fails_its_actor_and_destroys_other_tasks) {
  journal log;
  waiting_room s;
  const auto a = s.system.spawn<mixed>(log, s.full);
  const auto watcher = s.system.spawn<probe>(log);
  event watches;
  watcher.send(call{[&](probe& p) {
    p.watch(a);
    watches.set();
  }});
  ASSERT_TRUE(watches.wait());
  a.send(fail_later{});
  a.send(begin{"the other"});
  a.send(note{"both wait"});
  ASSERT_TRUE(log.wait_for(2));
  // A third of the same actor still waits when the first one throws.
  a.send(begin{"the third"});
  ASSERT_TRUE(s.wait_for_waiting(3));
  s.pump.drain();
  EXPECT_EQ(a.join(), exit_reason::failed);
  ASSERT_TRUE(log.wait_for(8));
  const auto lines = log.lines();
  EXPECT_EQ(lines[3], "local of the failing one is destroyed");
  EXPECT_EQ(lines[6], "~mixed") << "what waited was destroyed before, without on_stop()";
  EXPECT_EQ(lines[7], "down: failed");
  ASSERT_THAT(s.told.failures(), SizeIs(1));
  EXPECT_EQ(s.told.failures()[0].message, type_name<fail_later>());
  EXPECT_EQ(s.told.failures()[0].what, "later");
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
}

// ── Ending ────────────────────────────────────────────────────────────────────────────────────

TEST(task, that_waits_is_destroyed_at_stop_before_on_stop_runs) {
  journal log;
  waiting_room s;
  const auto a = s.system.spawn<mixed>(log, s.full);
  a.send(begin{"it"});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(),
              ElementsAre("it begins", "local of it is destroyed", "on_stop", "~mixed"));
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
  s.play();
  EXPECT_THAT(s.got, ElementsAre(-2, -1)) << "what it would have sent is gone with it";
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

TEST(task, all_that_wait_are_destroyed_at_stop_now) {
  journal log;
  waiting_room s;
  const auto a = s.system.spawn<mixed>(log, s.full);
  for (int i = 0; i < 50; ++i) a.send(begin{"it"});
  ASSERT_TRUE(s.wait_for_waiting(50));
  a.stop_now();
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  EXPECT_THAT(log.lines(), SizeIs(50 + 50 + 2));
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
}

// The reply is in the mailbox, after the message that terminates the actor.
TEST(task, whose_result_is_already_in_the_mailbox_is_destroyed_at_stop) {
  journal log;
  waiting_room s;
  class blocking : public actor {
   public:
    blocking(journal& log, ref<sink> full) : log_(log), full_(std::move(full)) {}
    task<> on(begin m) {
      const mark local(log_, m.text);
      (void)co_await full_.async_send(item{1});
      log_.write("goes on");
    }
    void on(const std::function<void()>& f) { f(); }

   private:
    journal& log_;
    const ref<sink> full_;
  };
  const auto a = s.system.spawn<blocking>(log, s.full);
  a.send(begin{"it"});
  ASSERT_TRUE(s.wait_for_waiting(1));
  event inside;
  event leave;
  a.send(std::function<void()>([&] {
    inside.set();
    leave.wait();
  }));
  ASSERT_TRUE(inside.wait());
  s.play();
  EXPECT_EQ(s.system.statistics().handlers_waiting, 0u);
  a.stop_now();
  leave.set();
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  EXPECT_THAT(log.lines(), ElementsAre("it is destroyed"));
  EXPECT_THAT(s.got, ElementsAre(-2, -1, 1)) << "it had been sent";
}

TEST(task, may_use_its_actor_in_destructors_of_its_local_objects) {
  class careful : public actor {
   public:
    careful(journal& log, ref<sink> full) : log_(log), full_(std::move(full)) {}
    task<> on(begin m) {
      struct at_end {
        careful& of;
        ~at_end() {
          of.log_.write("sends to " + of.name_);
          self(&of).send(note{"never handled"});
        }
      } const local{*this};
      (void)co_await full_.async_send(item{1});
      log_.write(m.text);
    }
    void on(const note& n) { log_.write(n.text); }

   private:
    journal& log_;
    const ref<sink> full_;
    const std::string name_ = std::string(50, 'n');
  };
  journal log;
  waiting_room s;
  const auto a = s.system.spawn<careful>(log, s.full);
  a.send(begin{"not reached"});
  a.stop();
  a.join();
  EXPECT_THAT(log.lines(), ElementsAre("sends to " + std::string(50, 'n')));
  EXPECT_THAT(s.told.dead_letters(), SizeIs(1));
}

TEST(task, that_is_never_started_is_destroyed_without_running) {
  class careless : public actor {
   public:
    explicit careless(journal& log) : log_(log) {}
    void on(begin m) {
      task<> one = other(std::move(m));
      one = other(begin{"another"});
    }

   private:
    task<> other(begin m) {
      log_.write(m.text);
      co_return;
    }
    journal& log_;
  };
  journal log;
  stage s;
  const auto a = s.spawn<careless>(log);
  a.send(begin{std::string(100, 'x')});
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty());
}

// A handler may return the task of another function.
TEST(task, may_be_returned_from_another_function) {
  class forwarding : public actor {
   public:
    explicit forwarding(journal& log) : log_(log) {}
    task<> on(begin m) { return other(std::move(m)); }

   private:
    task<> other(begin m) {
      log_.write(m.text);
      co_return;
    }
    journal& log_;
  };
  journal log;
  stage s;
  const auto a = s.spawn<forwarding>(log);
  a.send(begin{"it"});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("it"));
}

TEST(task, that_hangs_after_it_has_waited_is_named_by_shutdown) {
  journal log;
  turnstile gate;
  waiting_room s;
  class hanging : public actor {
   public:
    hanging(turnstile& gate, ref<sink> full) : gate_(gate), full_(std::move(full)) {}
    task<> on(begin) {
      (void)co_await full_.async_send(item{1});
      gate_.pass();
    }

   private:
    turnstile& gate_;
    const ref<sink> full_;
  };
  const auto a = s.system.spawn<hanging>(gate, s.full);
  a.send(begin{"it"});
  ASSERT_TRUE(s.wait_for_waiting(1));
  s.play();
  ASSERT_TRUE(gate.wait_for_one_after(0));
  const shutdown_report report = s.system.shutdown(1ms);
  ASSERT_THAT(report.stragglers, SizeIs(1));
  EXPECT_EQ(report.stragglers[0].doing, "in on(" + std::string(type_name<begin>()) + ")");
  gate.let(1);
}

// A timer's message, and one that replaces an older one, reach the handler in other ways.
TEST(task, handles_messages_of_timers_monitors_and_drop_oldest_mailboxes) {
  class any : public actor {
   public:
    explicit any(std::vector<int>& got) : got_(got) {}
    task<> on(item i) {
      got_.push_back(i.number);
      co_return;
    }
    task<> on(down) {
      got_.push_back(-1);
      co_return;
    }
    void on(const address& other) { watch(other); }

   private:
    std::vector<int>& got_;
  };
  journal log;
  std::vector<int> got;
  pumped_crowd s;
  const auto a = s.system.spawn<any>(s.here(3, overflow::drop_oldest), got);
  const auto other = s.system.spawn<probe>(log);
  a.send(other.address());
  s.play();
  send_items(a, 5);
  s.play();
  other.stop();
  other.join();
  EXPECT_TRUE(eventually([&] {
    s.play();
    return got.size() == 4;
  }));
  a.send_after(duration::zero(), item{9});
  EXPECT_TRUE(eventually([&] {
    s.play();
    return got.size() == 5;
  }));
  EXPECT_THAT(got, ElementsAre(2, 3, 4, -1, 9));
}

}  // namespace
}  // namespace troupe::test
