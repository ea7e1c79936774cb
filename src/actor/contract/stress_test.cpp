// SPDX-License-Identifier: Apache-2.0
// Many actors, on the pool, on threads of their own and on a pump, do at random whatever actors can
// do to each other; then everything is counted. TROUPE_SEED=… repeats the same choices (in another
// order: the threads are real).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/troupe.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

constexpr std::size_t actors_most = sanitized ? 300 : 1'500;
constexpr auto running_time = sanitized ? 1s : 2s;

struct in_stress {};

// From one actor to another: the nth that the receiver accepted.
struct numbered {
  int sender;
  int number;
  std::string text;
  counted<in_stress> alive;
};
// Do something at random, and then this many further steps.
struct step {
  int left;
};
struct tick {
  counted<in_stress> alive;
};
struct explode {};
struct last_words {
  address who;
};

class node;
struct keep {
  ref<node> whom;
};

// Watches every actor, once.
class auditor : public actor {
 public:
  struct account {
    bool spoke = false;
    int downs = 0;
  };
  explicit auditor(atomic<int>& downs) : downs_(downs) {}
  void on(const ref<node>& whom) { watch(whom); }
  void on(const last_words& words) {
    account& one = accounts_[words.who];
    EXPECT_FALSE(one.spoke);
    EXPECT_EQ(one.downs, 0) << "down came before the last words";
    one.spoke = true;
  }
  void on(const down& d) {
    account& one = accounts_[d.who];
    EXPECT_TRUE(one.spoke) << "down came before the last words";
    EXPECT_EQ(++one.downs, 1) << "one watch, one down";
    EXPECT_NE(d.reason, exit_reason::unknown) << "watched through a ref";
    ++downs_;
  }

 private:
  std::unordered_map<address, account> accounts_;
  atomic<int>& downs_;
};

// State that all actors share; it outlives them.
struct world {
  explicit world(std::uint64_t chosen) : seed(chosen) {}

  const std::uint64_t seed;
  troupe::system* system = nullptr;
  pump* bound = nullptr;
  ref<auditor> audit;

  atomic<int> spawned{0};
  atomic<int> destroyed{0};
  atomic<int> downs{0};
  atomic<long> accepted{0};  // numbered messages
  atomic<long> refused{0};
  atomic<long> handled{0};
  atomic<long> dead{0};
  std::array<atomic<bool>, actors_most> gone{};

  mutex guard;
  std::vector<weak_ref<node>> everybody;  // by number

  // Does nothing if there have been `most` already.
  void spawn(std::mt19937_64& random, std::size_t most, const std::function<void(ref<node>)>& then);
  // One of the youngest actors, which is most likely alive, and its number.
  [[nodiscard]] std::pair<int, weak_ref<node>> somebody(std::mt19937_64& random) {
    const std::lock_guard lock(guard);
    const std::size_t age = 1 + random() % std::min<std::size_t>(everybody.size(), 64);
    return {static_cast<int>(everybody.size() - age), everybody[everybody.size() - age]};
  }
};

class node : public actor {
 public:
  node(world& w, int me) : world_(w), me_(me), random_(w.seed + static_cast<std::uint64_t>(me)) {}
  ~node() {
    const alone here(*this);
    EXPECT_FALSE(gone().exchange(true)) << "destroyed twice";
    world_.audit.send(last_words{self_address()});
    if (random_() % 2 == 0) self(this).send(tick{});
    ++world_.destroyed;
  }
  void on_start() { const alone here(*this); }
  void on_stop() {
    const alone here(*this);
    self(this).send_after(1h, tick{});
  }
  void on(const numbered& n) {
    const alone here(*this);
    EXPECT_EQ(n.number, heard_[n.sender]++) << n.sender << " to " << me_;
    ++world_.handled;
  }
  void on(step s, address) {
    const alone here(*this);
    act();
    if (s.left > 0) {
      if (const auto next = world_.somebody(random_).second.lock()) next.send(step{s.left - 1});
    }
  }
  void on(tick&&) { const alone here(*this); }
  void on(explode) {
    const alone here(*this);
    throw std::runtime_error("exploded");
  }
  void on(keep k) {
    const alone here(*this);
    kept_.push_back(std::move(k.whom));
  }
  void on(const down& d) {
    const alone here(*this);
    EXPECT_LE(++downs_[d.who], watches_[d.who]) << "more downs than watches";
  }
  [[nodiscard]] int number() const { return me_; }

