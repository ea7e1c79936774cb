// SPDX-License-Identifier: Apache-2.0

// The workloads of src/actor/workloads_bench.cpp on the least that could be done (sketch.hpp): how far
// below us the floor is. It is no way to build an actor library: no references, failures, counters, timers,
// limits or shutdown.
//
//   workloads WORKLOAD [--smoke] [--workers N]
//
// One line: name, million messages (actors) a second, peak resident memory in kB; for idle the
// bytes that one actor with one pointer to it costs instead of a rate.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "sketch.hpp"

namespace {

using namespace sketch;

// ── pingpong, pairs, ring ─────────────────────────────────────────────────────────────────────

std::uint64_t divide_by = 1;  // 100 with --smoke

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

struct player final : actor {
  explicit player(std::latch& d) : done(d) {}

  bool on(message m) override {
    if (m.value == 0) {
      done.count_down();
    } else {
      send(other, {m.value - 1, nullptr});
    }
    return true;
  }

  std::latch& done;
  actor* other = nullptr;
};

double play(std::size_t pairs, std::size_t balls_per_pair, std::uint64_t messages) {
  const std::uint64_t hops = messages / (pairs * balls_per_pair);
  std::latch done(static_cast<std::ptrdiff_t>(pairs * balls_per_pair));
  std::vector<player*> players;
  for (std::size_t i = 0; i < 2 * pairs; ++i) players.push_back(new player(done));
  for (std::size_t i = 0; i < 2 * pairs; ++i) players[i]->other = players[i ^ 1];
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) send(players[i + k], {hops, nullptr});
  }
  done.wait();
  return static_cast<double>(hops * pairs * balls_per_pair) / seconds_since(began);
}

double pingpong() { return play(1, 1, 4'000'000 / divide_by); }
double pairs() { return play(25'000 / divide_by, 2, 10'000'000 / divide_by); }

double ring_of_players() {
  const std::size_t count = 10'000 / divide_by;
  const std::uint64_t hops = 10'000'000 / divide_by;
  std::latch done(1);
  std::vector<player*> players;
  for (std::size_t i = 0; i < count; ++i) players.push_back(new player(done));
  for (std::size_t i = 0; i < count; ++i) players[i]->other = players[(i + 1) % count];
  const auto began = std::chrono::steady_clock::now();
  send(players[0], {hops, nullptr});
  done.wait();
  return static_cast<double>(hops) / seconds_since(began);
}

// ── wall ──────────────────────────────────────────────────────────────────────────────────────

struct wall_player final : actor {
  bool on(message m) override {
    send(wall, m);
    return true;
  }

  actor* wall = nullptr;
};

struct wall final : actor {
  wall(std::vector<wall_player*> all, std::uint64_t hits, std::latch& d)
      : players(std::move(all)), left(hits), done(d) {}

  bool on(message m) override {
    if (left == 0) return true;
    if (--left == 0) {
      done.count_down();
      return true;
    }
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    send(players[random % players.size()], m);
    return true;
  }

  std::vector<wall_player*> players;
  std::uint64_t left;
  std::latch& done;
  std::uint64_t random = 88172645463325252ULL;
};

double wall_of_players() {
  const std::uint64_t messages = 10'000'000 / divide_by;
  std::latch done(1);
  std::vector<wall_player*> players;
  for (std::size_t i = 0; i < 50'000 / divide_by; ++i) players.push_back(new wall_player);
  auto* middle = new wall(players, messages / 2, done);
  for (wall_player* each : players) each->wall = middle;
  const auto began = std::chrono::steady_clock::now();
  for (wall_player* each : players) send(each, {});
  done.wait();
  return static_cast<double>(messages) / seconds_since(began);
}

// ── spawn ─────────────────────────────────────────────────────────────────────────────────────

struct short_lived final : actor {
  bool on(message m) override {
    send(m.to_answer, m);
    delete this;
    return false;
  }

  static void* operator new(std::size_t) { return nodes.take(); }
  static void operator delete(void* memory) { nodes.give(::new (memory) node); }
};
static_assert(sizeof(short_lived) <= sizeof(node));

struct collector final : actor {
  collector(std::uint64_t n, std::latch& d) : count(n), done(d) {}

  bool on(message m) override {
    if (m.to_answer == nullptr) {
      for (std::uint64_t i = 0; i < count; ++i) send(new short_lived, {i, this});
    } else {
      sum += m.value;
      if (++answers == count) done.count_down();
    }
    return true;
  }

  std::uint64_t count;
  std::latch& done;
  std::uint64_t answers = 0;
  std::uint64_t sum = 0;
};

double spawn() {
  const std::uint64_t count = 1'000'000 / divide_by;
  std::latch done(1);
  auto* counting = new collector(count, done);
  const auto began = std::chrono::steady_clock::now();
  send(counting, {});
  done.wait();
  return static_cast<double>(count) / seconds_since(began);
}

// ── idle ──────────────────────────────────────────────────────────────────────────────────────

std::size_t rss_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

struct idler final : actor {
  bool on(message m) override {
    state[0] += m.value;
    return true;
  }

  std::uint64_t state[2] = {};
};

double idle() {
  const std::size_t count = 1'000'000 / divide_by;
  std::vector<idler*> all;
  const std::size_t before = rss_bytes();
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(new idler);
  return static_cast<double>(rss_bytes() - before) / static_cast<double>(count);
}

// ── The program ───────────────────────────────────────────────────────────────────────────────

long peak_rss_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

struct workload {
  std::string_view name;
  double (*run)();
};

constexpr workload workloads[] = {
    {"pingpong", pingpong},    {"pairs", pairs}, {"wall", wall_of_players},
    {"ring", ring_of_players}, {"spawn", spawn}, {"idle", idle},
};

int usage() {
  std::fputs("usage: workloads pingpong|pairs|wall|ring|spawn|idle [--smoke] [--workers 1..1024]\n",
             stderr);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const workload* chosen = nullptr;
  unsigned threads = 2;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") {
      divide_by = 100;
    } else if (argument == "--workers") {
      const std::string_view n = i + 1 < count ? arguments[++i] : "";
      const auto [end, error] = std::from_chars(n.data(), n.data() + n.size(), threads);
      if (error != std::errc{} || end != n.data() + n.size() || threads == 0 || threads > 1024) {
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

  start(threads);
  const double value = chosen->run();
  std::printf("%s %.2f %ld\n", chosen->name.data(), chosen->name == "idle" ? value : value / 1e6,
              peak_rss_kb());
  std::fflush(stdout);
  std::_Exit(0);  // the workers never end
}
