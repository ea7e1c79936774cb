// SPDX-License-Identifier: Apache-2.0

// The workloads in CAF 0.17 and 1.1: event-based actors on its scheduler. Both versions run the
// same code: only the start, sending, requests and the names of settings differ.
//
// Choices: messages are integers, which CAF supports without registration; 0.17 keeps them inside
// the element of the mailbox. Actors are classes, the form with the least indirection. The policy
// is the default, work stealing, except for wall and spawn, where one worker has tens of thousands
// of actors waiting: to steal one, CAF 0.17 traverses the whole queue under its locks, and the
// program seems to hang. These two use work sharing, in both versions.

#include <caf/all.hpp>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../latch.hpp"
#include "../measured.hpp"
#include "../program.hpp"

namespace {

using workloads::latch, workloads::seconds_since, workloads::sizes;

// ── The two versions ──────────────────────────────────────────────────────────────────────────

#if CAF_MAJOR_VERSION >= 1

// Sends without a sender.
template <class... Arguments>
void tell(const caf::actor& to, Arguments... arguments) {
  caf::anon_mail(std::move(arguments)...).send(to);
}

template <class Self, class To, class... Arguments>
void send_from(Self* self, const To& to, Arguments... arguments) {
  self->mail(std::move(arguments)...).send(to);
}

template <class Self, class Callback>
void ask_from(Self* self, const caf::actor& to, std::uint64_t value, Callback on_reply) {
  self->mail(value).request(to, std::chrono::seconds(1)).then(std::move(on_reply));
}

void init_caf() { caf::core::init_global_meta_objects(); }
constexpr const char* setting_of_threads = "caf.scheduler.max-threads";
void share_work(caf::actor_system_config& config) { config.set("caf.scheduler.policy", "sharing"); }

#else

template <class... Arguments>
void tell(const caf::actor& to, Arguments... arguments) {
  caf::anon_send(to, std::move(arguments)...);
}

template <class Self, class To, class... Arguments>
void send_from(Self* self, const To& to, Arguments... arguments) {
  self->send(to, std::move(arguments)...);
}

template <class Self, class Callback>
void ask_from(Self* self, const caf::actor& to, std::uint64_t value, Callback on_reply) {
  self->request(to, std::chrono::seconds(1), value).then(std::move(on_reply));
}

void init_caf() {}
constexpr const char* setting_of_threads = "scheduler.max-threads";
void share_work(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("sharing"));
}

#endif

// ── pingpong, pairs, ring ─────────────────────────────────────────────────────────────────────

class player : public caf::event_based_actor {
 public:
  player(caf::actor_config& config, latch& done) : event_based_actor(config), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](std::uint64_t left) {
              if (left == 0) {
                done_.count_down();
              } else {
                send_from(this, other_, left - 1);
              }
            },
            [this](const caf::actor& other) { other_ = other; }};
  }

 private:
  latch& done_;
  caf::actor other_;
};

// Actors that refer to each other would never terminate.
void kill_all(const std::vector<caf::actor>& all) {
  for (const auto& each : all) caf::anon_send_exit(each, caf::exit_reason::kill);
}

double play(caf::actor_system& system, const sizes& s, std::size_t balls_per_pair) {
  const std::size_t balls = s.actors / 2 * balls_per_pair;
  const std::uint64_t hops = s.messages / balls;
  latch done(balls);
  std::vector<caf::actor> players;
  for (std::size_t i = 0; i < s.actors / 2; ++i) {
    players.push_back(system.spawn<player>(done));
    players.push_back(system.spawn<player>(done));
    tell(players[2 * i], players[2 * i + 1]);
    tell(players[2 * i + 1], players[2 * i]);
  }
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) tell(players[i + k], hops);
  }
  done.wait();
  const double rate = static_cast<double>(hops * balls) / seconds_since(began);
  kill_all(players);
  return rate;
}

double pingpong(caf::actor_system& system, const sizes& s) { return play(system, s, 1); }
double pairs(caf::actor_system& system, const sizes& s) { return play(system, s, 2); }

