// SPDX-License-Identifier: Apache-2.0

// The workloads in acto.
//
// Choices: handlers are lambdas, which all forms of its interface accept. In ask, the reply goes to
// the sender of the request, which acto passes to each handler. acto chooses its number of threads:
// --workers has no effect.

#include <acto.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../latch.hpp"
#include "../measured.hpp"
#include "../program.hpp"

namespace {

using acto::actor_ref;
using workloads::latch, workloads::seconds_since, workloads::sizes;

struct meet {
  actor_ref other;
};

// ── pingpong, pairs, ring ─────────────────────────────────────────────────────────────────────

struct ball {
  std::uint64_t left;
};

class player : public acto::actor {
 public:
  explicit player(latch& done) {
    handler<meet>([this](actor_ref, const meet& m) { other_ = m.other; });
    handler<ball>([this, &done](actor_ref, const ball& b) {
      if (b.left == 0) {
        done.count_down();
      } else {
        other_.send(ball{b.left - 1});
      }
    });
  }

 private:
  actor_ref other_;
};

double play(const sizes& s, std::size_t balls_per_pair) {
  const std::size_t balls = s.actors / 2 * balls_per_pair;
  const std::uint64_t hops = s.messages / balls;
  latch done(balls);
  std::vector<actor_ref> players;
  for (std::size_t i = 0; i < s.actors / 2 * 2; ++i) players.push_back(acto::spawn<player>(done));
  for (std::size_t i = 0; i < players.size(); ++i) players[i].send(meet{players[i ^ 1]});
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) players[i + k].send(ball{hops});
  }
  done.wait();
  const double rate = static_cast<double>(hops * balls) / seconds_since(began);
  for (const auto& each : players) acto::destroy(each);
  return rate;
}

double pingpong(const sizes& s) { return play(s, 1); }
double pairs(const sizes& s) { return play(s, 2); }

double ring(const sizes& s) {
  latch done(1);
  std::vector<actor_ref> players;
  for (std::size_t i = 0; i < s.actors; ++i) players.push_back(acto::spawn<player>(done));
  for (std::size_t i = 0; i < s.actors; ++i) players[i].send(meet{players[(i + 1) % s.actors]});
  const auto began = std::chrono::steady_clock::now();
  players[0].send(ball{s.messages});
  done.wait();
  const double rate = static_cast<double>(s.messages) / seconds_since(began);
  for (const auto& each : players) acto::destroy(each);
  return rate;
}

// ── ask ───────────────────────────────────────────────────────────────────────────────────────

struct request {
  std::uint64_t value;
};
struct reply {
  std::uint64_t value;
};

class responder : public acto::actor {
 public:
  responder() {
    handler<request>([](actor_ref sender, const request& r) { sender.send(reply{r.value + 1}); });
  }
};

// One request at a time, without a time-out.
class requester : public acto::actor {
 public:
  requester(std::uint64_t requests, latch& done, actor_ref to) : to_(std::move(to)) {
    handler<reply>([this, requests, &done](actor_ref, const reply& r) {
      if (r.value == requests) {
        done.count_down();
      } else {
        to_.send(request{r.value});
      }
    });
  }

 private:
  const actor_ref to_;
};

double ask(const sizes& s) {
  latch done(1);
  const actor_ref to = acto::spawn<responder>();
  const actor_ref from = acto::spawn<requester>(s.messages, done, to);
  const auto began = std::chrono::steady_clock::now();
  from.send(reply{0});
  done.wait();
  return static_cast<double>(s.messages) / seconds_since(began);
}

// ── wall ──────────────────────────────────────────────────────────────────────────────────────

struct hit {};

class wall_player : public acto::actor {
 public:
  wall_player() {
    handler<meet>([this](actor_ref, const meet& m) { wall_ = m.other; });
    handler<hit>([this](actor_ref, const hit&) { wall_.send(hit{}); });
  }

 private:
  actor_ref wall_;
};

class wall : public acto::actor {
 public:
  wall(std::vector<actor_ref> players, std::uint64_t hits, latch& done)
      : players_(std::move(players)), left_(hits) {
    handler<hit>([this, &done](actor_ref, const hit&) {
      if (left_ == 0) return;
      if (--left_ == 0) {
        done.count_down();
        return;
      }
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      players_[random_ % players_.size()].send(hit{});
    });
  }

 private:
  std::vector<actor_ref> players_;
  std::uint64_t left_;
  std::uint64_t random_ = 88172645463325252ULL;
};

double wall_of_players(const sizes& s) {
  latch done(1);
  std::vector<actor_ref> players;
  for (std::size_t i = 0; i < s.actors; ++i) players.push_back(acto::spawn<wall_player>());
  const actor_ref middle = acto::spawn<wall>(players, s.messages / 2, done);
  for (auto& each : players) each.send(meet{middle});
  const auto began = std::chrono::steady_clock::now();
  for (auto& each : players) each.send(hit{});
  done.wait();
  const double rate = static_cast<double>(s.messages) / seconds_since(began);
  for (const auto& each : players) acto::destroy(each);
  acto::destroy(middle);
  return rate;
}

