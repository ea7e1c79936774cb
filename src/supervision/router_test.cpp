// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/actor/trace.hpp>
#include <troupe/supervision/router.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/overload_test_support.hpp"
#include "actor/test_support.hpp"
#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

struct job {
  int key;
};
struct cancel {
  static constexpr auto priority = troupe::priority::high;
  int key;
};

/// Records its number and its messages.
class worker : public actor {
 public:
  worker(int number, journal& log) : number_(number), log_(log) {}
  void on(job j, address sender) {
    log_.write(std::to_string(number_) + ":" + std::to_string(j.key));
    if (j.key == tell_sender) log_.write(to_string(sender));
  }
  void on(cancel c) { log_.write(std::to_string(number_) + ":!" + std::to_string(c.key)); }

  static constexpr int tell_sender = 1'000;

 private:
  const int number_;
  journal& log_;
};

std::vector<ref<worker>> make_workers(stage& s, int count, journal& log,
                                      const spawn_options& options = {}) {
  std::vector<ref<worker>> workers;
  for (int i = 0; i < count; ++i) workers.push_back(s.spawn<worker>(options, i, log));
  s.play();
  return workers;
}

TEST(router, round_robin_sends_to_each_worker_in_turn) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 3, log);
  const router<job, cancel> all(s.system, workers, round_robin{});
  const recipient<job> to = all.handle();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(to.send(job{i}), delivery::accepted);
    s.play();
  }
  EXPECT_THAT(log.lines(), ElementsAre("0:0", "1:1", "2:2", "0:3", "1:4", "2:5"));
}

TEST(router, equal_keys_go_to_the_same_worker_in_order) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 4, log);
  const router<job, cancel> all(s.system, workers, by_hash{[](const auto& m) { return m.key; }});
  for (int round = 0; round < 3; ++round) {
    for (int key = 0; key < 20; ++key) {
      all.send(job{key});
      all.send(cancel{key});
    }
  }
  s.play();
  std::map<std::string, std::set<char>> workers_of;
  std::set<char> used;
  for (const std::string& line : log.lines()) {
    const std::string key = line.substr(line.find_first_of("!:") + 1);
    workers_of[key.starts_with('!') ? key.substr(1) : key].insert(line[0]);
    used.insert(line[0]);
  }
  EXPECT_EQ(workers_of.size(), 20u);
  for (const auto& [key, of] : workers_of) EXPECT_EQ(of.size(), 1u) << key;
  EXPECT_EQ(used.size(), 4u);
}

TEST(router, by_hash_keeps_the_keys_of_live_workers_when_another_terminates) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 4, log);
  const router<job> all(s.system, workers, by_hash{[](const job& m) { return m.key; }});
  const auto where = [&] {
    const std::size_t before = log.lines().size();
    for (int key = 0; key < 40; ++key) {
      all.send(job{key});
      s.play();
    }
    const auto lines = log.lines();
    std::string result;
    for (std::size_t i = before; i < lines.size(); ++i) result += lines[i][0];
    return result;
  };
  const std::string before = where();
  workers[2].stop();
  s.play();
  log.write("ended");
  const std::string after = where();
  ASSERT_EQ(before.size(), after.size());
  std::set<char> heirs;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == '2') {
      heirs.insert(after[i]);
    } else {
      EXPECT_EQ(after[i], before[i]);
    }
  }
  EXPECT_FALSE(heirs.contains('2'));
  EXPECT_GT(heirs.size(), 1u) << "not all of them to one";
}

TEST(router, least_loaded_skips_a_busy_worker) {
  for (const int count : {3, 20}) {
    journal log;
    stage s;
    const auto workers = make_workers(s, count, log);
    const router<job> all(s.system, workers, least_loaded{});
    for (int i = 0; i < 100; ++i) workers[0].send(job{-1});
    for (int i = 0; i < 40; ++i) all.send(job{i});
    s.play();
    for (const std::string& line : log.lines()) {
      if (line.starts_with("0:")) {
        EXPECT_EQ(line, "0:-1");
      }
    }
    EXPECT_EQ(log.lines().size(), 140u);
  }
}