 private:
  // Handlers, on_start, on_stop and the destructor run one at a time, and none after the end.
  class alone {
   public:
    explicit alone(node& of) : node_(of) {
      EXPECT_FALSE(of.gone());
      EXPECT_FALSE(std::exchange(of.busy_, true)) << "two turns at once";
    }
    alone(const alone&) = delete;
    alone& operator=(const alone&) = delete;
    ~alone() { node_.busy_ = false; }

   private:
    node& node_;
  };

  atomic<bool>& gone() { return world_.gone[static_cast<std::size_t>(me_)]; }
  void act();
  void talk_to(int whom, const ref<node>& to);

  world& world_;
  const int me_;
  std::mt19937_64 random_;
  bool busy_ = false;
  std::unordered_map<int, int> said_;
  std::unordered_map<int, int> heard_;
  std::unordered_map<address, int> watches_;
  std::unordered_map<address, int> downs_;
  std::vector<ref<node>> kept_;
  std::vector<timer> timers_;
};

void world::spawn(std::mt19937_64& random, std::size_t most,
                  const std::function<void(ref<node>)>& then) {
  spawn_options options;
  const auto dice = random() % 10;
  if (dice == 0) options.where = own_thread;
  if (dice >= 7) options.where = bound_to(*bound);
  ref<node> fresh;
  {
    const std::lock_guard lock(guard);  // so that the numbers are the places
    if (everybody.size() >= most) return;
    fresh = system->spawn<node>(options, *this, static_cast<int>(everybody.size()));
    everybody.emplace_back(fresh);
  }
  ++spawned;
  audit.send(ref{fresh});
  then(std::move(fresh));
}

void node::talk_to(int whom, const ref<node>& to) {
  int& number = said_[whom];
  std::string text(random_() % 60, 'x');
  if (to.send(numbered{me_, number, std::move(text), {}}) == delivery::accepted) {
    ++number;
    ++world_.accepted;
  } else {
    ++world_.refused;
  }
}

