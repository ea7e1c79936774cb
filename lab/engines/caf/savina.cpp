// SPDX-License-Identifier: Apache-2.0

// The Savina workloads in CAF 0.17: event-based actors on its scheduler.
//
// Choices: actors are classes, the form with the least indirection. A message is a tag (an atom)
// and values, which CAF keeps inside the element of the mailbox. A reply is the result of a
// handler, which CAF sends to the sender as a message. Actors that are spawned in great numbers are
// initialised by their first message (lazy_init). The policy is the default, work stealing: with
// work sharing, most of these workloads are slower and none is faster by more than the noise.
//
// Only the first section depends on how a version of CAF sends.

#include <atomic>
#include <caf/all.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../latch.hpp"
#include "../measured.hpp"
#include "../savina.hpp"
#include "../savina_program.hpp"

namespace {

using namespace workloads::savina;
using workloads::latch, workloads::seconds_since;
using steady = std::chrono::steady_clock;
using number = std::uint64_t;

struct queens_work {
  board queens;
  std::uint32_t rows;
};

struct neighbours {
  std::shared_ptr<const std::vector<caf::actor>> all;
};

}  // namespace

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(queens_work)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(neighbours)

namespace {

// ── Sending ───────────────────────────────────────────────────────────────────────────────────

using begin_tag = caf::atom_constant<caf::atom("begin")>;
using meet_tag = caf::atom_constant<caf::atom("meet")>;
using change_tag = caf::atom_constant<caf::atom("change")>;
using ping_tag = caf::atom_constant<caf::atom("ping")>;
using pong_tag = caf::atom_constant<caf::atom("pong")>;
using next_tag = caf::atom_constant<caf::atom("next")>;
using last_tag = caf::atom_constant<caf::atom("last")>;
using done_tag = caf::atom_constant<caf::atom("done")>;
using leave_tag = caf::atom_constant<caf::atom("leave")>;
using debit_tag = caf::atom_constant<caf::atom("debit")>;

class actor : public caf::event_based_actor {
 public:
  using event_based_actor::event_based_actor;

 protected:
  template <class... Parts>
  void tell(const caf::actor& to, const Parts&... parts) {
    send(to, parts...);
  }
  caf::actor sender() { return caf::actor_cast<caf::actor>(current_sender()); }
  caf::actor self() { return this; }
};

template <class... Parts>
void tell(const caf::actor& to, const Parts&... parts) {
  caf::anon_send(to, parts...);
}

// ── counting ──────────────────────────────────────────────────────────────────────────────────

class counter : public actor {
 public:
  using actor::actor;

  caf::behavior make_behavior() override {
    return {[this](next_tag) { ++count_; }, [this](last_tag) { return count_; }};
  }

 private:
  number count_ = 0;
};

// Sends everything in one turn, as published.
class counting_producer : public actor {
 public:
  counting_producer(caf::actor_config& config, caf::actor to, number messages, number& found,
                    latch& done)
      : actor(config), to_(std::move(to)), messages_(messages), found_(found), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](begin_tag) {
              for (number i = 0; i < messages_; ++i) tell(to_, next_tag::value);
              tell(to_, last_tag::value);
            },
            [this](number count) {
              found_ = count;
              done_.count_down();
            }};
  }

 private:
  const caf::actor to_;
  const number messages_;
  number& found_;
  latch& done_;
};

double counting(caf::actor_system& system, const sizes& s) {
  number found = 0;
  latch done(1);
  const auto began = steady::now();
  {
    const auto to = system.spawn<counter>();
    tell(system.spawn<counting_producer>(to, s["messages"], found, done), begin_tag::value);
  }
  done.wait();
  const double took = seconds_since(began);
  expect(found == s["messages"], "a message was lost");
  return took;
}

// ── ring ──────────────────────────────────────────────────────────────────────────────────────

class link_of_ring : public actor {
 public:
  link_of_ring(caf::actor_config& config, number own, number actors, number& last, latch& done)
      : actor(config), number_(own), actors_(actors), last_(last), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](number left) {
              if (left > 0) {
                tell(next_, left - 1);
              } else {
                last_ = number_;
                tell(next_, leave_tag::value, actors_);
              }
            },
            [this](leave_tag leave, number left) {
              if (left > 1) {
                tell(next_, leave, left - 1);
              } else {
                done_.count_down();
              }
              next_ = nullptr;
              quit();
            },
            [this](const caf::actor& next) { next_ = next; }};
  }

 private:
  const number number_;
  const number actors_;
  number& last_;
  latch& done_;
  caf::actor next_;
};

