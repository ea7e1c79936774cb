// SPDX-License-Identifier: Apache-2.0
// Requests against terminations: coroutines, callbacks and threads ask actors that reply at once,
// later, through another actor, or never, while requesters and responders are stopped, fail, and
// are replaced. Each request of a requester that lives has exactly one result, and a reply belongs
// to its own request. TROUPE_SEED=… repeats the same choices (in another order: the threads are
// real).
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "test_support.hpp"

namespace troupe::test {
namespace {

using number = std::uint64_t;

struct at_once {
  number of;
};
struct in_a_while {
  number of;
};
struct kept {
  number of;
};
struct passed_on {
  number of;
};
struct thrown {
  number of;
};

class answerer;

// The actors that may be asked; one that terminates is replaced.
class desks {
 public:
  explicit desks(std::size_t count) : all_(count) {}
  ref<answerer> some(std::mt19937_64& random) {
    const std::lock_guard lock(guard_);
    return all_[random() % all_.size()];
  }
  void put(std::size_t place, ref<answerer> who) {
    const std::lock_guard lock(guard_);
    std::swap(all_[place], who);  // the other reference is destroyed after the lock is released
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  mutex guard_;
  std::vector<ref<answerer>> all_;
};

class answerer : public actor {
 public:
  answerer(desks& all, number seed) : all_(all), random_(seed) {}
  number on(at_once m) { return m.of; }
  task<number> on(in_a_while m) {
    co_await sleep_for(std::chrono::microseconds(random_() % 100));
    co_return m.of;
  }
  void on(kept m, reply<number> owed) {
    kept_.emplace_back(m.of, std::move(owed));
    if (kept_.size() < 4) return;
    auto [of, oldest] = std::move(kept_.front());
    kept_.pop_front();
    if (random_() % 4 == 0) return;  // this one gets no reply
    (void)oldest.set_value(of);
  }
  void on(passed_on m, reply<number> owed) {
    if (const auto to = all_.some(random_)) (void)to.pass_on<at_once>(std::move(owed), m.of);
  }
  number on(thrown) { throw std::runtime_error("as the test wants"); }

 private:
  desks& all_;
  std::mt19937_64 random_;
  std::deque<std::pair<number, reply<number>>> kept_;
};

// About one requester. It outlives the requester.
struct account {
  atomic<number> asked{0};  // and not abandoned
  atomic<number> results{0};
  atomic<number> wrong{0};
  atomic<bool> cut_off{false};  // it was terminated in the middle
};

std::uint64_t choose_seed() {
  if (const char* const chosen = std::getenv("TROUPE_SEED"))
    return std::strtoull(chosen, nullptr, 10);
  return std::random_device{}();
}

struct begin {};

class client : public actor {
 public:
  client(desks& all, account& mine, const atomic<bool>& over, number seed)
      : all_(all), mine_(mine), over_(over), random_(seed) {}

  task<> on(begin) {
    while (!over_.load(relaxed)) {
      const ref<answerer> whom = all_.some(random_);
      const duration time = time_out();
      const number of = ++last_;
      switch (random_() % 8) {
        case 0:
          mine_.asked.fetch_add(1, relaxed);
          whom.ask<at_once>(time, of).then([this, of](ask_result<number> got) { ends(of, got); });
          break;
        case 1:
          mine_.asked.fetch_add(1, relaxed);
          co_await nested(whom, time, of);
          break;
        case 2: {
          auto let_go = whom.ask<in_a_while>(time, of);
          break;
        }
        case 3: {
          auto first = whom.ask<kept>(time, of);
          auto second = whom.ask<at_once>(time, of);
          mine_.asked.fetch_add(2, relaxed);
          ends(of, co_await std::move(second));
          ends(of, co_await std::move(first));
          break;
        }
        case 4:
          mine_.asked.fetch_add(1, relaxed);
          ends(of, co_await whom.ask<passed_on>(time, of));
          break;
        case 5:
          mine_.asked.fetch_add(1, relaxed);
          ends(of, co_await whom.ask<in_a_while>(time, of));
          break;
        case 6:
          if (random_() % 1'024 == 0) {
            mine_.asked.fetch_add(1, relaxed);
            ends(of, co_await whom.ask<thrown>(time, of));
            break;
          }
          [[fallthrough]];
        default:
          mine_.asked.fetch_add(1, relaxed);
          ends(of, co_await whom.ask<at_once>(time, of));
      }
    }
  }

