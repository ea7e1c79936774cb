// SPDX-License-Identifier: Apache-2.0
// Notifications of observers, and propagation of traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {

struct hop {
  int left;
};
struct hop_later {};
struct question {};
struct owning {
  std::string text;
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return text.capacity(); }
};
struct stumble {};

// Records the trace of every message that it handles.
class hopper : public actor {
 public:
  explicit hopper(journal& log) : log_(log) {}

  ref<hopper> next;

  void on(const hop& m) {
    note_it("hop");
    if (next && m.left > 0) next.send(hop{m.left - 1});
  }
  task<> on(hop_later) {
    note_it("before");
    (void)co_await next.ask<question>(patience);
    note_it("after");
    next.send(hop{0});
  }
  int on(question) {
    note_it("question");
    return 1;
  }
  void on(const owning&) { note_it("owning"); }
  void on(stumble) { throw std::runtime_error("why not"); }
  void on(const std::function<void(hopper&)>& what) { what(*this); }
  void on(const down&) { note_it("down"); }

  using actor::watch;
  [[nodiscard]] self_ref<hopper> me() { return self(this); }

 private:
  void note_it(std::string_view what) {
    log_.write(std::string(what) + " " + std::to_string(current_trace()));
  }
  journal& log_;
};

namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class writing_observer : public observer {
 public:
  journal log;

  void started(const actor_event& e) override { write("started", e); }
  void restarted(const actor_event& e) override { write("restarted", e); }
  void ended(const actor_event& e, exit_reason why) override {
    log.write("ended " + std::string(e.actor) + " " + std::string(to_string(why)));
  }
  void sent(const message_event& e) override { write("sent", e); }
  void begun(const message_event& e) override { write("begun", e); }
  void done(const message_event& e) override { write("done", e); }
  void failed(const failure& f) override { log.write("failed " + std::string(f.actor)); }
  void dead(const dead_letter& d) override { log.write("dead " + short_name(d.message)); }
  void overloaded(const overload_event& e) override {
    log.write((e.what == overload_event::kind::paused ? "paused " : "refused ") +
              short_name(e.message));
  }

 private:
  static std::string short_name(std::string_view type) {
    return std::string(type.substr(type.rfind(':') + 1));
  }
  void write(std::string_view what, const actor_event& e) {
    log.write(std::string(what) + " " + std::string(e.actor));
  }
  void write(std::string_view what, const message_event& e) {
    log.write(std::string(what) + " " + short_name(e.message));
  }
};

struct seen_scripts {
  std::shared_ptr<writing_observer> seen = std::make_shared<writing_observer>();
  journal log;
  recorder told;
};

// Actors on the test's thread, in a system that is observed.
struct watched_stage : seen_scripts {
  explicit watched_stage(bool observes, bool traces) : system(options(observes, traces)) {}
  system_options options(bool observes, bool traces) {
    system_options all = told.options(1);
    if (observes) all.observer = seen;
    all.traces = traces;
    return all;
  }
  ref<hopper> hopping(spawn_options how = {}) {
    if (how.name.empty()) how.name = "a";
    how.where = bound_to(pump);
    return system.spawn<hopper>(how, log);
  }
  void play() { pump.run_until_idle(); }

  troupe::system system;
  troupe::pump pump{system};
};

// ── Being observed ────────────────────────────────────────────────────────────────────────────

TEST(observer, is_notified_of_each_step_in_the_life_of_an_actor) {
  watched_stage on(true, false);
  auto a = on.hopping();
  a.send(hop{0});
  a.stop();
  on.play();
  a.join();
  EXPECT_THAT(on.seen->log.lines(),
              ElementsAre("started a", "sent hop", "begun hop", "done hop", "ended a stopped"));
}

TEST(observer, is_notified_of_a_failure_instead_of_done) {
  watched_stage on(true, false);
  auto a = on.hopping();
  a.send(stumble{});
  on.play();
  EXPECT_THAT(on.seen->log.lines(), ElementsAre("started a", "sent stumble", "begun stumble",
                                                "failed a", "ended a failed"));
}

TEST(observer, is_notified_of_dead_letters) {
  watched_stage on(true, false);
  auto a = on.hopping();
  a.stop();
  on.play();
  a.send(hop{0});
  EXPECT_EQ(on.seen->log.lines().back(), "dead hop");
}

TEST(observer, is_notified_of_messages_that_limits_refuse) {
  watched_stage on(true, false);
  auto a = on.hopping({.max_messages = 1, .on_full = overflow::refuse});
  a.send(hop{0});
  a.send(hop{0});
  EXPECT_EQ(on.seen->log.lines().back(), "refused hop");
}

TEST(observer, is_notified_of_suspended_senders) {
  watched_stage on(true, false);
  auto full = on.hopping({.max_messages = 1});
  auto a = on.hopping({.name = "b"});
  a.send(std::function<void(hopper&)>([full](hopper&) {
    full.send(hop{0});
    full.send(hop{0});
  }));
  on.play();
  EXPECT_THAT(on.seen->log.lines(), Contains("paused hop"));
}

