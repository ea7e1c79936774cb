// SPDX-License-Identifier: Apache-2.0

// The workloads by which actor libraries are compared, each with its usual sizes:
//
//   pingpong  2 actors, 1 message in flight, 4,000,000 messages
//   pairs     50,000 actors in 25,000 pairs, 50,000 messages in flight, 10,000,000 messages
//   wall      50,000 players, 50,000 balls, one wall that picks a random player, 10,000,000
//   messages ring      10,000 actors, one token, 10,000,000 hops spawn     1,000,000 actors; each
//   gets a message, answers a collector and ends idle      1,000,000 actors with 16 bytes of state,
//   alive at once
//
//   workloads_bench [--smoke] [--workers N] [WORKLOAD…]
//
// One line each: name, million messages (actors) a second, peak resident memory in kB; for idle the
// bytes that one actor with one reference to it costs instead of a rate.

#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <latch>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/troupe.hpp>

namespace {

using troupe::recipient;
using troupe::ref;

struct setting {
  unsigned workers = 0;
  std::uint64_t divide_by = 1;  // --smoke
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

long peak_rss_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::size_t rss_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

// ── pingpong, pairs ───────────────────────────────────────────────────────────────────────────

struct ball {
  std::uint64_t left;
};

class player : public troupe::actor {
 public:
  struct meet {
    ref<player> other;
  };
  struct forget {};

  explicit player(std::latch& done) : done_(done) {}

  void on(meet m) { other_ = std::move(m.other); }
  void on(ball b) {
    if (b.left == 0) {
      done_.count_down();
    } else {
      other_.send(ball{b.left - 1});
    }
  }
  void on(forget) { other_ = {}; }

 private:
  std::latch& done_;
  ref<player> other_;
};

double play(const setting& s, std::size_t pairs, std::size_t balls_per_pair,
            std::uint64_t messages) {
  const std::uint64_t hops = messages / (pairs * balls_per_pair);
  std::latch done(static_cast<std::ptrdiff_t>(pairs * balls_per_pair));
  troupe::system system({.workers = s.workers});
  std::vector<ref<player>> players;
  for (std::size_t i = 0; i < pairs; ++i) {
    auto a = system.spawn<player>(done);
    auto b = system.spawn<player>(done);
    a.send(player::meet{b});
    b.send(player::meet{a});
    players.push_back(std::move(a));
    players.push_back(std::move(b));
  }
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) players[i + k].send(ball{hops});
  }
  done.wait();
  const double took = seconds_since(began);
  for (auto& each : players) each.send(player::forget{});
  return static_cast<double>(hops * pairs * balls_per_pair) / took;
}

