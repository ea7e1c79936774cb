// SPDX-License-Identifier: Apache-2.0

// The workloads on a minimal implementation (sketch.hpp): the lower bound of the cost. It is not a
// way to build an actor library: it has no references, failures, counters, timers, limits or
// shutdown.

#include <chrono>
#include <cstdint>
#include <latch>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../measured.hpp"
#include "../program.hpp"
#include "sketch.hpp"

namespace {

using namespace sketch;
using workloads::seconds_since, workloads::sizes;

// ── pingpong, pairs, ring ─────────────────────────────────────────────────────────────────────

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

double play(const sizes& s, std::size_t balls_per_pair) {
  const std::size_t balls = s.actors / 2 * balls_per_pair;
  const std::uint64_t hops = s.messages / balls;
  std::latch done(static_cast<std::ptrdiff_t>(balls));
  std::vector<player*> players;
  for (std::size_t i = 0; i < s.actors / 2 * 2; ++i) players.push_back(new player(done));
  for (std::size_t i = 0; i < players.size(); ++i) players[i]->other = players[i ^ 1];
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) send(players[i + k], {hops, nullptr});
  }
  done.wait();
  return static_cast<double>(hops * balls) / seconds_since(began);
}

double pingpong(const sizes& s) { return play(s, 1); }
double pairs(const sizes& s) { return play(s, 2); }

double ring_of_players(const sizes& s) {
  std::latch done(1);
  std::vector<player*> players;
  for (std::size_t i = 0; i < s.actors; ++i) players.push_back(new player(done));
  for (std::size_t i = 0; i < s.actors; ++i) players[i]->other = players[(i + 1) % s.actors];
  const auto began = std::chrono::steady_clock::now();
  send(players[0], {s.messages, nullptr});
  done.wait();
  return static_cast<double>(s.messages) / seconds_since(began);
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

double wall_of_players(const sizes& s) {
  std::latch done(1);
  std::vector<wall_player*> players;
  for (std::size_t i = 0; i < s.actors; ++i) players.push_back(new wall_player);
  auto* middle = new wall(players, s.messages / 2, done);
  for (wall_player* each : players) each->wall = middle;
  const auto began = std::chrono::steady_clock::now();
  for (wall_player* each : players) send(each, {});
  done.wait();
  return static_cast<double>(s.messages) / seconds_since(began);
}

// ── fanin ─────────────────────────────────────────────────────────────────────────────────────

struct consumer final : actor {
  consumer(std::uint64_t expected, std::latch& d) : left(expected), done(d) {}

  bool on(message m) override {
    sum += m.value;
    if (--left == 0) done.count_down();
    return true;
  }

  std::uint64_t left;
  std::latch& done;
  std::uint64_t sum = 0;
};

// Sends a batch in a turn and then a message to itself, so that others are scheduled too.
struct producer final : actor {
  producer(actor* receiver, std::uint64_t n) : to(receiver), count(n) {}

  bool on(message) override {
    for (unsigned i = 0; i < 64 && sent < count; ++i) send(to, {sent++, this});
    if (sent < count) send(this, {});
    return true;
  }

  actor* to;
  std::uint64_t count;
  std::uint64_t sent = 0;
};

double fanin(const sizes& s) {
  if (s.limit != 0) throw std::invalid_argument("the sketch does not support --limit");
  const std::uint64_t each = s.messages / s.actors;
  std::latch done(1);
  auto* to = new consumer(each * s.actors, done);
  std::vector<producer*> all;
  for (std::uint64_t i = 0; i < s.actors; ++i) all.push_back(new producer(to, each));
  const auto began = std::chrono::steady_clock::now();
  for (producer* one : all) send(one, {});
  done.wait();
  const double rate = static_cast<double>(each * s.actors) / seconds_since(began);
  if (to->sum != s.actors * (each * (each - 1) / 2)) throw std::logic_error("a message was lost");
  return rate;
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
  collector(const sizes& s, std::latch& d) : count(s.actors), batch(s.batch), done(d) {}

  bool on(message m) override {
    if (m.to_answer == nullptr) {
      for (std::uint64_t i = 0; i < batch && spawned < count; ++i) {
        send(new short_lived, {spawned++, this});
      }
      if (spawned < count) send(this, {});
    } else {
      sum += m.value;
      if (++answers == count) done.count_down();
    }
    return true;
  }

  const std::uint64_t count;
  const std::uint64_t batch;
  std::latch& done;
  std::uint64_t spawned = 0;
  std::uint64_t answers = 0;
  std::uint64_t sum = 0;
};

double spawn(const sizes& s) {
  std::latch done(1);
  auto* counting = new collector(s, done);
  const auto began = std::chrono::steady_clock::now();
  send(counting, {});
  done.wait();
  return static_cast<double>(s.actors) / seconds_since(began);
}

// ── idle ──────────────────────────────────────────────────────────────────────────────────────

struct idler final : actor {
  bool on(message m) override {
    state[0] += m.value;
    return true;
  }

  std::uint64_t state[2] = {};
};

double idle(const sizes& s) {
  std::vector<idler*> all;
  const std::size_t before = workloads::rss_bytes();
  all.reserve(s.actors);
  for (std::size_t i = 0; i < s.actors; ++i) all.push_back(new idler);
  return static_cast<double>(workloads::rss_bytes() - before) / static_cast<double>(s.actors);
}

// ── The program ───────────────────────────────────────────────────────────────────────────────

template <double (*Run)(const sizes&)>
double started(const sizes& s) {
  // The workers serve both runs. The actors of the first run stay: nothing frees them.
  static bool has_started = false;
  if (!has_started) start(static_cast<unsigned>(s.workers));
  has_started = true;
  return Run(s);
}

constexpr workloads::workload all[] = {
    {"pingpong", started<pingpong>},
    {"pairs", started<pairs>},
    {"wall", started<wall_of_players>},
    {"ring", started<ring_of_players>},
    {"fanin", started<fanin>},
    {"spawn", started<spawn>},
    {"idle", started<idle>},
};

}  // namespace

int main(int count, char** arguments) { workloads::run(count, arguments, all); }
