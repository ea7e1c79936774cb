// SPDX-License-Identifier: Apache-2.0

// The workloads in SObjectizer 5.8.
//
//   workloads DISPATCHER WORKLOAD --workers N [--actors N] [--messages N] [--limit N]
//
// DISPATCHER is thread_pool, with --workers threads, or one_thread, which ignores --workers.
//
// Choices: an actor is an agent in a cooperation of its own, because cooperations are the unit that
// ends. Messages go to direct mailboxes, which have one receiver. The dispatchers have default
// parameters. In ask, the request contains the mailbox for the reply: so_5_extra's synchronous
// requests would block a thread of the dispatcher. In the bounded form of fanin, a message chain
// with a limit is between the producers and the consumer, which is the main thread: an agent's own
// queue has no limit that suspends a sender.

#include <chrono>
#include <cstdint>
#include <so_5/all.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "../latch.hpp"
#include "../measured.hpp"
#include "../program.hpp"

namespace {

using workloads::latch, workloads::seconds_since, workloads::sizes;

// The first argument of the program.
bool has_one_thread = false;

// The environment of the agents.
class place {
 public:
  explicit place(const sizes& s)
      : environment_(own_.environment()),
        binder_(has_one_thread
                    ? so_5::disp::one_thread::make_dispatcher(environment_).binder()
                    : so_5::disp::thread_pool::make_dispatcher(environment_, s.workers).binder()) {}

  so_5::environment_t& environment() const { return environment_; }

  template <class Agent, class... Arguments>
  so_5::mbox_t spawn(Arguments&&... arguments) const {
    so_5::mbox_t where;
    environment_.introduce_coop(binder_, [&](so_5::coop_t& coop) {
      where = coop.make_agent<Agent>(std::forward<Arguments>(arguments)...)->so_direct_mbox();
    });
    return where;
  }

 private:
  so_5::wrapped_env_t own_;
  so_5::environment_t& environment_;
  so_5::disp_binder_shptr_t binder_;
};

struct meet final : so_5::message_t {
  explicit meet(so_5::mbox_t who) : other(std::move(who)) {}
  so_5::mbox_t other;
};

// ── pingpong, pairs, ring ─────────────────────────────────────────────────────────────────────

struct ball final : so_5::message_t {
  explicit ball(std::uint64_t n) : left(n) {}
  std::uint64_t left;
};

class player final : public so_5::agent_t {
 public:
  player(context_t context, latch& done) : agent_t(std::move(context)), done_(done) {}

  void so_define_agent() override {
    so_subscribe_self().event(&player::on_meet).event(&player::on_ball);
  }

 private:
  void on_meet(mhood_t<meet> m) { other_ = m->other; }
  void on_ball(mhood_t<ball> b) {
    if (b->left == 0) {
      done_.count_down();
    } else {
      so_5::send<ball>(other_, b->left - 1);
    }
  }

  latch& done_;
  so_5::mbox_t other_;
};

double play(const sizes& s, std::size_t balls_per_pair) {
  const std::size_t balls = s.actors / 2 * balls_per_pair;
  const std::uint64_t hops = s.messages / balls;
  const place here(s);
  latch done(balls);
  std::vector<so_5::mbox_t> players;
  for (std::size_t i = 0; i < s.actors / 2 * 2; ++i) players.push_back(here.spawn<player>(done));
  for (std::size_t i = 0; i < players.size(); ++i) {
    so_5::send<meet>(players[i], players[i ^ 1]);
  }
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) so_5::send<ball>(players[i + k], hops);
  }
  done.wait();
  return static_cast<double>(hops * balls) / seconds_since(began);
}

double pingpong(const sizes& s) { return play(s, 1); }
double pairs(const sizes& s) { return play(s, 2); }

