// SPDX-License-Identifier: Apache-2.0
// Handlers that block or compute for long, and actors that wait for their threads.
#include <troupe/actor/blocking.hpp>

#include <chrono>
#include <condition_variable>
#include <latch>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;

struct block {};
struct tell {};

/// Reports that it has received its message.
class witness : public actor {
 public:
  explicit witness(std::counting_semaphore<>& told) : told_(told) {}
  void on(tell) { told_.release(); }

 private:
  std::counting_semaphore<>& told_;
};

/// Blocks until it is released; before that it sends a message to another actor.
class sleeper : public actor {
 public:
  sleeper(std::counting_semaphore<>& go_on, ref<witness> other, bool says_so)
      : go_on_(go_on), other_(std::move(other)), says_so_(says_so) {}
  void on(block) {
    if (other_) other_.send(tell{});
    if (says_so_) return blocking([this] { go_on_.acquire(); });
    go_on_.acquire();
  }

 private:
  std::counting_semaphore<>& go_on_;
  ref<witness> other_;
  bool says_so_;
};

TEST(blocking, does_not_delay_messages_that_the_handler_has_sent_before) {
  std::counting_semaphore<> told{0};
  std::counting_semaphore<> go_on{0};
  troupe::system system({.workers = 1, .blocking_threshold = 0s});
  const auto other = system.spawn<witness>(told);
  system.spawn<sleeper>(go_on, other, true).send(block{});
  told.acquire();
  go_on.release();
}

TEST(blocking, returns_the_result_of_the_function) {
  std::string text = "text";
  EXPECT_EQ(blocking([] { return 3; }), 3);
  EXPECT_EQ(&blocking([&]() -> std::string& { return text; }), &text);
  EXPECT_THROW(blocking([] { throw std::runtime_error("not there"); }), std::runtime_error);
}

TEST(blocking, is_a_plain_call_in_an_actor_that_has_its_own_thread) {
  std::counting_semaphore<> told{0};
  std::counting_semaphore<> go_on{1};
  troupe::system system({.workers = 1});
  const auto other = system.spawn<witness>(told);
  const auto it = system.spawn<sleeper>({.where = own_thread}, go_on, other, true);
  it.send(block{});
  told.acquire();
  EXPECT_EQ(system.statistics().workers_replaced, 0u);
}

TEST(stuck_handler, does_not_delay_messages_that_it_has_sent_before) {
  std::counting_semaphore<> told{0};
  std::counting_semaphore<> go_on{0};
  troupe::system system({.workers = 1});
  const auto other = system.spawn<witness>(told);
  system.spawn<sleeper>(go_on, other, false).send(block{});
  told.acquire();
  go_on.release();
}

TEST(stuck_handler, on_every_worker_delays_no_other_actor_and_surplus_threads_retire) {
  constexpr int count = 12;
  std::counting_semaphore<> told{0};
  std::counting_semaphore<> go_on{0};
  std::binary_semaphore shrunk{0};
  troupe::system system({.workers = 2, .on_pool = [&](const pool_event& e) {
                           if (e.what == pool_event::kind::shrank && e.threads == 2)
                             shrunk.release();
                         }});
  for (int i = 0; i < count; ++i) system.spawn<sleeper>(go_on, ref<witness>(), false).send(block{});
  const auto other = system.spawn<witness>(told);
  for (int i = 0; i < 100; ++i) {
    other.send(tell{});
    told.acquire();
  }
  EXPECT_GE(system.statistics().workers_replaced, 2u);
  go_on.release(count);
  shrunk.acquire();
  EXPECT_EQ(system.statistics().pool_threads, 2u);
  EXPECT_EQ(system.statistics().pool_threads_resting, 0u);
}

// It blocks until the pool has reported: later reports name whatever runs then. On a slow host,
// other turns may last too long as well.
TEST(stuck_handler, is_named_when_the_pool_grows) {
  std::counting_semaphore<> told{0};
  std::counting_semaphore<> go_on{0};
  std::binary_semaphore named{0};
  std::string message;
  duration lasted{};
  troupe::system system({.workers = 1, .on_pool = [&](const pool_event& e) {
                           if (e.what != pool_event::kind::grew || e.actor != "night watch") return;
                           if (e.message.empty() || !message.empty()) return;
                           message = e.message;
                           lasted = e.lasted;
                           named.release();
                         }});
  const auto other = system.spawn<witness>(told);
  system.spawn<sleeper>({.name = "night watch"}, go_on, other, false).send(block{});
  named.acquire();
  told.acquire();
  go_on.release();
  EXPECT_THAT(message, EndsWith("block"));
  EXPECT_GE(lasted, 10ms);
}