void node::act() {
  const auto [whom, weak] = world_.somebody(random_);
  const ref<node> other = weak.lock();
  const auto dice = random_() % 1'000;
  if (dice < 50) {
    ++watches_[weak.address()];
    watch(weak.address());
  } else if (dice < 51) {
    stop();
  } else if (dice < 120) {
    timers_.push_back(self(this).send_after(std::chrono::microseconds{random_() % 2'000}, tick{}));
  } else if (dice < 130) {
    timers_.push_back(self(this).send_every(std::chrono::microseconds{random_() % 2'000}, tick{}));
  } else if (dice < 220) {
    if (timers_.empty()) return;
    timers_.back().cancel();
    timers_.pop_back();
  } else if (dice < 230) {
    world_.spawn(random_, actors_most / 2, [&](ref<node> fresh) {
      if (random_() % 2 == 0) kept_.push_back(std::move(fresh));
    });
  } else if (dice < 300) {
    if (!kept_.empty()) kept_.pop_back();
  } else if (!other) {
    return;
  } else if (dice < 330) {
    ++watches_[other.address()];
    watch(other);
  } else if (dice < 331) {
    other.stop();
  } else if (dice < 332) {
    other.stop_now();
  } else if (dice < 333) {
    other.send(explode{});
  } else if (dice < 370) {
    kept_.push_back(other);
  } else if (dice < 400) {
    other.send(keep{kept_.empty() ? ref<node>(self(this)) : kept_.back()});
  } else if (dice < 430) {
    timers_.push_back(other.send_after(std::chrono::microseconds{random_() % 500}, tick{}));
  } else {
    talk_to(whom, other);
  }
}

std::uint64_t choose_seed() {
  if (const char* const given = std::getenv("TROUPE_SEED")) return std::strtoull(given, nullptr, 0);
  return std::random_device{}();
}

// Starts many steps from a thread that is no actor.
void stir(world& w, std::uint64_t salt, time_point until) {
  std::mt19937_64 random(w.seed ^ salt);
  while (clock::now() < until) {
    const auto whom = w.somebody(random).second.lock();
    if (whom) whom.send(step{static_cast<int>(random() % 50)});
    std::this_thread::yield();
  }
}

// The actors that the test itself keeps alive: always a few, and all of them young.
void keep_some_alive(world& w, time_point until) {
  std::mt19937_64 random(w.seed);
  std::deque<ref<node>> held;
  const auto hold_another = [&] {
    w.spawn(random, actors_most, [&](ref<node> fresh) { held.push_back(std::move(fresh)); });
  };
  for (int i = 0; i < 40; ++i) hold_another();
  std::thread one([&] { stir(w, 1, until); });
  std::thread two([&] { stir(w, 2, until); });
  for (time_point next = clock::now(); clock::now() < until;) {
    w.bound->drain();
    if (clock::now() < next) continue;
    next += 2 * duration(running_time) / actors_most;
    hold_another();
    if (held.size() > 40) held.pop_front();
  }
  one.join();
  two.join();
}

// Tells all remaining actors to stop, until all have terminated: many hold themselves or each
// other.
[[nodiscard]] bool end_all(world& w) {
  return eventually([&] {
    std::vector<weak_ref<node>> all;
    {
      const std::lock_guard lock(w.guard);
      all = w.everybody;
    }
    bool now = false;
    for (const auto& each : all) {
      if (const auto left = each.lock()) (now = !now) ? left.stop_now() : left.stop();
    }
    w.bound->run_until_idle();
    return w.destroyed == w.spawned;
  });
}

TEST(stress, random_actors_lose_nothing_double_nothing_and_end) {
  world w(choose_seed());
  std::printf("TROUPE_SEED=%llu\n", static_cast<unsigned long long>(w.seed));
  system_options options{.workers = 2, .on_failure = [](const failure&) {}};
  options.on_dead_letter = [&](const dead_letter& d) {
    if (d.message == type_name<numbered>()) ++w.dead;
  };
  system s{options};
  pump p{s};
  w.system = &s;
  w.bound = &p;
  w.audit = s.spawn<auditor>(w.downs);
  keep_some_alive(w, clock::now() + running_time);
  ASSERT_TRUE(end_all(w)) << w.destroyed << " of " << w.spawned << " have ended";
  EXPECT_TRUE(eventually([&] {
    p.run_until_idle();
    return w.downs == w.spawned;
  })) << w.downs
      << " downs for " << w.spawned << " watches";
  const auto audit = std::move(w.audit);
  audit.stop();
  audit.join();
  EXPECT_TRUE(s.shutdown(patience).complete());

  EXPECT_EQ(w.dead, w.refused + w.accepted - w.handled);
  EXPECT_EQ(counted<in_stress>::alive(), 0) << "messages that nobody freed";
  const statistics now = s.statistics();
  EXPECT_EQ(now.messages_accepted, now.messages_handled);
  EXPECT_EQ(now.actors_alive, 0u);
  EXPECT_EQ(now.actors_spawned, static_cast<std::uint64_t>(w.spawned) + 1);
  EXPECT_EQ(now.timers_armed, 0u);
  EXPECT_GT(w.handled, 100) << "the test did too little";
  std::printf("%d actors, %ld messages between them, %llu in all\n", w.spawned.load(),
              w.handled.load(), static_cast<unsigned long long>(now.messages_handled));
}

}  // namespace
}  // namespace troupe::test