double ring(const sizes& s) {
  const place here(s);
  latch done(1);
  std::vector<so_5::mbox_t> players;
  for (std::size_t i = 0; i < s.actors; ++i) players.push_back(here.spawn<player>(done));
  for (std::size_t i = 0; i < s.actors; ++i) {
    so_5::send<meet>(players[i], players[(i + 1) % s.actors]);
  }
  const auto began = std::chrono::steady_clock::now();
  so_5::send<ball>(players[0], s.messages);
  done.wait();
  return static_cast<double>(s.messages) / seconds_since(began);
}

// ── ask ───────────────────────────────────────────────────────────────────────────────────────

struct reply final : so_5::message_t {
  explicit reply(std::uint64_t n) : value(n) {}
  std::uint64_t value;
};
struct request final : so_5::message_t {
  request(so_5::mbox_t who, std::uint64_t n) : reply_to(std::move(who)), value(n) {}
  so_5::mbox_t reply_to;
  std::uint64_t value;
};

class responder final : public so_5::agent_t {
 public:
  using so_5::agent_t::agent_t;

  void so_define_agent() override { so_subscribe_self().event(&responder::on_request); }

 private:
  void on_request(mhood_t<request> r) { so_5::send<reply>(r->reply_to, r->value + 1); }
};

// One request at a time, without a time-out.
class requester final : public so_5::agent_t {
 public:
  requester(context_t context, so_5::mbox_t to, std::uint64_t requests, latch& done)
      : agent_t(std::move(context)), to_(std::move(to)), requests_(requests), done_(done) {}

  void so_define_agent() override { so_subscribe_self().event(&requester::on_reply); }

 private:
  void on_reply(mhood_t<reply> r) {
    if (r->value == requests_) {
      done_.count_down();
    } else {
      so_5::send<request>(to_, so_direct_mbox(), r->value);
    }
  }

  const so_5::mbox_t to_;
  const std::uint64_t requests_;
  latch& done_;
};

double ask(const sizes& s) {
  const place here(s);
  latch done(1);
  const so_5::mbox_t from = here.spawn<requester>(here.spawn<responder>(), s.messages, done);
  const auto began = std::chrono::steady_clock::now();
  so_5::send<reply>(from, 0u);
  done.wait();
  return static_cast<double>(s.messages) / seconds_since(began);
}

// ── wall ──────────────────────────────────────────────────────────────────────────────────────

struct hit final : so_5::signal_t {};

class wall_player final : public so_5::agent_t {
 public:
  using so_5::agent_t::agent_t;

  void so_define_agent() override {
    so_subscribe_self().event(&wall_player::on_meet).event(&wall_player::on_hit);
  }

 private:
  void on_meet(mhood_t<meet> m) { wall_ = m->other; }
  void on_hit(mhood_t<hit>) { so_5::send<hit>(wall_); }

  so_5::mbox_t wall_;
};

class wall final : public so_5::agent_t {
 public:
  wall(context_t context, std::vector<so_5::mbox_t> players, std::uint64_t hits, latch& done)
      : agent_t(std::move(context)), players_(std::move(players)), left_(hits), done_(done) {}

  void so_define_agent() override { so_subscribe_self().event(&wall::on_hit); }

 private:
  void on_hit(mhood_t<hit>) {
    if (left_ == 0) return;
    if (--left_ == 0) {
      done_.count_down();
      return;
    }
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    so_5::send<hit>(players_[random_ % players_.size()]);
  }

  std::vector<so_5::mbox_t> players_;
  std::uint64_t left_;
  latch& done_;
  std::uint64_t random_ = 88172645463325252ULL;
};

double wall_of_players(const sizes& s) {
  const place here(s);
  latch done(1);
  std::vector<so_5::mbox_t> players;
  for (std::size_t i = 0; i < s.actors; ++i) players.push_back(here.spawn<wall_player>());
  const so_5::mbox_t middle = here.spawn<wall>(players, s.messages / 2, done);
  for (const auto& each : players) so_5::send<meet>(each, middle);
  const auto began = std::chrono::steady_clock::now();
  for (const auto& each : players) so_5::send<hit>(each);
  done.wait();
  return static_cast<double>(s.messages) / seconds_since(began);
}