double ring(caf::actor_system& system, const sizes& s) {
  const number actors = s["actors"];
  number last = 0;
  latch done(1);
  const auto began = steady::now();
  {
    std::vector<caf::actor> all;
    for (number i = 0; i < actors; ++i) {
      all.push_back(system.spawn<link_of_ring>(i, actors, last, done));
    }
    for (number i = 0; i < actors; ++i) tell(all[i], all[(i + 1) % actors]);
    tell(all[0], s["hops"]);
  }
  done.wait();
  const double took = seconds_since(began);
  expect(last == s["hops"] % actors, "the ring has another order");
  return took;
}

// ── create ────────────────────────────────────────────────────────────────────────────────────

class worker : public actor {
 public:
  worker(caf::actor_config& config, std::atomic<number>& sum, latch& done)
      : actor(config), sum_(sum), done_(done) {}

  // No reference keeps it: it terminates by itself.
  caf::behavior make_behavior() override {
    return {[this](double angle) {
      sum_.fetch_add(compute_sine(angle), std::memory_order_relaxed);
      done_.count_down();
    }};
  }

 private:
  std::atomic<number>& sum_;
  latch& done_;
};

double create(caf::actor_system& system, const sizes& s) {
  const number actors = s["actors"];
  std::atomic<number> sum{0};
  latch done(actors);
  const auto began = steady::now();
  for (number i = 0; i < actors; ++i) tell(system.spawn<worker, caf::lazy_init>(sum, done), theta);
  done.wait();
  const double took = seconds_since(began);
  expect(sum == actors * compute_sine(theta), "a computation is wrong");
  return took;
}

// ── chameneos ─────────────────────────────────────────────────────────────────────────────────

class mall : public actor {
 public:
  mall(caf::actor_config& config, number meetings, number creatures, number& found, latch& done)
      : actor(config), left_(meetings), creatures_(creatures), found_(found), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](meet_tag meet, std::uint8_t of) {
              if (left_ == 0) {
                tell(sender(), leave_tag::value);
              } else if (!waiting_) {
                waiting_ = sender();
              } else {
                --left_;
                const caf::actor first = std::move(waiting_);
                waiting_ = nullptr;
                delegate(first, meet, of);  // its sender stays the same
              }
            },
            [this](number meetings) {
              found_ += meetings;
              if (--creatures_ == 0) done_.count_down();
            }};
  }

 private:
  number left_;
  number creatures_;
  caf::actor waiting_;
  number& found_;
  latch& done_;
};

class creature : public actor {
 public:
  creature(caf::actor_config& config, caf::actor in, colour first)
      : actor(config), in_(std::move(in)), colour_(first) {}

  caf::behavior make_behavior() override {
    look_for_another();
    return {[this](meet_tag, std::uint8_t of) {
              colour_ = complement(colour_, static_cast<colour>(of));
              ++meetings_;
              tell(sender(), change_tag::value, static_cast<std::uint8_t>(colour_));
              look_for_another();
            },
            [this](change_tag, std::uint8_t to) {
              colour_ = static_cast<colour>(to);
              ++meetings_;
              look_for_another();
            },
            [this](leave_tag) {
              tell(in_, meetings_);
              quit();
            }};
  }

 private:
  void look_for_another() { tell(in_, meet_tag::value, static_cast<std::uint8_t>(colour_)); }

  const caf::actor in_;
  colour colour_;
  number meetings_ = 0;
};

double chameneos(caf::actor_system& system, const sizes& s) {
  number found = 0;
  latch done(1);
  const auto began = steady::now();
  {
    const auto in = system.spawn<mall>(s["meetings"], s["creatures"], found, done);
    for (number i = 0; i < s["creatures"]; ++i) {
      system.spawn<creature>(in, static_cast<colour>(i % 3));
    }
  }
  done.wait();
  const double took = seconds_since(began);
  expect(found == 2 * s["meetings"], "a meeting has not two participants");
  return took;
}

// ── big ───────────────────────────────────────────────────────────────────────────────────────