 private:
  task<> nested(ref<answerer> whom, duration time, number of) {
    ends(of, co_await whom.ask<at_once>(time, of));
  }
  // Kept requests get a reply when the actor that keeps them has received others, or has
  // terminated.
  duration time_out() {
    switch (random_() % 4) {
      case 0:
        return std::chrono::microseconds(random_() % 200);
      case 1:
        return no_timeout;
      default:
        return 200ms;
    }
  }
  void ends(number of, const ask_result<number>& got) {
    if (got && *got != of) mine_.wrong.fetch_add(1, relaxed);
    mine_.results.fetch_add(1, relaxed);
  }

  desks& all_;
  account& mine_;
  const atomic<bool>& over_;
  std::mt19937_64 random_;
  number last_ = 0;
};

TEST(ask_stress, each_request_has_exactly_one_result_whichever_actor_terminates) {
  constexpr std::size_t answerers = 6;
  constexpr std::size_t clients = 6;
  constexpr int ends = sanitized ? 400 : 2'000;
  const number seed = choose_seed();
  std::printf("TROUPE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  recorder told;  // records failures, which are expected here
  std::vector<std::unique_ptr<account>> accounts;
  atomic<bool> over{false};
  desks all(answerers);
  {
    auto options = told.options();
    options.workers = 4;
    troupe::system system(options);
    std::vector<ref<answerer>> asked(answerers);
    std::vector<ref<client>> asking(clients);
    std::vector<account*> current(clients);
    const auto make_answerer = [&](std::size_t i) {
      asked[i] = system.spawn<answerer>(all, random());
      all.put(i, asked[i]);
    };
    const auto make_client = [&](std::size_t i) {
      current[i] = accounts.emplace_back(std::make_unique<account>()).get();
      asking[i] = system.spawn<client>(all, *current[i], over, random());
      asking[i].send(begin{});
    };
    for (std::size_t i = 0; i < answerers; ++i) make_answerer(i);
    for (std::size_t i = 0; i < clients; ++i) make_client(i);

    account of_threads;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, own = random()] {
        std::mt19937_64 choice(own);
        for (number of = 1; !over.load(relaxed); ++of) {
          const ref<answerer> whom = all.some(choice);
          const duration time = choice() % 2 == 0 ? duration(100us) : duration(200ms);
          of_threads.asked.fetch_add(1, relaxed);
          const auto got = choice() % 2 == 0 ? whom.ask<at_once>(time, of).get()
                                             : whom.ask<passed_on>(time, of).get();
          if (got && *got != of) of_threads.wrong.fetch_add(1, relaxed);
          of_threads.results.fetch_add(1, relaxed);
        }
      });
    }

    for (int i = 0; i < ends; ++i) {
      // Some requests between one termination and the next.
      const number goal = of_threads.results.load(relaxed) + 4;
      EXPECT_TRUE(eventually([&] { return of_threads.results.load(relaxed) >= goal; }));
      if (random() % 2 == 0) {
        const std::size_t which = random() % answerers;
        if (random() % 2 == 0) {
          asked[which].stop();
        } else {
          asked[which].stop_now();
        }
        make_answerer(which);
      } else if (random() % 4 == 0) {
        const std::size_t which = random() % clients;
        current[which]->cut_off.store(true, relaxed);
        if (random() % 2 == 0) {
          asking[which].stop();
        } else {
          asking[which].stop_now();
        }
        make_client(which);
      }
    }

    over.store(true, relaxed);
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(of_threads.asked.load(relaxed), of_threads.results.load(relaxed));
    EXPECT_EQ(of_threads.wrong.load(relaxed), 0u);
    // No more replies come: requests that are still pending end here.
    for (std::size_t i = 0; i < answerers; ++i) asked[i].stop();
    EXPECT_TRUE(eventually([&] {
      for (const account* const each : current) {
        if (each->asked.load(relaxed) != each->results.load(relaxed)) return false;
      }
      return true;
    })) << "a question has no result";
    for (std::size_t i = 0; i < answerers; ++i) all.put(i, {});
    asked.clear();
    number asked_in_all = 0;
    for (const auto& each : accounts) {
      EXPECT_EQ(each->wrong.load(relaxed), 0u);
      EXPECT_LE(each->results.load(relaxed), each->asked.load(relaxed));
      asked_in_all += each->asked.load(relaxed);
    }
    EXPECT_GT(asked_in_all, 1'000u);
    for (const auto& each : asking) each.stop();
    for (const auto& each : asking) EXPECT_EQ(each.join_for(patience), exit_reason::stopped);
    EXPECT_TRUE(eventually([&] { return system.statistics().actors_alive == 0; }));
    EXPECT_TRUE(eventually([&] { return system.statistics().messages_waiting == 0; }));
  }
}

}  // namespace
}  // namespace troupe::test