// ── fanin ─────────────────────────────────────────────────────────────────────────────────────

struct item final : so_5::message_t {
  item(std::uint64_t p, std::uint64_t n) : producer(p), number(n) {}
  std::uint64_t producer;
  std::uint64_t number;
};

struct step final : so_5::signal_t {};

class consumer final : public so_5::agent_t {
 public:
  consumer(context_t context, std::uint64_t expected, std::uint64_t& sum, latch& done)
      : agent_t(std::move(context)), left_(expected), sum_(sum), done_(done) {}

  void so_define_agent() override { so_subscribe_self().event(&consumer::on_item); }

 private:
  void on_item(mhood_t<item> i) {
    sum_ += i->number;
    if (--left_ == 0) done_.count_down();
  }

  std::uint64_t left_;
  std::uint64_t& sum_;
  latch& done_;
};

// Sends a batch in a turn and then a signal to itself, so that others are scheduled too. Target is
// a mailbox or a message chain.
template <class Target>
class producer final : public so_5::agent_t {
 public:
  producer(context_t context, Target to, std::uint64_t number, std::uint64_t count)
      : agent_t(std::move(context)), to_(std::move(to)), number_(number), count_(count) {}

  void so_define_agent() override { so_subscribe_self().event(&producer::on_step); }

 private:
  void on_step(mhood_t<step>) {
    for (unsigned i = 0; i < 64 && sent_ < count_; ++i) so_5::send<item>(to_, number_, sent_++);
    if (sent_ < count_) so_5::send<step>(*this);
  }

  Target to_;
  std::uint64_t number_;
  std::uint64_t count_;
  std::uint64_t sent_ = 0;
};

// Returns the time of the first message.
template <class Target>
std::chrono::steady_clock::time_point start_producers(const place& here, const Target& to,
                                                      const sizes& s, std::uint64_t each) {
  std::vector<so_5::mbox_t> all;
  for (std::uint64_t i = 0; i < s.actors; ++i) {
    all.push_back(here.spawn<producer<Target>>(to, i, each));
  }
  const auto began = std::chrono::steady_clock::now();
  for (const auto& one : all) so_5::send<step>(one);
  return began;
}

double fanin(const sizes& s) {
  const std::uint64_t each = s.messages / s.actors;
  const std::uint64_t messages = each * s.actors;
  const place here(s);
  std::uint64_t sum = 0;
  std::chrono::steady_clock::time_point began;
  if (s.limit == 0) {
    latch done(1);
    const so_5::mbox_t to = here.spawn<consumer>(messages, sum, done);
    began = start_producers(here, to, s, each);
    done.wait();
  } else {
    const so_5::mchain_t to =
        here.environment().create_mchain(so_5::make_limited_with_waiting_mchain_params(
            s.limit, so_5::mchain_props::memory_usage_t::preallocated,
            so_5::mchain_props::overflow_reaction_t::throw_exception, std::chrono::minutes(10)));
    began = start_producers(here, to, s, each);
    so_5::receive(so_5::from(to).handle_n(messages),
                  [&sum](so_5::mhood_t<item> i) { sum += i->number; });
  }
  const double rate = static_cast<double>(messages) / seconds_since(began);
  if (sum != s.actors * (each * (each - 1) / 2)) throw std::logic_error("a message was lost");
  return rate;
}

// ── spawn ─────────────────────────────────────────────────────────────────────────────────────

struct answer final : so_5::message_t {
  explicit answer(std::uint64_t n) : value(n) {}
  std::uint64_t value;
};
struct question final : so_5::message_t {
  question(so_5::mbox_t who, std::uint64_t n) : to(std::move(who)), value(n) {}
  so_5::mbox_t to;
  std::uint64_t value;
};
struct spawn_more final : so_5::signal_t {};