TEST(router, skips_terminated_workers_and_refuses_sends_when_none_is_left) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 3, log);
  const router<job> all(s.system, workers, round_robin{});
  EXPECT_EQ(all.living(), 3u);
  workers[1].stop();
  s.play();
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(all.living(), 2u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(all.send(job{i}), delivery::accepted);
  s.play();
  for (const std::string& line : log.lines()) EXPECT_FALSE(line.starts_with("1:"));
  workers[0].stop();
  workers[2].stop();
  s.play();
  EXPECT_EQ(all.send(job{7}), delivery::refused);
  (void)all.handle().send_after(1ms, job{8});
  ASSERT_EQ(s.told.dead_letters().size(), 2u);
  EXPECT_EQ(s.told.dead_letters()[0].to, all.handle().address());
}

TEST(router, send_reports_the_refusal_of_a_full_worker) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 2, log, {.max_messages = 1, .on_full = overflow::refuse});
  const router<job> all(s.system, workers, round_robin{});
  EXPECT_EQ(all.send(job{0}), delivery::accepted);
  EXPECT_EQ(all.send(job{1}), delivery::accepted);
  EXPECT_EQ(all.send(job{2}), delivery::refused);
  s.play();
}

TEST(router, passes_on_the_sender_and_the_priority) {
  journal log;
  journal of_probe;
  stage s;
  const auto workers = make_workers(s, 1, log);
  const router<job, cancel> all(s.system, workers, round_robin{});
  const recipient<job, cancel> to = all;
  const auto from = s.spawn<probe>(of_probe);
  from.send(call{[to](probe&) {
    to.send(job{worker::tell_sender});
    to.send(cancel{2});
  }});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("0:!2", "0:1000", to_string(from.address())));
}

TEST(router, timers_and_waiting_for_room_go_to_a_worker) {
  class patient : public actor {
   public:
    patient(recipient<job> to, journal& log) : to_(std::move(to)), log_(log) {}
    task<> on(int count) {
      for (int i = 0; i < count; ++i) {
        const delivery became = co_await to_.async_send(job{i});
        if (became != delivery::accepted) log_.write("not accepted");
      }
      log_.write("all sent");
    }

   private:
    const recipient<job> to_;
    journal& log_;
  };
  journal log;
  stage s;
  const auto workers = make_workers(s, 2, log, {.max_messages = 1});
  const router<job> all(s.system, workers, round_robin{});
  s.spawn<patient>(all.handle(), log).send(int{10});
  s.play();
  EXPECT_EQ(log.lines().size(), 11u);
  all.handle().send_after(1ms, job{99});
  ASSERT_TRUE(eventually([&] {
    s.play();
    return log.lines().back().ends_with(":99");
  }));
}

TEST(router, send_to_all_gives_each_living_worker_a_copy) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 3, log);
  const router<job, cancel> all(s.system, workers, round_robin{});
  EXPECT_EQ(all.send_to_all(cancel{5}), 3u);
  s.play();
  auto lines = log.lines();
  std::sort(lines.begin(), lines.end());
  EXPECT_THAT(lines, ElementsAre("0:!5", "1:!5", "2:!5"));
  workers[0].stop();
  s.play();
  EXPECT_EQ(all.send_to_all(cancel{6}), 2u);
  s.play();
}

TEST(router, keeps_its_workers_alive_and_stops_with_its_last_handle) {
  journal log;
  recorder told;
  troupe::system s(told.options(2));
  {
    recipient<job> to;
    {
      const auto all = router<job>::spawn<worker>(s, 3, round_robin{}, 7, std::ref(log));
      to = all.handle();
    }
    for (int i = 0; i < 9; ++i) EXPECT_EQ(to.send(job{i}), delivery::accepted);
  }
  EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
  EXPECT_EQ(log.lines().size(), 9u);
}

TEST(router, of_routers_chooses_twice) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 4, log);
  const router<job> left(s.system, std::vector{workers[0], workers[1]}, round_robin{});
  const router<job> right(s.system, std::vector{workers[2], workers[3]}, round_robin{});
  const router<job> all(s.system, std::vector{left.handle(), right.handle()}, round_robin{});
  for (int i = 0; i < 4; ++i) {
    all.send(job{i});
    s.play();
  }
  EXPECT_THAT(log.lines(), ElementsAre("0:0", "2:1", "1:2", "3:3"));
}