TEST(observer, is_notified_of_requests_and_timers) {
  watched_stage on(true, false);
  auto a = on.hopping();
  (void)a.ask<question>(patience);
  (void)a.send_after(0ms, owning{"text"});
  ASSERT_TRUE(eventually([&] { return on.play(), on.log.lines().size() == 2; }));
  EXPECT_THAT(on.seen->log.lines(), IsSupersetOf({"sent question", "begun question",
                                                  "done question", "begun owning", "done owning"}));
}

TEST(observer, is_not_notified_of_messages_that_it_sends_itself) {
  class sending : public observer {
   public:
    ref<hopper> to;
    ref<hopper> gone;
    int told_of_sending = 0;
    int told_of_handling = 0;
    int told_of_dead_letters = 0;
    void sent(const message_event&) override { ++told_of_sending; }
    void begun(const message_event&) override {
      if (++told_of_handling == 10) return;
      to.send(hop{0});
      gone.send(hop{0});
    }
    void dead(const dead_letter&) override { ++told_of_dead_letters; }
  };
  const auto seen = std::make_shared<sending>();
  journal log;
  troupe::system system({.workers = 1, .observer = seen});
  troupe::pump pump(system);
  seen->to = system.spawn<hopper>({.where = bound_to(pump)}, log);
  seen->gone = system.spawn<hopper>({.where = bound_to(pump)}, log);
  seen->gone.stop();
  pump.run_until_idle();
  seen->gone.send(hop{0});
  EXPECT_EQ(seen->told_of_dead_letters, 1) << "the test sent this one";
  seen->to.send(hop{0});
  EXPECT_EQ(seen->told_of_sending, 1) << "the test sent this one";
  pump.run_until_idle();
  EXPECT_EQ(log.lines().size(), 10u) << "the observer sent all but the first";
  EXPECT_EQ(seen->told_of_handling, 10) << "the actor handled them, not the observer";
  EXPECT_EQ(seen->told_of_sending, 1);
  EXPECT_EQ(seen->told_of_dead_letters, 1);
  seen->to = {};
  seen->gone = {};
}

TEST(observer, may_throw_without_effect) {
  class throwing : public observer {
    void begun(const message_event&) override { throw std::runtime_error("why not"); }
  };
  journal log;
  troupe::system system({.workers = 1, .observer = std::make_shared<throwing>()});
  auto a = system.spawn<hopper>(log);
  a.send(hop{0});
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("hop 0"));
}