double ring(caf::actor_system& system, const sizes& s) {
  latch done(1);
  std::vector<caf::actor> players;
  for (std::size_t i = 0; i < s.actors; ++i) players.push_back(system.spawn<player>(done));
  for (std::size_t i = 0; i < s.actors; ++i) {
    tell(players[i], players[(i + 1) % s.actors]);
  }
  const auto began = std::chrono::steady_clock::now();
  tell(players[0], s.messages);
  done.wait();
  const double rate = static_cast<double>(s.messages) / seconds_since(began);
  kill_all(players);
  return rate;
}

// ── ask ───────────────────────────────────────────────────────────────────────────────────────

caf::behavior teller() {
  return {[](std::uint64_t value) { return value + 1; }};
}

// One request at a time, each with a time-out.
class client : public caf::event_based_actor {
 public:
  client(caf::actor_config& config, caf::actor to, std::uint64_t questions, latch& done)
      : event_based_actor(config), to_(std::move(to)), questions_(questions), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](caf::unit_t) { ask(0); }};
  }

 private:
  void ask(std::uint64_t value) {
    if (value == questions_) {
      done_.count_down();
      return;
    }
    ask_from(this, to_, value, [this](std::uint64_t answer) { ask(answer); });
  }

  caf::actor to_;
  const std::uint64_t questions_;
  latch& done_;
};

double ask(caf::actor_system& system, const sizes& s) {
  latch done(1);
  const caf::actor from = system.spawn<client>(system.spawn(teller), s.messages, done);
  const auto began = std::chrono::steady_clock::now();
  tell(from, caf::unit);
  done.wait();
  return static_cast<double>(s.messages) / seconds_since(began);
}

// ── wall ──────────────────────────────────────────────────────────────────────────────────────

using hit = caf::unit_t;

class wall_player : public caf::event_based_actor {
 public:
  using event_based_actor::event_based_actor;

  caf::behavior make_behavior() override {
    return {[this](hit h) { send_from(this, wall_, h); },
            [this](const caf::actor& wall) { wall_ = wall; }};
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
      send_from(this, players_[random_ % players_.size()], h);
    }};
  }

 private:
  std::vector<caf::actor> players_;
  std::uint64_t left_;
  latch& done_;
  std::uint64_t random_ = 88172645463325252ULL;
};

double wall_of_players(caf::actor_system& system, const sizes& s) {
  latch done(1);
  std::vector<caf::actor> players;
  for (std::size_t i = 0; i < s.actors; ++i) players.push_back(system.spawn<wall_player>());
  const caf::actor middle = system.spawn<wall>(players, s.messages / 2, done);
  for (auto& each : players) tell(each, middle);
  const auto began = std::chrono::steady_clock::now();
  for (auto& each : players) tell(each, hit{});
  done.wait();
  const double rate = static_cast<double>(s.messages) / seconds_since(began);
  kill_all(players);
  kill_all({middle});
  return rate;
}

// ── fanin ─────────────────────────────────────────────────────────────────────────────────────

// A message consists of the producer's number and its own: two integers.
class consumer : public caf::event_based_actor {
 public:
  consumer(caf::actor_config& config, std::uint64_t expected, std::uint64_t& sum, latch& done)
      : event_based_actor(config), left_(expected), sum_(sum), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](std::uint64_t, std::uint64_t number) {
      sum_ += number;
      if (--left_ == 0) done_.count_down();
    }};
  }

 private:
  std::uint64_t left_;
  std::uint64_t& sum_;
  latch& done_;
};

// Sends a batch in a turn and then a message to itself, so that others are scheduled too.
class producer : public caf::event_based_actor {
 public:
  producer(caf::actor_config& config, caf::actor to, std::uint64_t number, std::uint64_t count)
      : event_based_actor(config), to_(std::move(to)), number_(number), count_(count) {}

  caf::behavior make_behavior() override {
    return {[this](caf::unit_t step) {
      for (unsigned i = 0; i < 64 && sent_ < count_; ++i) send_from(this, to_, number_, sent_++);
      if (sent_ < count_) send_from(this, this, step);
    }};
  }