// ── fanin ─────────────────────────────────────────────────────────────────────────────────────

struct item {
  std::uint64_t producer;
  std::uint64_t number;
};

struct step {};

class consumer : public acto::actor {
 public:
  consumer(std::uint64_t expected, std::uint64_t& sum, latch& done) : left_(expected) {
    handler<item>([this, &sum, &done](actor_ref, const item& i) {
      sum += i.number;
      if (--left_ == 0) done.count_down();
    });
  }

 private:
  std::uint64_t left_;
};

// Sends a batch in a turn and then a message to itself, so that others are scheduled too. The
// consumer is the last parameter, because spawn() inserts a reference to the new actor's parent
// before it.
class producer : public acto::actor {
 public:
  producer(std::uint64_t number, std::uint64_t count, actor_ref to) : to_(std::move(to)) {
    handler<step>([this, number, count](actor_ref, const step&) {
      for (unsigned i = 0; i < 64 && sent_ < count; ++i) to_.send(item{number, sent_++});
      if (sent_ < count) self().send(step{});
    });
  }

 private:
  actor_ref to_;
  std::uint64_t sent_ = 0;
};

double fanin(const sizes& s) {
  if (s.limit != 0) throw std::invalid_argument("acto's mailboxes have no limit");
  const std::uint64_t each = s.messages / s.actors;
  std::uint64_t sum = 0;
  latch done(1);
  const actor_ref to = acto::spawn<consumer>(each * s.actors, sum, done);
  std::vector<actor_ref> all;
  for (std::uint64_t i = 0; i < s.actors; ++i) all.push_back(acto::spawn<producer>(i, each, to));
  const auto began = std::chrono::steady_clock::now();
  for (auto& one : all) one.send(step{});
  done.wait();
  const double rate = static_cast<double>(each * s.actors) / seconds_since(began);
  if (sum != s.actors * (each * (each - 1) / 2)) throw std::logic_error("a message was lost");
  return rate;
}

// ── spawn ─────────────────────────────────────────────────────────────────────────────────────

struct answer {
  std::uint64_t value;
};
struct question {
  actor_ref to;
  std::uint64_t value;
};
struct spawn_more {};

class short_lived : public acto::actor {
 public:
  short_lived() {
    handler<question>([this](actor_ref, const question& q) {
      q.to.send(answer{q.value});
      die();
    });
  }
};

class collector : public acto::actor {
 public:
  collector(const sizes& s, std::uint64_t& sum, latch& done) {
    const std::uint64_t count = s.actors;
    handler<spawn_more>([this, count, batch = s.batch](actor_ref, const spawn_more& more) {
      for (std::uint64_t i = 0; i < batch && spawned_ < count; ++i) {
        acto::spawn<short_lived>().send(question{self(), spawned_++});
      }
      if (spawned_ < count) self().send(more);
    });
    handler<answer>([this, count, &sum, &done](actor_ref, const answer& a) {
      sum += a.value;
      if (++answers_ == count) done.count_down();
    });
  }

 private:
  std::uint64_t spawned_ = 0;
  std::uint64_t answers_ = 0;
};

double spawn(const sizes& s) {
  std::uint64_t sum = 0;
  latch done(1);
  const actor_ref counting = acto::spawn<collector>(s, sum, done);
  const auto began = std::chrono::steady_clock::now();
  counting.send(spawn_more{});
  done.wait();
  const double rate = static_cast<double>(s.actors) / seconds_since(began);
  if (sum != s.actors * (s.actors - 1) / 2) throw std::logic_error("a reply is wrong");
  return rate;
}

// ── idle ──────────────────────────────────────────────────────────────────────────────────────

class idler : public acto::actor {
 public:
  idler() {
    handler<answer>([this](actor_ref, const answer& a) { state_[0] += a.value; });
  }

 private:
  std::uint64_t state_[2] = {};
};

double idle(const sizes& s) {
  std::vector<actor_ref> all;
  const std::size_t before = workloads::rss_bytes();
  all.reserve(s.actors);
  for (std::size_t i = 0; i < s.actors; ++i) all.push_back(acto::spawn<idler>());
  return static_cast<double>(workloads::rss_bytes() - before) / static_cast<double>(s.actors);
}

constexpr workloads::workload all[] = {
    {"pingpong", pingpong}, {"ask", ask},     {"pairs", pairs}, {"wall", wall_of_players},
    {"ring", ring},         {"fanin", fanin}, {"spawn", spawn}, {"idle", idle},
};

}  // namespace

int main(int count, char** arguments) { workloads::run(count, arguments, all); }