class sink : public actor {
 public:
  sink(caf::actor_config& config, number actors, number& found, latch& done)
      : actor(config), left_(actors), found_(found), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](number pongs) {
      found_ += pongs;
      if (--left_ == 0) done_.count_down();
    }};
  }

 private:
  number left_;
  number& found_;
  latch& done_;
};

class pinger : public actor {
 public:
  pinger(caf::actor_config& config, std::uint32_t own, number pings, caf::actor to)
      : actor(config), number_(own), pings_(pings), to_(std::move(to)), random_(own) {}

  caf::behavior make_behavior() override {
    return {[this](ping_tag, std::uint32_t from) {
              tell((*others_.all)[from], pong_tag::value, number_);
            },
            [this](pong_tag, std::uint32_t from) { on_pong(from); },
            [this](const neighbours& others) {
              others_ = others;
              expected_ = number_;  // the first pong is its own
            },
            [this](leave_tag) {
              others_.all.reset();
              quit();
            }};
  }

 private:
  void on_pong(std::uint32_t from) {
    if (from != expected_) return;  // the sum will be wrong
    if (pongs_ == pings_) {
      tell(to_, pongs_);
      return;
    }
    ++pongs_;
    expected_ = static_cast<std::uint32_t>(random_.next() % others_.all->size());
    tell((*others_.all)[expected_], ping_tag::value, number_);
  }

  const std::uint32_t number_;
  const number pings_;
  const caf::actor to_;
  small_random random_;
  neighbours others_;
  std::uint32_t expected_ = 0;
  number pongs_ = 0;
};

double big(caf::actor_system& system, const sizes& s) {
  const number actors = s["actors"];
  number found = 0;
  latch done(1);
  const auto began = steady::now();
  const auto to = system.spawn<sink>(actors, found, done);
  std::vector<caf::actor> some;
  for (std::uint32_t i = 0; i < actors; ++i) {
    some.push_back(system.spawn<pinger>(i, s["pings"], to));
  }
  const neighbours others{std::make_shared<const std::vector<caf::actor>>(std::move(some))};
  const std::vector<caf::actor>& all = *others.all;
  for (const auto& one : all) tell(one, others);
  for (std::uint32_t i = 0; i < actors; ++i) tell(all[i], pong_tag::value, i);
  done.wait();
  const double took = seconds_since(began);
  for (const auto& one : all) tell(one, leave_tag::value);
  expect(found == actors * s["pings"], "a pong is missing");
  return took;
}

// ── dictionary ────────────────────────────────────────────────────────────────────────────────

class store : public actor {
 public:
  store(caf::actor_config& config, number entries, number& writes, latch& filled, latch& counted)
      : actor(config), entries_(entries), writes_(writes), filled_(filled), counted_(counted) {}

  caf::behavior make_behavior() override {
    values_.reserve(entries_);
    for (number i = 0; i < entries_; ++i) values_.emplace(static_cast<std::uint32_t>(i), i);
    filled_.count_down();
    return {[this](std::uint32_t key) { return values_.find(key)->second; },
            [this](std::uint32_t key, number value) {
              ++writes_;
              return values_[key] = value;
            },
            [this](last_tag) { counted_.count_down(); }};
  }

 private:
  const number entries_;
  std::unordered_map<std::uint32_t, number> values_;
  number& writes_;
  latch& filled_;
  latch& counted_;
};

class client : public actor {
 public:
  client(caf::actor_config& config, caf::actor of, number own, const sizes& s, latch& done)
      : actor(config),
        of_(std::move(of)),
        number_(own),
        entries_(s["entries"]),
        left_(s["requests"]),
        all_(own, entries_),
        done_(done) {}

  caf::behavior make_behavior() override {
    ask();
    return {[this](number value) {
      expect(value % entries_ == next_.key, "a reply belongs to another key");
      if (--left_ > 0) {
        ask();
      } else {
        done_.count_down();
        quit();
      }
    }};
  }

 private:
  void ask() {
    next_ = all_.next();
    if (next_.writes) {
      tell(of_, next_.key, next_.key + (number_ + 1) * entries_);
    } else {
      tell(of_, next_.key);
    }
  }

  const caf::actor of_;
  const number number_;
  const number entries_;
  number left_;
  dictionary_requests all_;
  dictionary_request next_{};
  latch& done_;
};