template <class By>
void leaves_out_a_router_without_workers(By by) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 2, log);
  const router<job> left(s.system, std::vector{workers[0]}, round_robin{});
  const router<job> right(s.system, std::vector{workers[1]}, round_robin{});
  const router<job> all(s.system, std::vector{left.handle(), right.handle()}, by);
  s.play();
  EXPECT_EQ(all.living(), 2u);
  workers[0].stop();
  s.play();
  EXPECT_EQ(all.living(), 1u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(all.send(job{i}), delivery::accepted);
  EXPECT_EQ(all.send_to_all(job{6}), 1u);
  s.play();
  EXPECT_EQ(log.lines().size(), 7u);
  workers[1].stop();
  s.play();
  EXPECT_EQ(all.living(), 0u);
  EXPECT_EQ(all.send(job{7}), delivery::refused);
  EXPECT_EQ(all.send_to_all(job{8}), 0u);
}

TEST(router, of_routers_leaves_out_one_without_workers) {
  leaves_out_a_router_without_workers(round_robin{});
  leaves_out_a_router_without_workers(least_loaded{});
  leaves_out_a_router_without_workers(by_hash{[](const job& m) { return m.key; }});
}

TEST(router, of_routers_takes_the_one_whose_worker_has_the_least_to_do) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 4, log);
  const router<job> left(s.system, std::vector{workers[0], workers[1]}, least_loaded{});
  const router<job> right(s.system, std::vector{workers[2], workers[3]}, least_loaded{});
  const router<job> all(s.system, std::vector{left.handle(), right.handle()}, least_loaded{});
  s.play();
  for (int i = 0; i < 8; ++i) all.send(job{i});
  s.play();
  std::map<char, int> got;
  for (const std::string& line : log.lines()) ++got[line[0]];
  EXPECT_THAT(
      got, ElementsAre(std::pair('0', 2), std::pair('1', 2), std::pair('2', 2), std::pair('3', 2)));
}

TEST(router, without_workers_reports_the_trace_of_refused_messages) {
  std::vector<trace_id> told;
  system s({.workers = 1,
            .on_dead_letter = [&](const dead_letter& d) { told.push_back(d.trace); },
            .traces = true});
  journal log;
  const auto only = s.spawn<worker>(0, log);
  const router<job> all(s, std::vector{only}, round_robin{});
  only.stop();
  only.join();
  const trace_scope scope(42);
  EXPECT_EQ(all.send(job{1}), delivery::refused);
  (void)all.handle().send_after(1ms, job{2});
  EXPECT_THAT(told, ElementsAre(42u, 42u));
}

TEST(router, stopping_its_handle_stops_the_router_but_not_its_workers) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 2, log);
  const router<job> all(s.system, workers, round_robin{});
  s.play();
  all.handle().stop();
  EXPECT_EQ(all.handle().join(), exit_reason::stopped);
  EXPECT_EQ(all.living(), 2u);
  EXPECT_EQ(all.send(job{1}), delivery::accepted);
  s.play();
  EXPECT_EQ(log.lines().size(), 1u);
}

// The termination of the router's own slot makes no difference to senders.
TEST(router, refuses_while_its_handle_ends) {
  journal log;
  for (int round = 0; round < 50; ++round) {
    system s({.workers = 2});
    const auto only = s.spawn<worker>(0, log);
    const router<job> all(s, std::vector{only}, round_robin{});
    only.stop();
    only.join();
    std::thread stops([&] { all.handle().stop(); });
    for (int i = 0; i < 20; ++i) EXPECT_EQ(all.send(job{i}), delivery::refused);
    stops.join();
  }
}

TEST(router, least_loaded_skips_a_terminated_worker_although_others_are_busy) {
  journal log;
  stage s;
  const auto workers = make_workers(s, 2, log);
  const router<job> all(s.system, workers, least_loaded{});
  workers[0].stop();
  s.play();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(all.send(job{i}), delivery::accepted);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("1:0", "1:1", "1:2", "1:3"));
}

TEST(router, least_loaded_refuses_once_all_of_many_workers_have_terminated) {
  journal log;
  for (int round = 0; round < 20; ++round) {
    system s({.workers = 2});
    std::vector<ref<worker>> workers;
    for (int i = 0; i < 12; ++i) workers.push_back(s.spawn<worker>(i, log));
    const router<job> all(s, workers, least_loaded{});
    std::thread ends([&] {
      for (const auto& each : workers) each.stop_now();
    });
    while (all.send(job{round}) != delivery::refused) {
    }
    ends.join();
  }
}

