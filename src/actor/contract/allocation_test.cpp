// SPDX-License-Identifier: Apache-2.0
// In a steady state, sending and handling do not allocate.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <troupe/troupe.hpp>

#include "actor/counted_allocations_test.hpp"
#include "actor/overload_test_support.hpp"

namespace troupe::test {
namespace {

// A message of the given size in bytes; 0: an empty class.
template <std::size_t Bytes>
struct sized {
  std::array<char, Bytes> bytes{};
};
template <>
struct sized<0> {};

template <class M>
class player;

template <class M>
struct serve {
  ref<player<M>> to;
  int balls;
  int returns;
};

/// Returns the balls that it receives, a given number of times; reports when the last ball is out.
template <class M>
class player : public actor {
 public:
  explicit player(event*& out) : out_(out) {}
  void on(serve<M> s) {
    to_ = s.to;
    left_ = s.returns;
    for (int i = 0; i < s.balls; ++i) to_.send(M{});
  }
  void on(M m) {
    if (left_ == 0) return;
    if (--left_ == 0) {
      out_->set();
    } else {
      to_.send(m);
    }
  }

 private:
  ref<player> to_;
  int left_ = 0;
  event*& out_;
};

template <class M>
class swallower : public actor {
 public:
  explicit swallower(atomic<int>& handled) : handled_(handled) {}
  void on(M) { handled_.fetch_add(1, std::memory_order_relaxed); }

 private:
  atomic<int>& handled_;
};

struct around {
  int left;
  event* done;
};
struct wait_for_it {};

/// Cycles through its states, nested, with a time limit, a history and a deferred message.
class rounds : public state_machine<rounds> {
 public:
  struct outer : state {};
  struct first : in<outer> {
    using defers = troupe::messages<wait_for_it>;
  };
  struct second : in<outer> {};
  struct other : state {};
  using states = troupe::states<outer, first, second, other>;
  using messages = troupe::messages<around, wait_for_it>;

  static constexpr duration limit(first) { return std::chrono::hours(1); }
  to<second> on(first, time_limit) { return {}; }
  to<second> on(first, around m) { return next(m), second{}; }
  to<other> on(second, around m) { return next(m), other{}; }
  to<history<outer>> on(other, around m) { return next(m), history<outer>{}; }
  to<first, stay> on(second, wait_for_it) { return first{}; }
  void on(other, wait_for_it) {}
  void on_enter(first) { self(this).send(wait_for_it{}); }

 private:
  void next(around m) {
    if (m.left == 0) {
      m.done->set();
    } else {
      self(this).send(around{m.left - 1, m.done});
    }
  }
};

struct question {
  int of;
};
struct passed_on {
  int of;
};
class answerer : public actor {
 public:
  explicit answerer(ref<answerer> other = {}) : other_(std::move(other)) {}
  int on(question q) { return q.of; }
  task<int> on(passed_on q) { co_return *co_await other_.ask<question>(patience, q.of); }

 private:
  const ref<answerer> other_;
};
struct ask_in_a_row {
  int times;
  event* done;
};
struct ask_in_tasks {
  int times;
  event* done;
};
struct ask_alone {
  int times;
  event* done;
};
struct ask_with_callbacks {
  int times;
  event* done;
};

/// Makes requests one at a time, each with a time-out.
class asking_one : public actor {
 public:
  explicit asking_one(ref<answerer> whom) : whom_(std::move(whom)) {}
  task<> on(ask_in_a_row m) {
    int right = 0;
    for (int i = 0; i < m.times; ++i) right += *co_await whom_.ask<question>(patience, i) == i;
    EXPECT_EQ(right, m.times);
    m.done->set();
  }
  task<> on(ask_in_tasks m) {
    int right = 0;
    for (int i = 0; i < m.times; ++i) right += co_await one(i) == i;
    EXPECT_EQ(right, m.times);
    m.done->set();
  }
  exclusive_task<> on(ask_alone m) {
    int right = 0;
    for (int i = 0; i < m.times; ++i) right += *co_await whom_.ask<passed_on>(patience, i) == i;
    EXPECT_EQ(right, m.times);
    m.done->set();
  }
  void on(ask_with_callbacks m) {
    if (m.times == 0) return m.done->set();
    whom_.ask<question>(patience, m.times).then([this, m](ask_result<int> got) {
      EXPECT_EQ(*got, m.times);
      on(ask_with_callbacks{m.times - 1, m.done});
    });
  }

 private:
  task<int> one(int i) { co_return *co_await whom_.ask<question>(patience, i); }