TEST(observer, limits_count_a_message_as_they_do_without_one) {
  int expected = 0;
  for (const auto& [observes, traces] :
       {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
    watched_stage on(observes, traces);
    const trace_scope scope(7);
    auto a = on.hopping({.max_bytes = 4'096, .on_full = overflow::refuse});
    int taken = 0;
    while (a.send(owning{std::string(200, 'x')}) == delivery::accepted) ++taken;
    if (expected == 0) expected = taken;
    EXPECT_EQ(taken, expected) << "observes: " << observes << ", traces: " << traces;
    on.play();
    EXPECT_EQ(on.system.statistics().message_bytes_waiting, 0u);
    EXPECT_EQ(a.send(owning{std::string(200, 'x')}), delivery::accepted);
  }
  EXPECT_GT(expected, 10);
}

// ── Traces ────────────────────────────────────────────────────────────────────────────────────

TEST(trace, is_passed_on_with_sent_messages) {
  watched_stage on(false, true);
  auto a = on.hopping();
  auto b = on.hopping();
  a.send(std::function<void(hopper&)>([b](hopper& h) { h.next = b; }));
  {
    const trace_scope scope(42);
    a.send(hop{1});
  }
  a.send(hop{1});
  on.play();
  EXPECT_THAT(on.log.lines(), ElementsAre("hop 42", "hop 0", "hop 42", "hop 0"));
}

TEST(trace, is_restored_when_a_handler_resumes) {
  watched_stage on(false, true);
  auto a = on.hopping();
  auto b = on.hopping();
  a.send(std::function<void(hopper&)>([b](hopper& h) { h.next = b; }));
  {
    const trace_scope scope(42);
    a.send(hop_later{});
  }
  on.play();
  EXPECT_THAT(on.log.lines(), ElementsAre("before 42", "question 42", "after 42", "hop 42"));
}

TEST(trace, is_passed_on_with_timer_messages) {
  watched_stage on(false, true);
  auto a = on.hopping();
  {
    const trace_scope scope(42);
    (void)a.send_after(0ms, hop{0});
  }
  timer every = [&] {
    const trace_scope scope(43);
    return a.send_every(1ms, question{});
  }();
  ASSERT_TRUE(eventually([&] { return on.play(), on.log.lines().size() >= 3; }));
  every.cancel();
  EXPECT_THAT(on.log.lines(), IsSupersetOf({"hop 42", "question 43"}));
}

TEST(trace, does_not_apply_to_the_next_message) {
  watched_stage on(false, true);
  auto a = on.hopping();
  auto b = on.hopping();
  a.send(std::function<void(hopper&)>([b](hopper& h) { h.watch(b); }));
  on.play();
  {
    const trace_scope scope(42);
    a.send(hop{0});
  }
  b.stop();
  b = {};
  on.play();
  on.play();
  EXPECT_THAT(on.log.lines(), ElementsAre("hop 42", "down 0"));
}

TEST(trace, is_reported_with_failures_and_dead_letters) {
  watched_stage on(false, true);
  std::uint64_t of_failure = 0;
  std::uint64_t of_letter = 0;
  troupe::system system({.workers = 1,
                         .on_failure = [&](const failure& f) { of_failure = f.trace; },
                         .on_dead_letter = [&](const dead_letter& d) { of_letter = d.trace; },
                         .traces = true});
  auto a = system.spawn<hopper>(on.log);
  const trace_scope scope(42);
  a.send(stumble{});
  a.join();
  a.send(hop{0});
  EXPECT_EQ(of_failure, 42u);
  EXPECT_EQ(of_letter, 42u);
}

TEST(trace, is_in_the_line_of_a_failure_on_stderr) {
  journal log;
  ::testing::internal::CaptureStderr();
  {
    troupe::system system({.workers = 1, .traces = true});
    auto a = system.spawn<hopper>({.name = "alice"}, log);
    auto b = system.spawn<hopper>({.name = "bob"}, log);
    b.send(stumble{});
    b.join();
    const trace_scope scope(42);
    a.send(stumble{});
    a.join();
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, ContainsRegex("alice \\(.*, trace 42\\) failed in"));
  EXPECT_THAT(text, ContainsRegex("bob \\([^,]*\\) failed in")) << "it has none";
}

TEST(trace, is_reported_with_a_failure_in_a_handler_that_has_waited) {
  watched_stage on(false, true);
  std::uint64_t of_failure = 0;
  class waiting : public actor {
   public:
    task<> on(hop_later) {
      co_await sleep_for(0ms);
      co_await sleep_for(1ms);
      throw std::runtime_error("why not");
    }
  };
  troupe::system system({.workers = 1,
                         .on_failure = [&](const failure& f) { of_failure = f.trace; },
                         .traces = true});
  auto a = system.spawn<waiting>();
  const trace_scope scope(42);
  a.send(hop_later{});
  a.join();
  EXPECT_EQ(of_failure, 42u);
}

TEST(trace, is_not_passed_on_in_a_system_without_traces) {
  journal log;
  stage on;
  auto a = on.spawn<hopper>(log);
  const trace_scope scope(42);
  a.send(hop{0});
  on.play();
  EXPECT_EQ(current_trace(), 42u);
  EXPECT_THAT(log.lines(), ElementsAre("hop 0"));
  a.stop();
  on.play();
}

TEST(trace, is_kept_when_a_message_is_redirected) {
  watched_stage on(false, true);
  auto other = on.hopping();
  auto full = on.hopping({.max_messages = 1, .on_full = overflow::redirect_to(other)});
  const trace_scope scope(42);
  full.send(hop{0});
  full.send(hop{1});
  on.play();
  EXPECT_THAT(on.log.lines(), ElementsAre("hop 42", "hop 42"));
}

TEST(trace, is_kept_in_a_drop_oldest_mailbox) {
  watched_stage on(false, true);
  auto a = on.hopping({.max_messages = 2, .on_full = overflow::drop_oldest});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const trace_scope scope(i);
    a.send(hop{0});
  }
  on.play();
  EXPECT_THAT(on.log.lines(), ElementsAre("hop 2", "hop 3"));
}

TEST(trace, numbers_are_not_used_twice) {
  std::vector<trace_id> all;
  for (int i = 0; i < 1'000; ++i) all.push_back(new_trace());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_NE(all.front(), 0u);
}

TEST(trace, many_threads_send_at_once) {
  const auto seen = std::make_shared<writing_observer>();
  journal log;
  troupe::system system({.workers = 2, .observer = seen, .traces = true});
  auto a = system.spawn<hopper>(log);
  std::vector<std::thread> threads;
  constexpr int each = sanitized ? 200 : 1'000;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    threads.emplace_back([a, t] {
      const trace_scope scope(t);
      for (int i = 0; i < each; ++i) {
        i % 2 == 0 ? (void)a.send(hop{0}) : (void)a.ask<question>(patience).get();
      }
    });
  }
  for (std::thread& one : threads) one.join();
  a.stop();
  a.join();
  const auto lines = log.lines();
  EXPECT_EQ(lines.size(), 3u * each);
  for (std::uint64_t t = 1; t <= 3; ++t) {
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "hop " + std::to_string(t)), each / 2);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "question " + std::to_string(t)), each / 2);
  }
  const auto events = seen->log.lines();
  for (const char* what : {"sent", "begun", "done"}) {
    for (const char* message : {"hop", "question"}) {
      const std::string line = std::string(what) + ' ' + message;
      EXPECT_EQ(std::count(events.begin(), events.end(), line), 3 * each / 2) << line;
    }
  }
}

}  // namespace
}  // namespace troupe::test