double dictionary(caf::actor_system& system, const sizes& s) {
  const number clients = s["clients"];
  number writes = 0;
  latch filled(1), done(clients), counted(1);
  auto of = system.spawn<store>(s["entries"], writes, filled, counted);
  filled.wait();  // before the measurement
  const auto began = steady::now();
  for (number i = 0; i < clients; ++i) system.spawn<client>(of, i, s, done);
  done.wait();
  const double took = seconds_since(began);
  tell(of, last_tag::value);
  counted.wait();
  expect(writes == expected_writes(clients, s["requests"], s["entries"]), "a write is missing");
  return took;
}

// ── buffer ────────────────────────────────────────────────────────────────────────────────────

class producer : public actor {
 public:
  producer(caf::actor_config& config, caf::actor to, std::uint32_t own, number items)
      : actor(config), to_(std::move(to)), number_(own), left_(items) {}

  caf::behavior make_behavior() override {
    return {[this](next_tag) {
      if (left_ == 0) {
        tell(to_, done_tag::value);
        quit();
        return;
      }
      --left_;
      last_ = process_item(last_);
      tell(to_, last_, number_);
    }};
  }

 private:
  const caf::actor to_;
  const std::uint32_t number_;
  number left_;
  double last_ = 0;
};

class consumer : public actor {
 public:
  consumer(caf::actor_config& config, caf::actor of, std::uint32_t own, double& sum, latch& done)
      : actor(config), of_(std::move(of)), number_(own), sum_(sum), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](double value) {
              sum_ += value;
              last_ = process_item(last_ + value);
              tell(of_, number_);
            },
            [this](leave_tag) {
              done_.count_down();
              quit();
            }};
  }

 private:
  const caf::actor of_;
  const std::uint32_t number_;
  double& sum_;
  latch& done_;
  double last_ = 0;
};

class manager : public actor {
 public:
  manager(caf::actor_config& config, std::vector<double>& sums, number items, latch& done)
      : actor(config), items_each_(items), sums_(sums), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](double value, std::uint32_t from) { on_item(value, from); },
            [this](std::uint32_t from) { on_available(from); }, [this](begin_tag) { begin(); },
            [this](done_tag) {
              ++ended_;
              end_if_done();
            }};
  }

 private:
  void begin() {
    // Each producer may still have an item on the way when the buffer is found full.
    most_ = buffer_capacity > sums_.size() ? buffer_capacity - sums_.size() : 1;
    for (std::uint32_t i = 0; i < sums_.size(); ++i) {
      consumers_.push_back(spawn<consumer>(self(), i, sums_[i], done_));
      waiting_consumers_.push_back(i);
      producers_.push_back(spawn<producer>(self(), i, items_each_));
    }
    for (const auto& each : producers_) tell(each, next_tag::value);
  }

  void on_item(double value, std::uint32_t from) {
    if (waiting_consumers_.empty()) {
      items_.push_back(value);
    } else {
      tell(consumers_[waiting_consumers_.front()], value);
      waiting_consumers_.pop_front();
    }
    if (items_.size() >= most_) {
      waiting_producers_.push_back(from);
    } else {
      tell(producers_[from], next_tag::value);
    }
  }

  void on_available(std::uint32_t from) {
    if (items_.empty()) {
      waiting_consumers_.push_back(from);
      end_if_done();
      return;
    }
    tell(consumers_[from], items_.front());
    items_.pop_front();
    if (waiting_producers_.empty()) return;
    tell(producers_[waiting_producers_.front()], next_tag::value);
    waiting_producers_.pop_front();
  }

  void end_if_done() {
    if (ended_ < producers_.size() || waiting_consumers_.size() < consumers_.size()) return;
    for (const auto& each : consumers_) tell(each, leave_tag::value);
    quit();
  }

  std::vector<caf::actor> producers_;
  std::vector<caf::actor> consumers_;
  std::deque<std::uint32_t> waiting_producers_;
  std::deque<std::uint32_t> waiting_consumers_;
  std::deque<double> items_;
  std::size_t most_ = 0;
  std::size_t ended_ = 0;
  const number items_each_;
  std::vector<double>& sums_;
  latch& done_;
};

