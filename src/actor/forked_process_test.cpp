// SPDX-License-Identifier: Apache-2.0
// A process that forks while it has a system: the child has none of the threads, and gets errors
// that say so.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/troupe.hpp>

#include "ask_test_support.hpp"
#include "forked_test_support.hpp"

namespace troupe::test {
namespace {

using testing::HasSubstr;

class bystander : public actor {
 public:
  explicit bystander(journal& log) : log_(log) {}
  void on(const note& m) { log_.write(m.text); }

 private:
  journal& log_;
};

TEST(forked_child, has_its_messages_refused_and_its_requests_stopped) {
  troupe::system system;
  const auto it = system.spawn<oracle>();
  EXPECT_EQ(in_child([&] {
              return std::string(to_string(it.send(answer_now{1}))) + ", " +
                     text(it.ask<add>(no_timeout, 1, 2).get());
            }),
            "refused, stopped");
  EXPECT_EQ(it.ask<add>(patience, 1, 2).get().value(), 3) << "the parent goes on";
  EXPECT_EQ(it.send(answer_now{1}), delivery::accepted);
}

TEST(forked_child, gets_an_error_where_it_would_wait_for_threads_of_the_parent) {
  journal log;
  stage on;
  troupe::system& system = on.system;
  const auto it = system.spawn<oracle>();
  auto asked = it.ask<answer_later>(no_timeout);
  const std::function<void()> calls[] = {[&] { (void)system.spawn<oracle>(); },
                                         [&] { (void)system.shutdown(duration::max()); },
                                         [&] { (void)system.shutdown_now(duration::max()); },
                                         [&] { system.join_all(); },
                                         [&] { (void)it.join(); },
                                         [&] { (void)asked.get(); },
                                         [&] { (void)on.pump.drain(); },
                                         [&] { (void)system.statistics(); },
                                         [&] { (void)system.collect_cycles(); },
                                         [&] { (void)system.unreachable_suspects(); },
                                         [&] { (void)system.overloaded_actors(); },
                                         [&] { const troupe::system another; }};
  for (const auto& each : calls) {
    EXPECT_THAT(in_child([&] { return error_of(each); }), HasSubstr(forked_error));
  }
  it.send(answer_now{5});
  EXPECT_EQ(asked.get().value(), 5);
}

TEST(forked_child, destroys_objects_of_the_parent_without_waiting) {
  std::optional<troupe::system> system(std::in_place);
  std::optional<pump> here(std::in_place, *system);
  const auto it = system->spawn<oracle>({.where = bound_to(*here)});
  EXPECT_EQ(in_child([&] {
              here.reset();
              system.reset();
              return std::string("ended");
            }),
            "ended");
}

TEST(forked_child, gets_an_error_from_a_blocking_pool_of_the_parent_and_destroys_it) {
  troupe::system system;
  std::optional<blocking_pool> pool(std::in_place, system, blocking_pool_options{.threads = 1});
  event begun;
  event opens;
  std::optional<blocking_call<void>> call(pool->run(no_timeout, [&] {
    begun.set();
    (void)opens.wait();
  }));
  ASSERT_TRUE(begun.wait());
  const std::function<void()> calls[] = {
      [&] { (void)pool->run(patience, [] {}); }, [&] { (void)pool->statistics(); },
      [&] { const blocking_pool another(system, {.name = "another"}); }};
  for (const auto& each : calls) {
    EXPECT_THAT(in_child([&] { return error_of(each); }), HasSubstr(forked_error));
  }
  EXPECT_EQ(in_child([&] {
              call.reset();
              pool.reset();
              return std::string("ended");
            }),
            "ended");
  opens.set();
  EXPECT_TRUE(call->get().has_value()) << "the parent goes on";
}

TEST(forked_child, gets_an_error_where_it_would_arm_a_timer_or_stop_an_actor) {
  journal log;
  troupe::system system;
  const auto it = system.spawn<bystander>(log);
  const recipient<note> same = it;
  timer once = it.send_after(1h, note{"late"});
  const std::function<void()> calls[] = {[&] { (void)it.send_after(1ms, note{"in the child"}); },
                                         [&] { (void)it.send_every(1ms, note{"in the child"}); },
                                         [&] { (void)same.send_after(1ms, note{"in the child"}); },
                                         [&] { it.stop(); },
                                         [&] { it.stop_now(); },
                                         [&] { same.stop(); },
                                         [&] { same.stop_now(); }};
  for (const auto& each : calls) {
    EXPECT_THAT(in_child([&] { return error_of(each); }), HasSubstr(forked_error));
  }
  EXPECT_EQ(in_child([&] { return std::string(once.cancel() ? "cancelled" : "never fires"); }),
            "never fires");
  EXPECT_TRUE(once.cancel()) << "in the parent it is armed";
  (void)it.send_after(1ms, note{"fired"});
  EXPECT_TRUE(log.wait_for(1)) << "the parent goes on";
}

TEST(forked_child, releases_the_last_reference_to_an_actor_of_the_parent_without_waiting) {
  journal log;
  troupe::system system;
  auto it = system.spawn<bystander>(log);
  EXPECT_EQ(in_child([&] {
              it = {};
              return std::string("released");
            }),
            "released");
  EXPECT_EQ(it.send(note{"there"}), delivery::accepted);
  EXPECT_TRUE(log.wait_for(1));
}

// Its first move waits, under the lock of the channel.
struct slow_to_move {
  struct gate {
    event begun;
    event go_on;
  };
  explicit slow_to_move(gate* of) : at(of) {}
  slow_to_move(slow_to_move&& other) noexcept : at(std::exchange(other.at, nullptr)) {
    if (at == nullptr) return;
    at->begun.set();
    EXPECT_TRUE(at->go_on.wait());
    at = nullptr;
  }
  slow_to_move& operator=(slow_to_move&&) = delete;
  gate* at;
};

TEST(forked_child, gets_an_error_from_a_channel_whose_lock_another_thread_holds) {
  const troupe::system system;
  slow_to_move::gate gate;
  const channel<slow_to_move> its(4);
  std::optional<channel<slow_to_move>> copy(its);
  std::thread other([&] { (void)its.try_send(slow_to_move(&gate)); });
  EXPECT_TRUE(gate.begun.wait());
  const std::function<void()> calls[] = {
      [&] { (void)its.send(slow_to_move(nullptr)); },
      [&] { (void)its.try_send(slow_to_move(nullptr)); },
      [&] { (void)its.receive(); },
      [&] { (void)its.try_receive(); },
      [&] { (void)its.receive_until(clock::now() + 1ms); },
      [&] { (void)select(from(its, [](slow_to_move) {})); },
      [&] { (void)its.size(); },
      [&] { (void)its.counts(); },
      [&] { (void)its.is_closed(); },
      [&] { its.close(); },
  };
  for (const auto& each : calls) {
    EXPECT_THAT(in_child([&] { return error_of(each); }), HasSubstr(forked_error));
  }
  EXPECT_EQ(in_child([&] {
              const channel<slow_to_move>::sender end = its;
              copy.reset();
              return std::string("released");
            }),
            "released");
  gate.go_on.set();
  other.join();
  EXPECT_TRUE(its.try_receive().has_value()) << "the parent goes on";
}

TEST(forked_child, of_a_process_without_a_system_uses_its_channels) {
  { const troupe::system before; }
  const channel<int> its(1);
  EXPECT_EQ(in_child([&] {
              (void)its.try_send(3);
              return std::to_string(its.try_receive().value());
            }),
            "3");
}

TEST(forked_child, of_a_process_without_a_system_can_create_one) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  { const troupe::system before; }
  EXPECT_EQ(in_child([] {
              troupe::system system({.workers = 1});
              return text(system.spawn<oracle>().ask<add>(patience, 1, 2).get());
            }),
            "value");
}

}  // namespace
}  // namespace troupe::test
