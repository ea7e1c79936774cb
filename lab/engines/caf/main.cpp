// SPDX-License-Identifier: Apache-2.0

// The workloads of src/actor/workloads_bench.cpp in CAF 0.17: event-based actors on its scheduler.
//
//   workloads WORKLOAD [--smoke] [--workers N]
//
// One line: name, million messages (actors) a second, peak resident memory in kB; for idle the
// bytes that one actor with one reference to it costs instead of a rate.
//
// Choices: messages are integers, which CAF knows without registration and keeps inside the element
// of the mailbox; actors are classes, the form with the least indirection. The policy is the
// default, work stealing, but for wall and spawn, where one worker has tens of thousands of actors
// waiting: to steal one, CAF walks the whole queue under its locks, and the program seems to hang.
// They use work sharing.

#include <sys/resource.h>

#include <atomic>
#include <caf/all.hpp>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

std::uint64_t divide_by = 1;  // 100 with --smoke

class latch {
 public:
  explicit latch(std::uint64_t count) : left_(count) {}

  void count_down() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
  }

 private:
  std::atomic<std::uint64_t> left_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

std::size_t rss_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

long peak_rss_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// ── pingpong, pairs, ring ─────────────────────────────────────────────────────────────────────

class player : public caf::event_based_actor {
 public:
  player(caf::actor_config& config, latch& done) : event_based_actor(config), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](std::uint64_t left) {
              if (left == 0) {
                done_.count_down();
              } else {
                send(other_, left - 1);
              }
            },
            [this](const caf::actor& other) { other_ = other; }};
  }

 private:
  latch& done_;
  caf::actor other_;
};

double play(caf::actor_system& system, std::size_t pairs, std::size_t balls_per_pair,
            std::uint64_t messages) {
  const std::uint64_t hops = messages / (pairs * balls_per_pair);
  latch done(pairs * balls_per_pair);
  std::vector<caf::actor> players;
  for (std::size_t i = 0; i < pairs; ++i) {
    players.push_back(system.spawn<player>(done));
    players.push_back(system.spawn<player>(done));
    caf::anon_send(players[2 * i], players[2 * i + 1]);
    caf::anon_send(players[2 * i + 1], players[2 * i]);
  }
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) caf::anon_send(players[i + k], hops);
  }
  done.wait();
  return static_cast<double>(hops * pairs * balls_per_pair) / seconds_since(began);
}

double pingpong(caf::actor_system& system) { return play(system, 1, 1, 4'000'000 / divide_by); }
double pairs(caf::actor_system& system) {
  return play(system, 25'000 / divide_by, 2, 10'000'000 / divide_by);
}

double ring(caf::actor_system& system) {
  const std::size_t count = 10'000 / divide_by;
  const std::uint64_t hops = 10'000'000 / divide_by;
  latch done(1);
  std::vector<caf::actor> players;
  for (std::size_t i = 0; i < count; ++i) players.push_back(system.spawn<player>(done));
  for (std::size_t i = 0; i < count; ++i) caf::anon_send(players[i], players[(i + 1) % count]);
  const auto began = std::chrono::steady_clock::now();
  caf::anon_send(players[0], hops);
  done.wait();
  return static_cast<double>(hops) / seconds_since(began);
}

// ── wall ──────────────────────────────────────────────────────────────────────────────────────

using hit = caf::unit_t;

class wall_player : public caf::event_based_actor {
 public:
  using event_based_actor::event_based_actor;

  caf::behavior make_behavior() override {
    return {[this](hit h) { send(wall_, h); }, [this](const caf::actor& wall) { wall_ = wall; }};
  }

 private:
  caf::actor wall_;
};

class wall : public caf::event_based_actor {
 public:
  wall(caf::actor_config& config, std::vector<caf::actor> players, std::uint64_t hits, latch& done)
      : event_based_actor(config), players_(std::move(players)), left_(hits), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](hit h) {
      if (left_ == 0) return;
      if (--left_ == 0) {
        done_.count_down();
        return;
      }
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      send(players_[random_ % players_.size()], h);
    }};
  }

 private:
  std::vector<caf::actor> players_;
  std::uint64_t left_;
  latch& done_;
  std::uint64_t random_ = 88172645463325252ULL;
};