  const ref<answerer> whom_;
};

struct watch_and_unwatch {
  ref<answerer> whom;
  int times;
  event* done;
};
class watcher : public actor {
 public:
  void on(const watch_and_unwatch& m) {
    for (int i = 0; i < m.times; ++i) {
      const monitor its = watch(m.whom);
      EXPECT_TRUE(unwatch(its));
    }
    m.done->set();
  }
  void on(down) {}
};

class allocation : public of_allocations {
 protected:
  // Fewer messages if they are large, because all of them are copied.
  template <std::size_t Bytes>
  static constexpr int some(int messages) {
    return Bytes <= 1'000 ? messages : std::max(messages / static_cast<int>(Bytes / 256), 200);
  }

  template <std::size_t Bytes>
  static void check_between_actors(unsigned workers) {
    using M = sized<Bytes>;
    system s{{.workers = workers}};
    event* out = nullptr;
    event* other_out = nullptr;
    const auto a = s.spawn<player<M>>(out);
    const auto b = s.spawn<player<M>>(other_out);
    EXPECT_EQ(least_of_some_rounds([&] {
                event done;
                event other_done;
                out = &done;
                other_out = &other_done;
                b.send(serve<M>{a, 0, 1'000'000'000});
                a.send(serve<M>{b, 50, some<Bytes>(10'000)});
                EXPECT_TRUE(done.wait());
              }),
              0u)
        << Bytes << " bytes on " << workers << " workers";
    b.send(serve<M>{{}, 0, 0});
    a.send(serve<M>{{}, 0, 0});
  }

  template <std::size_t Bytes>
  static void check_from_a_thread(spawn_options options, int messages) {
    using M = sized<Bytes>;
    system s{{.workers = 1}};
    atomic<int> handled{0};
    const auto to = s.spawn<swallower<M>>(options, handled);
    EXPECT_EQ(least_of_some_rounds([&] {
                handled = 0;
                int taken = 0;
                for (int i = 0; i < messages; ++i) {
                  const delivery became = to.send(M{});
                  taken += became == delivery::accepted || became == delivery::paused ? 1 : 0;
                }
                EXPECT_TRUE(eventually([&] { return handled == taken; }));
              }),
              0u)
        << Bytes << " bytes from a thread";
  }
};

TEST_F(allocation, is_zero_for_all_transitions_of_a_state_machine) {
  system s{{.workers = 1}};
  const auto m = s.spawn<rounds>();
  EXPECT_EQ(least_of_some_rounds([&] {
              event done;
              m.send(around{2'000, &done});
              EXPECT_TRUE(done.wait());
            }),
            0u);
  m.stop();
}

TEST_F(allocation, is_zero_for_watch_and_unwatch) {
  system s{{.workers = 1}};
  const auto whom = s.spawn<answerer>();
  const auto who = s.spawn<watcher>();
  EXPECT_EQ(least_of_some_rounds([&] {
              event done;
              who.send(watch_and_unwatch{whom, 1'000, &done});
              EXPECT_TRUE(done.wait());
            }),
            0u);
}

TEST_F(allocation, is_zero_between_two_actors_on_one_worker) {
  check_between_actors<0>(1);
  check_between_actors<16>(1);
  check_between_actors<64>(1);
  check_between_actors<256>(1);
  check_between_actors<1'000>(1);
  check_between_actors<4'096>(1);
  check_between_actors<65'536>(1);
}

TEST_F(allocation, is_zero_between_two_actors_on_two_workers) {
  check_between_actors<0>(2);
  check_between_actors<16>(2);
  check_between_actors<64>(2);
  check_between_actors<256>(2);
  check_between_actors<1'000>(2);
  check_between_actors<4'096>(2);
  check_between_actors<65'536>(2);
}

// With a limit: otherwise the memory in flight would depend on the speed of the two threads.
TEST_F(allocation, is_zero_for_a_thread_that_is_suspended_repeatedly) {
  const spawn_options options{.max_messages = 32};
  check_from_a_thread<0>(options, 20'000);
  check_from_a_thread<16>(options, 20'000);
  check_from_a_thread<64>(options, 20'000);
  check_from_a_thread<256>(options, 20'000);
  check_from_a_thread<1'000>(options, 20'000);
  check_from_a_thread<4'096>(options, some<4'096>(20'000));
  check_from_a_thread<65'536>(options, some<65'536>(20'000));
}

TEST_F(allocation, is_zero_for_a_thread_whose_messages_are_refused) {
  check_from_a_thread<64>({.max_messages = 32, .on_full = overflow::refuse}, 20'000);
}

TEST_F(allocation, is_zero_for_a_thread_whose_messages_are_dropped) {
  check_from_a_thread<64>({.max_messages = 32, .on_full = overflow::drop_newest}, 20'000);
}

TEST_F(allocation, is_zero_for_a_thread_that_sends_within_a_budget) {
  spawn_options options{.max_messages = 32};
  options.memory_budget = budget{100'000};
  check_from_a_thread<64>(options, 20'000);
}

TEST_F(allocation, is_zero_for_an_actor_that_is_suspended_repeatedly) {
  class flooder : public actor {
   public:
    flooder(ref<swallower<item>> to, event*& done) : to_(std::move(to)), done_(done) {}
    void on(int left) {
      if (left == 0) return done_->set();
      for (int i = 0; i < 10; ++i) to_.send(item{i});
      self(this).send(left - 1);
    }

   private:
    ref<swallower<item>> to_;
    event*& done_;
  };
  for (const unsigned workers : {1u, 2u}) {
    system s{{.workers = workers}};
    atomic<int> handled{0};
    event* done = nullptr;
    const auto to = s.spawn<swallower<item>>(spawn_options{.max_messages = 8}, handled);
    const auto from = s.spawn<flooder>(to, done);
    EXPECT_EQ(least_of_some_rounds([&] {
                event ended;
                done = &ended;
                from.send(1'000);
                EXPECT_TRUE(ended.wait());
              }),
              0u);
    EXPECT_GE(s.statistics().pauses, 100u);
  }
}

TEST_F(allocation, is_zero_for_handlers_that_wait_repeatedly) {
  class feeder : public actor {
   public:
    feeder(ref<swallower<item>> to, event*& done) : to_(std::move(to)), done_(done) {}
    task<> on(int count) {
      const std::array<char, 200> frame_of_some_size{};
      for (int i = 0; i < count; ++i) {
        if (co_await to_.async_send(item{frame_of_some_size[0]}) != delivery::accepted) break;
      }
      if (++ended_ % 4 == 0) done_->set();
    }

   private:
    ref<swallower<item>> to_;
    event*& done_;
    int ended_ = 0;
  };
  for (const unsigned workers : {1u, 2u}) {
    system s{{.workers = workers}};
    atomic<int> handled{0};
    event* done = nullptr;
    const auto to = s.spawn<swallower<item>>(spawn_options{.max_messages = 8}, handled);
    const auto from = s.spawn<feeder>(to, done);
    EXPECT_EQ(least_of_some_rounds([&] {
                event ended;
                done = &ended;
                for (int i = 0; i < 4; ++i) from.send(1'000);
                EXPECT_TRUE(ended.wait());
              }),
              0u);
    EXPECT_EQ(s.statistics().pauses, 0u);
  }
}

TEST_F(allocation, is_zero_for_handlers_that_wait_for_channels) {
  struct give {
    int count;
  };
  struct take {
    int count;
  };
  class user : public actor {
   public:
    user(channel<int> with, event*& done) : with_(std::move(with)), done_(done) {}
    task<> on(give m) {
      for (int i = 0; i < m.count; ++i) (void)co_await with_.async_send(i);
    }
    task<> on(take m) {
      for (int i = 0; i < m.count; i += 2) {
        (void)co_await with_.next(1h);
        (void)co_await select_when_ready(from(with_, [](int) {}));
      }
      done_->set();
    }

   private:
    const channel<int> with_;
    event*& done_;
  };
  for (const std::size_t capacity : {0u, 4u}) {
    system s{{.workers = 2}};
    event* done = nullptr;
    const channel<int> with(capacity);
    const auto one = s.spawn<user>(with, done);
    const auto other = s.spawn<user>(with, done);
    EXPECT_EQ(least_of_some_rounds([&] {
                event ended;
                done = &ended;
                other.send(take{1'000});
                one.send(give{1'000});
                EXPECT_TRUE(ended.wait());
              }),
              0u);
  }
}

TEST_F(allocation, is_zero_for_coroutine_handlers_that_start_and_finish) {
  class quick : public actor {
   public:
    explicit quick(event*& done) : done_(done) {}
    task<> on(int left) {
      if (left == 0) {
        done_->set();
      } else {
        self(this).send(left - 1);
      }
      co_return;
    }

   private:
    event*& done_;
  };
  system s{{.workers = 1}};
  event* done = nullptr;
  const auto a = s.spawn<quick>(done);
  EXPECT_EQ(least_of_some_rounds([&] {
              event ended;
              done = &ended;
              a.send(10'000);
              EXPECT_TRUE(ended.wait());
            }),
            0u);
}

TEST_F(allocation, is_zero_for_requests) {
  for (const unsigned workers : {1u, 2u}) {
    system s{{.workers = workers}};
    const auto a = s.spawn<asking_one>(s.spawn<answerer>(s.spawn<answerer>()));
    const auto least = [&]<class How>(How) {
      return least_of_some_rounds([&] {
        event done;
        a.send(How{1'000, &done});
        EXPECT_TRUE(done.wait());
      });
    };
    EXPECT_EQ(least(ask_in_a_row{}), 0u) << workers << " workers";
    EXPECT_EQ(least(ask_in_tasks{}), 0u) << workers << " workers";
    EXPECT_EQ(least(ask_with_callbacks{}), 0u) << workers << " workers";
    EXPECT_EQ(least(ask_alone{}), 0u) << workers << " workers, of an exclusive handler";
  }
}

}  // namespace
}  // namespace troupe::test