TEST(stuck_handler, beyond_max_threads_all_wait_and_it_is_counted) {
  std::counting_semaphore<> told{0};
  std::counting_semaphore<> go_on{0};
  std::counting_semaphore<> refused{0};
  troupe::system system({.workers = 1, .max_threads = 2, .on_pool = [&](const pool_event& e) {
                           if (e.what == pool_event::kind::could_not_grow) refused.release();
                         }});
  for (int i = 0; i < 2; ++i) system.spawn<sleeper>(go_on, ref<witness>(), false).send(block{});
  const auto other = system.spawn<witness>(told);
  other.send(tell{});
  refused.acquire();
  EXPECT_EQ(system.statistics().pool_threads, 2u);
  EXPECT_GT(system.statistics().workers_stuck, 0u);
  EXPECT_FALSE(told.try_acquire());
  go_on.release();
  told.acquire();
  go_on.release();
}

struct work {};

/// Computes for some milliseconds for each message, and counts the messages that it has handled.
class busy : public actor {
 public:
  busy(atomic<int>& handled, std::binary_semaphore& begun) : handled_(handled), begun_(begun) {}
  void on(work) {
    if (handled_ == 0) begun_.release();
    const time_point until = clock::now() + 4ms;
    while (clock::now() < until) cpu_relax();
    ++handled_;
  }

 private:
  atomic<int>& handled_;
  std::binary_semaphore& begun_;
};

TEST(turn, ends_between_two_messages_when_it_has_lasted_and_others_wait) {
  constexpr int count = 100;
  std::counting_semaphore<> told{0};
  std::binary_semaphore begun{0};
  atomic<int> handled{0};
  troupe::system system({.workers = 1});
  const auto one = system.spawn<busy>(handled, begun);
  const auto other = system.spawn<witness>(told);
  for (int i = 0; i < count; ++i) one.send(work{});
  begun.acquire();
  other.send(tell{});  // from outside, during the turn
  told.acquire();
  EXPECT_LT(handled.load(), count) << "one turn may handle as many";
}

TEST(on_pool, may_ask_the_system_and_send) {
  std::counting_semaphore<> told{0};
  std::counting_semaphore<> go_on{0};
  std::binary_semaphore shrunk{0};
  ref<witness> other;
  atomic<std::uint64_t> threads{0};
  {
    troupe::system* of = nullptr;
    troupe::system system({.workers = 1, .on_pool = [&](const pool_event& e) {
                             threads = of->statistics().pool_threads;
                             other.send(tell{});
                             if (e.what == pool_event::kind::shrank) shrunk.release();
                           }});
    of = &system;
    other = system.spawn<witness>(told);
    system.spawn<sleeper>(go_on, other, false).send(block{});
    told.acquire();  // from the handler
    told.acquire();  // as it grew
    go_on.release();
    shrunk.acquire();
    told.acquire();
    EXPECT_EQ(threads.load(), 1u);
    other = {};
  }
}

/// A thread-local whose destructor looks at the system until that is about to be destroyed, and for
/// a while longer.
struct looks_at_its_end {
  troupe::system* at = nullptr;
  static inline std::binary_semaphore begun{0};
  static inline atomic<bool> is_closing{false};
  static inline atomic<int> looked{0};
  static looks_at_its_end& here() {
    static thread_local looks_at_its_end one;
    return one;
  }
  ~looks_at_its_end() {
    if (at == nullptr) return;
    begun.release();
    for (int after = 0; after < 20; after += is_closing ? 1 : 0) {
      (void)at->statistics();
      ++looked;
      std::this_thread::yield();
    }
  }
};

TEST(blocking, a_retiring_thread_may_read_statistics_of_its_system) {
  struct arms : actor {
    void on(block) {
      looks_at_its_end::here().at = &this->system();
      blocking([] {});
    }
  };
  struct says_that_it_closes : actor {
    ~says_that_it_closes() { looks_at_its_end::is_closing = true; }
    void on(tell) {}
  };
  std::counting_semaphore<> told{0};
  std::counting_semaphore<> go_on{1};
  {
    troupe::system system({.workers = 1});
    const auto stays = system.spawn<says_that_it_closes>();
    system.spawn<arms>().send(block{});
    looks_at_its_end::begun.acquire();  // after it has rested for a second
    // The thread is not waited for: neither by a turn that blocks, nor by another look.
    const auto other = system.spawn<witness>(told);
    system.spawn<sleeper>(go_on, other, true).send(block{});
    told.acquire();
    EXPECT_GE(system.statistics().workers_replaced, 1u);
  }
  EXPECT_GE(looks_at_its_end::looked, 20) << "the destructor of the system waits for the thread";
}

}  // namespace
}  // namespace troupe::test