double wall_of_players(caf::actor_system& system) {
  const std::uint64_t messages = 10'000'000 / divide_by;
  latch done(1);
  std::vector<caf::actor> players;
  for (std::size_t i = 0; i < 50'000 / divide_by; ++i)
    players.push_back(system.spawn<wall_player>());
  const caf::actor middle = system.spawn<wall>(players, messages / 2, done);
  for (auto& each : players) caf::anon_send(each, middle);
  const auto began = std::chrono::steady_clock::now();
  for (auto& each : players) caf::anon_send(each, hit{});
  done.wait();
  return static_cast<double>(messages) / seconds_since(began);
}

// ── spawn ─────────────────────────────────────────────────────────────────────────────────────

class short_lived : public caf::event_based_actor {
 public:
  using event_based_actor::event_based_actor;

  // What a handler returns goes to the sender. Nobody keeps the actor: it ends by itself.
  caf::behavior make_behavior() override {
    return {[](std::uint64_t value) { return value; }};
  }
};

class collector : public caf::event_based_actor {
 public:
  collector(caf::actor_config& config, std::uint64_t count, latch& done)
      : event_based_actor(config), count_(count), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](caf::ok_atom) {
              for (std::uint64_t i = 0; i < count_; ++i) send(spawn<short_lived>(), i);
            },
            [this](std::uint64_t value) {
              sum_ += value;
              if (++answers_ == count_) done_.count_down();
            }};
  }

 private:
  std::uint64_t count_;
  latch& done_;
  std::uint64_t answers_ = 0;
  std::uint64_t sum_ = 0;
};

double spawn(caf::actor_system& system) {
  const std::uint64_t count = 1'000'000 / divide_by;
  latch done(1);
  const caf::actor counting = system.spawn<collector>(count, done);
  const auto began = std::chrono::steady_clock::now();
  caf::anon_send(counting, caf::ok_atom::value);
  done.wait();
  return static_cast<double>(count) / seconds_since(began);
}

// ── idle ──────────────────────────────────────────────────────────────────────────────────────

class idler : public caf::event_based_actor {
 public:
  idler(caf::actor_config& config, latch& started) : event_based_actor(config) {
    started_ = &started;
  }

  caf::behavior make_behavior() override {
    started_->count_down();
    return {[this](std::uint64_t value) { state_[0] += value; }};
  }

 private:
  inline static latch* started_ = nullptr;
  std::uint64_t state_[2] = {};
};

double idle(caf::actor_system& system) {
  const std::size_t count = 1'000'000 / divide_by;
  latch started(count);
  std::vector<caf::actor> all;
  const std::size_t before = rss_bytes();
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(system.spawn<idler>(started));
  started.wait();  // it is idle when it waits for a message
  return static_cast<double>(rss_bytes() - before) / static_cast<double>(count);
}

// ── The program ───────────────────────────────────────────────────────────────────────────────

struct workload {
  std::string_view name;
  double (*run)(caf::actor_system&);
  bool long_queue = false;
};

constexpr workload workloads[] = {
    {"pingpong", pingpong}, {"pairs", pairs},       {"wall", wall_of_players, true},
    {"ring", ring},         {"spawn", spawn, true}, {"idle", idle},
};

int usage() {
  std::fputs("usage: workloads pingpong|pairs|wall|ring|spawn|idle [--smoke] [--workers 1..1024]\n",
             stderr);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const workload* chosen = nullptr;
  unsigned workers = 2;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") {
      divide_by = 100;
    } else if (argument == "--workers") {
      const std::string_view n = i + 1 < count ? arguments[++i] : "";
      const auto [end, error] = std::from_chars(n.data(), n.data() + n.size(), workers);
      if (error != std::errc{} || end != n.data() + n.size() || workers == 0 || workers > 1024) {
        return usage();
      }
    } else {
      if (chosen != nullptr) return usage();
      for (const workload& each : workloads) {
        if (each.name == argument) chosen = &each;
      }
      if (chosen == nullptr) return usage();
    }
  }
  if (chosen == nullptr) return usage();

  caf::actor_system_config config;
  config.set("scheduler.max-threads", workers);
  if (chosen->long_queue) config.set("scheduler.policy", caf::atom("sharing"));
  caf::actor_system system(config);
  const double value = chosen->run(system);
  std::printf("%s %.2f %ld\n", chosen->name.data(), chosen->name == "idle" ? value : value / 1e6,
              peak_rss_kb());
  std::fflush(stdout);
  std::_Exit(0);  // without waiting for actors that refer to each other
}