double pingpong(const setting& s) { return play(s, 1, 1, 4'000'000 / s.divide_by); }
double pairs(const setting& s) {
  return play(s, 25'000 / s.divide_by, 2, 10'000'000 / s.divide_by);
}

// ── wall ──────────────────────────────────────────────────────────────────────────────────────

struct hit {};

class wall;

class wall_player : public troupe::actor {
 public:
  struct meet {
    recipient<hit> wall;
  };
  void on(meet m) { wall_ = std::move(m.wall); }
  void on(hit) { wall_.send(hit{}); }

 private:
  recipient<hit> wall_;
};

class wall : public troupe::actor {
 public:
  wall(std::vector<ref<wall_player>> players, std::uint64_t hits, std::latch& done)
      : players_(std::move(players)), left_(hits), done_(done) {}

  void on(hit) {
    if (left_ == 0) return;
    if (--left_ == 0) {
      done_.count_down();
      return;
    }
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    players_[random_ % players_.size()].send(hit{});
  }

 private:
  std::vector<ref<wall_player>> players_;
  std::uint64_t left_;
  std::latch& done_;
  std::uint64_t random_ = 88172645463325252ULL;
};

double wall_of_players(const setting& s) {
  const std::uint64_t messages = 10'000'000 / s.divide_by;
  const std::size_t count = 50'000 / s.divide_by;
  std::latch done(1);
  troupe::system system({.workers = s.workers});
  std::vector<ref<wall_player>> players;
  for (std::size_t i = 0; i < count; ++i) players.push_back(system.spawn<wall_player>());
  auto middle = system.spawn<wall>(players, messages / 2, done);
  for (auto& each : players) each.send(wall_player::meet{middle});
  const auto began = std::chrono::steady_clock::now();
  for (auto& each : players) each.send(hit{});
  done.wait();
  const double took = seconds_since(began);
  middle.stop_now();
  return static_cast<double>(messages) / took;
}

// ── ring ──────────────────────────────────────────────────────────────────────────────────────

double ring(const setting& s) {
  const std::size_t count = 10'000 / s.divide_by;
  const std::uint64_t hops = 10'000'000 / s.divide_by;
  std::latch done(1);
  troupe::system system({.workers = s.workers});
  std::vector<ref<player>> players;
  for (std::size_t i = 0; i < count; ++i) players.push_back(system.spawn<player>(done));
  for (std::size_t i = 0; i < count; ++i) {
    players[i].send(player::meet{players[(i + 1) % count]});
  }
  const auto began = std::chrono::steady_clock::now();
  players[0].send(ball{hops});
  done.wait();
  const double took = seconds_since(began);
  for (auto& each : players) each.send(player::forget{});
  return static_cast<double>(hops) / took;
}

// ── spawn ─────────────────────────────────────────────────────────────────────────────────────

struct answer {
  std::uint64_t value;
};
struct question {
  recipient<answer> to;
  std::uint64_t value;
};

class short_lived : public troupe::actor {
 public:
  void on(question q) { q.to.send(answer{q.value}); }  // nobody keeps it: it ends by itself
};

struct spawn_all {
  std::uint64_t count;
};

class collector : public troupe::actor {
 public:
  explicit collector(std::latch& done) : done_(done) {}

  void on(spawn_all m) {
    expected_ = m.count;
    for (std::uint64_t i = 0; i < m.count; ++i) {
      system().spawn<short_lived>().send(question{self(this), i});
    }
  }
  void on(answer a) {
    sum_ += a.value;
    if (++answers_ == expected_) done_.count_down();
  }

 private:
  std::latch& done_;
  std::uint64_t expected_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t sum_ = 0;
};

double spawn(const setting& s) {
  const std::uint64_t count = 1'000'000 / s.divide_by;
  std::latch done(1);
  troupe::system system({.workers = s.workers});
  auto counting = system.spawn<collector>(done);
  const auto began = std::chrono::steady_clock::now();
  counting.send(spawn_all{count});
  done.wait();
  return static_cast<double>(count) / seconds_since(began);
}

// ── idle ──────────────────────────────────────────────────────────────────────────────────────

class idler : public troupe::actor {
 public:
  void on(answer a) { state_[0] += a.value; }

 private:
  std::uint64_t state_[2] = {};
};

double idle(const setting& s) {
  const std::size_t count = 1'000'000 / s.divide_by;
  troupe::system system({.workers = s.workers});
  std::vector<ref<idler>> all;
  const std::size_t before = rss_bytes();
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(system.spawn<idler>());
  return static_cast<double>(rss_bytes() - before) / static_cast<double>(count);
}

// ── The program ───────────────────────────────────────────────────────────────────────────────

struct workload {
  std::string_view name;
  double (*run)(const setting&);
  bool is_rate;
};

constexpr workload workloads[] = {
    {"pingpong", pingpong, true}, {"pairs", pairs, true}, {"wall", wall_of_players, true},
    {"ring", ring, true},         {"spawn", spawn, true}, {"idle", idle, false},
};

int usage(std::string_view what, std::string_view value) {
  std::cerr << "workloads_bench: " << what << " '" << value
            << "'; usage: workloads_bench [--smoke] [--workers N] "
               "[pingpong|pairs|wall|ring|spawn|idle]…\n";
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  setting s;
  std::vector<const workload*> chosen;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") {
      s.divide_by = 100;
      continue;
    }
    if (argument == "--workers") {
      const std::string_view n = i + 1 < count ? arguments[++i] : "";
      const auto [end, error] = std::from_chars(n.data(), n.data() + n.size(), s.workers);
      if (error != std::errc{} || end != n.data() + n.size() || s.workers == 0 ||
          s.workers > 1024) {
        return usage("--workers takes a number from 1 to 1024, not", n);
      }
      continue;
    }
    const workload* found = nullptr;
    for (const workload& each : workloads) {
      if (each.name == argument) found = &each;
    }
    if (found == nullptr) return usage("there is no workload", argument);
    chosen.push_back(found);
  }
  if (chosen.empty()) {
    for (const workload& each : workloads) chosen.push_back(&each);
  }
  for (const workload* each : chosen) {
    const double result = each->run(s);
    std::printf("%s %.2f %ld\n", each->name.data(), each->is_rate ? result / 1e6 : result,
                peak_rss_kb());
    std::fflush(stdout);
  }
}