double buffer(caf::actor_system& system, const sizes& s) {
  const number producers = s["producers"];
  std::vector<double> sums(producers);
  latch done(producers);
  const auto began = steady::now();
  tell(system.spawn<manager>(sums, s["items"], done), begin_tag::value);
  done.wait();
  const double took = seconds_since(began);
  double sum = 0;
  for (const double each : sums) sum += each;
  expect_items(sum, producers, s["items"]);
  return took;
}

// ── logistic ──────────────────────────────────────────────────────────────────────────────────

class rate_computer : public actor {
 public:
  rate_computer(caf::actor_config& config, double rate) : actor(config), rate_(rate) {}

  caf::behavior make_behavior() override {
    return {[this](double term) { return next_term(term, rate_); }};
  }

 private:
  const double rate_;
};

// A message that arrives while a term is computed only increases the number of terms that are
// wanted.
class series : public actor {
 public:
  series(caf::actor_config& config, caf::actor master, std::uint32_t own)
      : actor(config),
        master_(std::move(master)),
        number_(own),
        by_(spawn<rate_computer>(rate_of_series(own))),
        term_(first_term_of_series(own)) {}

  caf::behavior make_behavior() override {
    return {[this](double term) {
              term_ = term;
              if (--wanted_ > 0) {
                tell(by_, term_);
              } else if (ends_) {
                end();
              }
            },
            [this](next_tag) {
              if (++wanted_ == 1) tell(by_, term_);
            },
            [this](last_tag) {
              ends_ = true;
              if (wanted_ == 0) end();
            }};
  }

 private:
  void end() {
    tell(master_, number_, term_);
    quit();
  }

  const caf::actor master_;
  const std::uint32_t number_;
  const caf::actor by_;
  double term_;
  number wanted_ = 0;
  bool ends_ = false;
};

class series_master : public actor {
 public:
  series_master(caf::actor_config& config, std::vector<double>& last, number terms, latch& done)
      : actor(config), last_(last), left_(last.size()), terms_(terms), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](begin_tag) {
              std::vector<caf::actor> all;
              for (std::uint32_t i = 0; i < last_.size(); ++i) {
                all.push_back(spawn<series>(self(), i));
              }
              for (number k = 0; k < terms_; ++k) {
                for (const auto& each : all) tell(each, next_tag::value);
              }
              for (const auto& each : all) tell(each, last_tag::value);
            },
            [this](std::uint32_t of, double term) {
              last_[of] = term;
              if (--left_ > 0) return;
              done_.count_down();
              quit();
            }};
  }

 private:
  std::vector<double>& last_;
  number left_;
  const number terms_;
  latch& done_;
};

double logistic(caf::actor_system& system, const sizes& s) {
  std::vector<double> last(s["series"]);
  latch done(1);
  const auto began = steady::now();
  tell(system.spawn<series_master>(last, s["terms"], done), begin_tag::value);
  done.wait();
  const double took = seconds_since(began);
  expect_terms(last, s["terms"]);
  return took;
}

// ── bank ──────────────────────────────────────────────────────────────────────────────────────

// While it waits for a reply, the account keeps all other messages. request() with await() would do
// this by itself, but takes longer.
class account : public actor {
 public:
  account(caf::actor_config& config, caf::actor of, std::int64_t& balance, latch& done)
      : actor(config), of_(std::move(of)), balance_(balance), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](debit_tag, std::int64_t amount) {
              if (waits_) {
                kept_.push_back({amount, nullptr, sender()});
              } else {
                debit(amount, sender());
              }
            },
            [this](std::int64_t amount, const caf::actor& to) {
              if (waits_) {
                kept_.push_back({amount, to, nullptr});
              } else {
                credit(amount, to);
              }
            },
            [this](done_tag done) {
              tell(of_, done);
              waits_ = false;
              while (!waits_ && !kept_.empty()) {
                const kept next = std::move(kept_.front());
                kept_.pop_front();
                if (next.to) {
                  credit(next.amount, next.to);
                } else {
                  debit(next.amount, next.from);
                }
              }
            },
            [this](leave_tag) {
              done_.count_down();
              quit();
            }};
  }

 private:
  struct kept {
    std::int64_t amount;
    caf::actor to;    // of a credit
    caf::actor from;  // of a debit
  };

  void debit(std::int64_t amount, const caf::actor& from) {
    balance_ += amount;
    tell(from, done_tag::value);
  }
  void credit(std::int64_t amount, const caf::actor& to) {
    balance_ -= amount;
    waits_ = true;
    tell(to, debit_tag::value, amount);
  }

  const caf::actor of_;
  std::int64_t& balance_;
  latch& done_;
  std::deque<kept> kept_;
  bool waits_ = false;
};