TEST(router, is_not_made_without_workers_or_of_different_ones) {
  class another : public actor {
   public:
    void on(job) {}
  };
  journal log;
  stage s;
  const auto workers = make_workers(s, 1, log);
  using routed = router<job>;
  EXPECT_THROW(routed(s.system, std::vector<ref<worker>>{}, round_robin{}), std::invalid_argument);
  EXPECT_THROW(routed(s.system, std::vector{workers[0], ref<worker>{}}, round_robin{}),
               std::invalid_argument);
  EXPECT_THROW(
      routed(s.system, std::vector<recipient<job>>{workers[0], s.spawn<another>()}, round_robin{}),
      std::invalid_argument);
  s.play();
}

TEST(router, a_worker_that_a_supervisor_restarts_keeps_its_place) {
  script a("a"), b("b");
  school on;
  on.open(at_once, on.pupil_of(a), on.pupil_of(b));
  const std::vector workers{on.find("a"), on.find("b")};
  const router<say, fail> in_turns(on.system, workers, round_robin{});
  const router<say> by_text(on.system, workers, by_hash{[](const say& m) { return m.text; }});
  const auto heard = [](const script& by) {
    std::vector<std::string> words;
    for (const std::string& line : by.log.lines()) {
      if (line.size() == 1) words.push_back(line);
    }
    return words;
  };
  for (const char key : {'s', 't', 'u', 'v', 'w', 'x', 'y', 'z'}) by_text.send(say{{key}});
  on.play();
  const auto keys_of_a = heard(a);
  const auto keys_of_b = heard(b);
  ASSERT_FALSE(keys_of_a.empty());
  ASSERT_FALSE(keys_of_b.empty());

  EXPECT_EQ(in_turns.send(fail{"why not"}), delivery::accepted);  // the next in turn is a
  for (int i = 0; i < 4; ++i) in_turns.send(say{std::to_string(i)});
  on.play();
  EXPECT_EQ(a.objects, 2);
  EXPECT_EQ(b.objects, 1);
  EXPECT_EQ(in_turns.living(), 2u);
  for (const char key : {'s', 't', 'u', 'v', 'w', 'x', 'y', 'z'}) by_text.send(say{{key}});
  on.play();
  const auto with = [](std::vector<std::string> keys, const char* first, const char* second) {
    std::vector<std::string> all = keys;
    all.insert(all.end(), {first, second});
    all.insert(all.end(), keys.begin(), keys.end());
    return all;
  };
  EXPECT_EQ(heard(a), with(keys_of_a, "1", "3"));
  EXPECT_EQ(heard(b), with(keys_of_b, "0", "2"));
}

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

template <class Routing>
void from_several_threads_while_workers_end(Routing by) {
  constexpr int senders = 3;
  constexpr int each = sanitized ? 1'000 : 10'000;
  class counts : public actor {
   public:
    explicit counts(atomic<int>& sum) : sum_(sum) {}
    void on(job) { sum_.fetch_add(1, relaxed); }

   private:
    atomic<int>& sum_;
  };
  atomic<int> handled{0};
  recorder told;
  {
    troupe::system s(told.options(2));
    std::vector<ref<counts>> workers;
    for (int i = 0; i < 4; ++i) workers.push_back(s.spawn<counts>(handled));
    const router<job> all(s, workers, by);
    std::vector<std::thread> threads;
    for (int n = 0; n < senders; ++n) {
      threads.emplace_back([to = all.handle()] {
        for (int i = 0; i < each; ++i) (void)to.send(job{i});
      });
    }
    for (std::size_t i = 0; i < 3; ++i) workers[i].stop();
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < 3; ++i) (void)workers[i].join();
    EXPECT_EQ(all.living(), 1u);
    EXPECT_EQ(all.send(job{0}), delivery::accepted) << "the last one is there";
  }
  // Messages after an accepted stop() are not handled.
  const auto lost = static_cast<int>(told.dead_letters().size());
  EXPECT_EQ(handled.load(relaxed) + lost, senders * each + 1);
}

TEST(router, least_loaded_from_several_threads_loses_nothing_while_workers_end) {
  from_several_threads_while_workers_end(least_loaded{});
}
TEST(router, round_robin_from_several_threads_loses_nothing_while_workers_end) {
  from_several_threads_while_workers_end(round_robin{});
}
TEST(router, by_hash_from_several_threads_loses_nothing_while_workers_end) {
  from_several_threads_while_workers_end(by_hash{[](job m) { return m.key; }});
}

}  // namespace
}  // namespace troupe::test