 private:
  caf::actor to_;
  std::uint64_t number_;
  std::uint64_t count_;
  std::uint64_t sent_ = 0;
};

double fanin(caf::actor_system& system, const sizes& s) {
  if (s.limit != 0) throw std::invalid_argument("CAF's mailboxes have no limit");
  const std::uint64_t each = s.messages / s.actors;
  std::uint64_t sum = 0;
  latch done(1);
  const caf::actor to = system.spawn<consumer>(each * s.actors, sum, done);
  std::vector<caf::actor> all;
  for (std::uint64_t i = 0; i < s.actors; ++i) {
    all.push_back(system.spawn<producer>(to, i, each));
  }
  const auto began = std::chrono::steady_clock::now();
  for (auto& one : all) tell(one, caf::unit);
  done.wait();
  const double rate = static_cast<double>(each * s.actors) / seconds_since(began);
  if (sum != s.actors * (each * (each - 1) / 2)) throw std::logic_error("a message was lost");
  return rate;
}

// ── spawn ─────────────────────────────────────────────────────────────────────────────────────

class short_lived : public caf::event_based_actor {
 public:
  using event_based_actor::event_based_actor;

  // The result of a handler goes to the sender. No reference keeps the actor, so it terminates by
  // itself.
  caf::behavior make_behavior() override {
    return {[](std::uint64_t value) { return value; }};
  }
};

class collector : public caf::event_based_actor {
 public:
  collector(caf::actor_config& config, const sizes& s, latch& done)
      : event_based_actor(config), count_(s.actors), batch_(s.batch), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](caf::unit_t more) {
              for (std::uint64_t i = 0; i < batch_ && spawned_ < count_; ++i) {
                send_from(this, spawn<short_lived>(), spawned_++);
              }
              if (spawned_ < count_) send_from(this, this, more);
            },
            [this](std::uint64_t value) {
              sum_ += value;
              if (++answers_ == count_) done_.count_down();
            }};
  }

 private:
  const std::uint64_t count_;
  const std::uint64_t batch_;
  latch& done_;
  std::uint64_t spawned_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t sum_ = 0;
};

double spawn(caf::actor_system& system, const sizes& s) {
  latch done(1);
  const caf::actor counting = system.spawn<collector>(s, done);
  const auto began = std::chrono::steady_clock::now();
  tell(counting, caf::unit);
  done.wait();
  return static_cast<double>(s.actors) / seconds_since(began);
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

double idle(caf::actor_system& system, const sizes& s) {
  latch started(s.actors);
  std::vector<caf::actor> all;
  const std::size_t before = workloads::rss_bytes();
  all.reserve(s.actors);
  for (std::size_t i = 0; i < s.actors; ++i) all.push_back(system.spawn<idler>(started));
  started.wait();  // it is idle when it waits for a message
  return static_cast<double>(workloads::rss_bytes() - before) / static_cast<double>(s.actors);
}

// ── The program ───────────────────────────────────────────────────────────────────────────────

enum class policy { stealing, sharing };

template <double (*Run)(caf::actor_system&, const sizes&), policy Policy = policy::stealing>
double started(const sizes& s) {
  // One for both runs. Never destroyed: the destructor would wait for actors that have not yet
  // terminated.
  static caf::actor_system* system = nullptr;
  if (system == nullptr) {
    init_caf();
    caf::actor_system_config& config = *new caf::actor_system_config;
    config.set(setting_of_threads, s.workers);
    if (Policy == policy::sharing) share_work(config);
    system = new caf::actor_system(config);
  }
  return Run(*system, s);
}

constexpr workloads::workload all[] = {
    {"pingpong", started<pingpong>},
    {"ask", started<ask>},
    {"pairs", started<pairs>},
    {"wall", started<wall_of_players, policy::sharing>},
    {"ring", started<ring>},
    {"fanin", started<fanin>},
    {"spawn", started<spawn, policy::sharing>},
    {"idle", started<idle>},
};

}  // namespace

int main(int count, char** arguments) { workloads::run(count, arguments, all); }