class teller : public actor {
 public:
  teller(caf::actor_config& config, std::vector<std::int64_t>& balances, number transactions,
         latch& done)
      : actor(config), left_(transactions), balances_(balances), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](done_tag) {
              if (--left_ > 0) return;
              for (const auto& each : accounts_) tell(each, leave_tag::value);
              quit();
            },
            [this](begin_tag) {
              for (std::int64_t& each : balances_) {
                accounts_.push_back(spawn<account>(self(), each, done_));
              }
              transfers all(accounts_.size());
              for (number i = 0; i < left_; ++i) {
                const transfer next = all.next();
                tell(accounts_[next.from], next.amount, accounts_[next.to]);
              }
            }};
  }

 private:
  std::vector<caf::actor> accounts_;
  number left_;
  std::vector<std::int64_t>& balances_;
  latch& done_;
};

double bank(caf::actor_system& system, const sizes& s) {
  std::vector<std::int64_t> balances(s["accounts"]);
  latch done(balances.size());
  const auto began = steady::now();
  tell(system.spawn<teller>(balances, s["transactions"], done), begin_tag::value);
  done.wait();
  const double took = seconds_since(began);
  expect_balances(balances, s["transactions"]);
  return took;
}

// ── fibonacci ─────────────────────────────────────────────────────────────────────────────────

class tree_node : public actor {
 public:
  tree_node(caf::actor_config& config, caf::actor parent)
      : actor(config), parent_(std::move(parent)) {}

  // No reference keeps it after its response: it terminates by itself.
  caf::behavior make_behavior() override {
    return {[this](number index) {
              if (index <= 2) {
                tell(parent_, done_tag::value, number{1});
                return;
              }
              tell(spawn<tree_node, caf::lazy_init>(self()), index - 1);
              tell(spawn<tree_node, caf::lazy_init>(self()), index - 2);
            },
            [this](done_tag done, number value) {
              sum_ += value;
              if (++responses_ == 2) tell(parent_, done, sum_);
            }};
  }

 private:
  const caf::actor parent_;
  number sum_ = 0;
  unsigned responses_ = 0;
};

class root : public actor {
 public:
  root(caf::actor_config& config, number& found, latch& done)
      : actor(config), found_(found), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](number index) { tell(spawn<tree_node, caf::lazy_init>(self()), index); },
            [this](done_tag, number value) {
              found_ = value;
              done_.count_down();
            }};
  }

 private:
  number& found_;
  latch& done_;
};

double fibonacci(caf::actor_system& system, const sizes& s) {
  number found = 0;
  latch done(1);
  const auto began = steady::now();
  tell(system.spawn<root>(found, done), s["index"]);
  done.wait();
  const double took = seconds_since(began);
  expect(found == fibonacci_number(s["index"]), "the number is wrong");
  return took;
}

// ── sieve ─────────────────────────────────────────────────────────────────────────────────────

class filter : public actor {
 public:
  filter(caf::actor_config& config, number before, number first, number most, number& found,
         latch& done)
      : actor(config), before_(before), most_(most), found_(found), done_(done) {
    primes_.reserve(most);
    primes_.push_back(first);
  }

  caf::behavior make_behavior() override {
    return {[this](number candidate) {
              if (!is_locally_prime(candidate, primes_)) return;
              if (next_) {
                tell(next_, candidate);
              } else if (primes_.size() < most_) {
                primes_.push_back(candidate);
              } else {
                next_ = spawn<filter>(before_ + most_, candidate, most_, found_, done_);
              }
            },
            [this](last_tag last) {
              if (next_) {
                tell(next_, last);
              } else {
                found_ = before_ + primes_.size();
                done_.count_down();
              }
            }};
  }

 private:
  const number before_;  // how many primes the earlier filters have
  const number most_;
  std::vector<number> primes_;
  caf::actor next_;
  number& found_;
  latch& done_;
};

// Sends all candidates in one turn, as published.
class number_producer : public actor {
 public:
  number_producer(caf::actor_config& config, caf::actor to) : actor(config), to_(std::move(to)) {}