class short_lived final : public so_5::agent_t {
 public:
  using so_5::agent_t::agent_t;

  void so_define_agent() override { so_subscribe_self().event(&short_lived::on_question); }

 private:
  void on_question(mhood_t<question> q) {
    so_5::send<answer>(q->to, q->value);
    so_deregister_agent_coop_normally();
  }
};

class collector final : public so_5::agent_t {
 public:
  collector(context_t context, const place& here, const sizes& s, std::uint64_t& sum, latch& done)
      : agent_t(std::move(context)),
        here_(here),
        count_(s.actors),
        batch_(s.batch),
        sum_(sum),
        done_(done) {}

  void so_define_agent() override {
    so_subscribe_self().event(&collector::on_spawn_more).event(&collector::on_answer);
  }

 private:
  void on_spawn_more(mhood_t<spawn_more>) {
    for (std::uint64_t i = 0; i < batch_ && spawned_ < count_; ++i) {
      so_5::send<question>(here_.spawn<short_lived>(), so_direct_mbox(), spawned_++);
    }
    if (spawned_ < count_) so_5::send<spawn_more>(*this);
  }
  void on_answer(mhood_t<answer> a) {
    sum_ += a->value;
    if (++answers_ == count_) done_.count_down();
  }

  const place& here_;
  const std::uint64_t count_;
  const std::uint64_t batch_;
  std::uint64_t spawned_ = 0;
  std::uint64_t& sum_;
  latch& done_;
  std::uint64_t answers_ = 0;
};

double spawn(const sizes& s) {
  const place here(s);
  std::uint64_t sum = 0;
  latch done(1);
  const so_5::mbox_t counting = here.spawn<collector>(here, s, sum, done);
  const auto began = std::chrono::steady_clock::now();
  so_5::send<spawn_more>(counting);
  done.wait();
  const double rate = static_cast<double>(s.actors) / seconds_since(began);
  if (sum != s.actors * (s.actors - 1) / 2) throw std::logic_error("a reply is wrong");
  return rate;
}

// ── idle ──────────────────────────────────────────────────────────────────────────────────────

class idler final : public so_5::agent_t {
 public:
  idler(context_t context, latch& started) : agent_t(std::move(context)) { started_ = &started; }

  void so_define_agent() override { so_subscribe_self().event(&idler::on_answer); }
  void so_evt_start() override { started_->count_down(); }

 private:
  void on_answer(mhood_t<answer> a) { state_[0] += a->value; }

  inline static latch* started_ = nullptr;
  std::uint64_t state_[2] = {};
};

double idle(const sizes& s) {
  const place& here = *new place(s);  // the process ends without stopping a million agents
  latch started(s.actors);
  std::vector<so_5::mbox_t> all;
  const std::size_t before = workloads::rss_bytes();
  all.reserve(s.actors);
  for (std::size_t i = 0; i < s.actors; ++i) all.push_back(here.spawn<idler>(started));
  started.wait();  // it is idle when it waits for a message
  return static_cast<double>(workloads::rss_bytes() - before) / static_cast<double>(s.actors);
}

constexpr workloads::workload all[] = {
    {"pingpong", pingpong}, {"ask", ask},     {"pairs", pairs}, {"wall", wall_of_players},
    {"ring", ring},         {"fanin", fanin}, {"spawn", spawn}, {"idle", idle},
};

}  // namespace

int main(int count, char** arguments) {
  const std::string_view dispatcher = count > 1 ? arguments[1] : "";
  has_one_thread = dispatcher == "one_thread";
  // Without the name of a dispatcher, no workload is left, and the usage is printed.
  const bool is_known = has_one_thread || dispatcher == "thread_pool";
  workloads::run(is_known ? count - 1 : 0, arguments + 1, all);
}