  caf::behavior make_behavior() override {
    return {[this](number limit) {
      for (number candidate = 3; candidate < limit; candidate += 2) tell(to_, candidate);
      tell(to_, last_tag::value);
    }};
  }

 private:
  const caf::actor to_;
};

double sieve(caf::actor_system& system, const sizes& s) {
  number found = 0;
  latch done(1);
  const auto began = steady::now();
  {
    const auto first = system.spawn<filter>(number{0}, number{2}, s["primes"], found, done);
    tell(system.spawn<number_producer>(first), s["limit"]);
  }
  done.wait();
  const double took = seconds_since(began);
  expect(found == count_primes(s["limit"]), "the number of primes is wrong");
  return took;
}

// ── queens ────────────────────────────────────────────────────────────────────────────────────

class solver : public actor {
 public:
  solver(caf::actor_config& config, caf::actor of, number size, number threshold)
      : actor(config), of_(std::move(of)), size_(size), threshold_(threshold) {}

  caf::behavior make_behavior() override {
    return {[this](const queens_work& w) {
              if (w.rows >= threshold_ || w.rows == size_) {
                board queens = w.queens;
                place_queens(queens, w.rows, size_, [this] { tell(of_, next_tag::value); });
              } else {
                queens_work more{w.queens, w.rows + 1};
                for (number column = 0; column < size_; ++column) {
                  more.queens[w.rows] = static_cast<std::uint8_t>(column);
                  if (is_valid(more.queens, more.rows)) tell(of_, more);
                }
              }
              tell(of_, done_tag::value);
            },
            [this](leave_tag) { quit(); }};
  }

 private:
  const caf::actor of_;
  const number size_;
  const number threshold_;
};

class queens_master : public actor {
 public:
  queens_master(caf::actor_config& config, const sizes& s, number& found, latch& done)
      : actor(config), sizes_(s), found_(found), done_(done) {}

  caf::behavior make_behavior() override {
    return {[this](next_tag) { ++found_; },
            [this](done_tag) {
              if (++solved_ < sent_) return;
              for (const auto& each : solvers_) tell(each, leave_tag::value);
              done_.count_down();
              quit();
            },
            [this](const queens_work& w) { pass_on(w); },
            [this](begin_tag) {
              for (number i = 0; i < sizes_["solvers"]; ++i) {
                solvers_.push_back(spawn<solver>(self(), sizes_["size"], sizes_["threshold"]));
              }
              pass_on({});
            }};
  }

 private:
  void pass_on(const queens_work& w) {
    tell(solvers_[next_], w);
    next_ = (next_ + 1) % solvers_.size();
    ++sent_;
  }

  const sizes& sizes_;
  std::vector<caf::actor> solvers_;
  std::size_t next_ = 0;
  number sent_ = 0;
  number solved_ = 0;
  number& found_;
  latch& done_;
};

double queens(caf::actor_system& system, const sizes& s) {
  number found = 0;
  latch done(1);
  const auto began = steady::now();
  tell(system.spawn<queens_master>(s, found, done), begin_tag::value);
  done.wait();
  const double took = seconds_since(began);
  expect(found == expected_solutions(s["size"]), "the number of solutions is wrong");
  return took;
}

// ── The program ───────────────────────────────────────────────────────────────────────────────

// Runs the workload once unmeasured, and then measured.
template <double (*Run)(caf::actor_system&, const sizes&)>
double measured(const sizes& s) {
  caf::actor_system_config config;
  config.set("scheduler.max-threads", s["workers"]);
  auto& system = *new caf::actor_system(config);
  (void)Run(system, s);
  system.await_all_actors_done();
  return Run(system, s);
}

constexpr workload all[] = {
    {"counting", measured<counting>}, {"ring", measured<ring>},
    {"create", measured<create>},     {"chameneos", measured<chameneos>},
    {"big", measured<big>},           {"dictionary", measured<dictionary>},
    {"buffer", measured<buffer>},     {"logistic", measured<logistic>},
    {"bank", measured<bank>},         {"fibonacci", measured<fibonacci>},
    {"sieve", measured<sieve>},       {"queens", measured<queens>},
};

}  // namespace

int main(int count, char** arguments) { run(count, arguments, all); }
