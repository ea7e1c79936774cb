// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <deque>
#include <latch>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "lab/engines/troupe/savina.hpp"

namespace troupe::lab::savina {

namespace {

// ── dictionary ────────────────────────────────────────────────────────────────────────────────

class store : public actor {
 public:
  struct read {
    std::uint32_t key;
  };
  struct write {
    std::uint32_t key;
    std::uint64_t value;
  };
  struct report {};

  explicit store(std::uint64_t entries) {
    values_.reserve(entries);
    for (std::uint64_t i = 0; i < entries; ++i) values_.emplace(static_cast<std::uint32_t>(i), i);
  }

  std::uint64_t on(read r) { return values_.find(r.key)->second; }
  std::uint64_t on(write w) {
    ++writes_;
    return values_[w.key] = w.value;
  }
  std::uint64_t on(report) { return writes_; }

 private:
  std::unordered_map<std::uint32_t, std::uint64_t> values_;
  std::uint64_t writes_ = 0;
};

class client : public actor {
 public:
  struct begin {
    std::uint64_t requests;
  };

  client(ref<store> of, std::uint64_t number, std::uint64_t entries, std::latch& done)
      : of_(std::move(of)), number_(number), entries_(entries), done_(done) {}

  task<> on(begin b) {
    dictionary_requests all(number_, entries_);
    for (std::uint64_t i = 0; i < b.requests; ++i) {
      const dictionary_request next = all.next();
      const std::uint64_t value =
          next.writes ? *co_await of_.ask<store::write>(no_timeout, next.key,
                                                        next.key + (number_ + 1) * entries_)
                      : *co_await of_.ask<store::read>(no_timeout, next.key);
      expect(value % entries_ == next.key, "a reply belongs to another key");
    }
    done_.count_down();
  }

 private:
  const ref<store> of_;
  const std::uint64_t number_;
  const std::uint64_t entries_;
  std::latch& done_;
};

// ── buffer ────────────────────────────────────────────────────────────────────────────────────

class producer;
class consumer;

// Its actors know it until it tells them to leave.
class manager : public actor {
 public:
  struct begin {
    std::uint64_t producers;
    std::uint64_t items;
  };
  struct item {
    double value;
    std::uint32_t producer;
  };
  struct available {
    std::uint32_t consumer;
  };
  struct produced_all {};

  manager(std::vector<double>& sums, std::latch& done) : sums_(sums), done_(done) {}

  void on(begin b);
  void on(item i);
  void on(available a);
  void on(produced_all) {
    ++ended_;
    end_if_done();
  }

 private:
  void end_if_done();

  std::vector<ref<producer>> producers_;
  std::vector<ref<consumer>> consumers_;
  std::deque<std::uint32_t> waiting_producers_;
  std::deque<std::uint32_t> waiting_consumers_;
  std::deque<item> items_;
  std::size_t most_ = 0;
  std::size_t ended_ = 0;
  std::vector<double>& sums_;
  std::latch& done_;
};

class producer : public actor {
 public:
  struct produce {};

  producer(ref<manager> to, std::uint32_t number, std::uint64_t items)
      : to_(std::move(to)), number_(number), left_(items) {}

  void on(produce) {
    if (left_ == 0) {
      to_.send(manager::produced_all{});
      stop();
      return;
    }
    --left_;
    last_ = process_item(last_);
    to_.send(manager::item{last_, number_});
  }

 private:
  const ref<manager> to_;
  const std::uint32_t number_;
  std::uint64_t left_;
  double last_ = 0;
};

class consumer : public actor {
 public:
  struct consume {
    double value;
  };
  struct leave {};

  consumer(ref<manager> of, std::uint32_t number, double& sum, std::latch& done)
      : of_(std::move(of)), number_(number), sum_(sum), done_(done) {}

  void on(consume c) {
    sum_ += c.value;
    last_ = process_item(last_ + c.value);
    of_.send(manager::available{number_});
  }
  void on(leave) {
    done_.count_down();
    stop();
  }

 private:
  const ref<manager> of_;
  const std::uint32_t number_;
  double& sum_;
  std::latch& done_;
  double last_ = 0;
};

void manager::on(begin b) {
  // Each producer may still have an item on the way when the buffer is found full.
  most_ = buffer_capacity > b.producers ? buffer_capacity - b.producers : 1;
  for (std::uint32_t i = 0; i < b.producers; ++i) {
    consumers_.push_back(system().spawn<consumer>(self(this), i, sums_[i], done_));
    waiting_consumers_.push_back(i);
    producers_.push_back(system().spawn<producer>(self(this), i, b.items));
  }
  for (const auto& each : producers_) each.send(producer::produce{});
}

void manager::on(item i) {
  if (waiting_consumers_.empty()) {
    items_.push_back(i);
  } else {
    consumers_[waiting_consumers_.front()].send(consumer::consume{i.value});
    waiting_consumers_.pop_front();
  }
  if (items_.size() >= most_) {
    waiting_producers_.push_back(i.producer);
  } else {
    producers_[i.producer].send(producer::produce{});
  }
}

void manager::on(available a) {
  if (items_.empty()) {
    waiting_consumers_.push_back(a.consumer);
    end_if_done();
    return;
  }
  consumers_[a.consumer].send(consumer::consume{items_.front().value});
  items_.pop_front();
  if (waiting_producers_.empty()) return;
  producers_[waiting_producers_.front()].send(producer::produce{});
  waiting_producers_.pop_front();
}

void manager::end_if_done() {
  if (ended_ < producers_.size() || waiting_consumers_.size() < consumers_.size()) return;
  for (const auto& each : consumers_) each.send(consumer::leave{});
  stop();
}

// ── logistic ──────────────────────────────────────────────────────────────────────────────────

class rate_computer : public actor {
 public:
  struct compute {
    double term;
  };

  explicit rate_computer(double rate) : rate_(rate) {}

  double on(compute c) { return next_term(c.term, rate_); }

 private:
  const double rate_;
};

class series : public actor {
 public:
  struct next {};
  struct compute_wanted {};
  struct last {};

  series(ref<rate_computer> by, double first) : by_(std::move(by)), term_(first) {}

  // A message that arrives while a term is computed only increases the number of terms that are
  // wanted. Only the first one starts a coroutine.
  void on(next) {
    if (++wanted_ == 1) self(this).send(compute_wanted{});
  }
  task<> on(compute_wanted) {
    for (; wanted_ > 0; --wanted_) {
      term_ = *co_await by_.ask<rate_computer::compute>(no_timeout, term_);
    }
    if (owed_) owed_.set_value(term_);
  }
  void on(last, reply<double> to) {
    if (wanted_ > 0) {
      owed_ = std::move(to);
    } else {
      to.set_value(term_);
    }
  }

 private:
  const ref<rate_computer> by_;
  double term_;
  std::uint64_t wanted_ = 0;
  reply<double> owed_;
};

class series_master : public actor {
 public:
  struct begin {
    std::uint64_t terms;
  };

  series_master(std::vector<double>& last, std::latch& done) : last_(last), done_(done) {}

  task<> on(begin b) {
    std::vector<ref<series>> all;
    for (std::size_t i = 0; i < last_.size(); ++i) {
      auto by = system().spawn<rate_computer>(rate_of_series(i));
      all.push_back(system().spawn<series>(std::move(by), first_term_of_series(i)));
    }
    for (std::uint64_t k = 0; k < b.terms; ++k) {
      for (const auto& each : all) each.send(series::next{});
    }
    std::vector<ask_future<double>> asked;
    for (const auto& each : all) asked.push_back(each.ask<series::last>(no_timeout));
    for (std::size_t i = 0; i < all.size(); ++i) last_[i] = *co_await std::move(asked[i]);
    done_.count_down();
  }

 private:
  std::vector<double>& last_;
  std::latch& done_;
};

// ── bank ──────────────────────────────────────────────────────────────────────────────────────

class account;

class teller : public actor {
 public:
  struct begin {
    std::uint64_t transactions;
  };
  struct transferred {};

  teller(std::vector<std::int64_t>& balances, std::latch& done)
      : balances_(balances), done_(done) {}

  void on(begin b);
  void on(transferred);

 private:
  std::vector<ref<account>> accounts_;
  std::uint64_t left_ = 0;
  std::vector<std::int64_t>& balances_;
  std::latch& done_;
};

class account : public actor {
 public:
  struct credit {
    std::int64_t amount;
    ref<account> to;
  };
  struct debit {
    std::int64_t amount;
  };
  struct credited {};
  struct leave {};

  account(ref<teller> of, std::int64_t& balance, std::latch& done)
      : of_(std::move(of)), balance_(balance), done_(done) {}

  // While it waits for a reply, the account keeps all other messages. An exclusive handler would do
  // this by itself, but each one examines all messages that wait in the mailbox.
  task<> on(credit c) {
    if (std::exchange(waits_, true)) {
      kept_.emplace_back(std::move(c));
      co_return;
    }
    for (;;) {
      balance_ -= c.amount;
      const auto result = co_await c.to.ask<debit>(no_timeout, c.amount);
      if (result) of_.send(teller::transferred{});
      for (;;) {
        if (kept_.empty()) {
          waits_ = false;
          co_return;
        }
        auto next = std::move(kept_.front());
        kept_.pop_front();
        if (auto* another = std::get_if<credit>(&next)) {
          c = std::move(*another);
          break;
        }
        take(std::get<owed_debit>(next));
      }
    }
  }
  void on(debit d, reply<credited> to) {
    owed_debit one{d.amount, std::move(to)};
    if (waits_) {
      kept_.emplace_back(std::move(one));
    } else {
      take(one);
    }
  }
  void on(leave) {
    done_.count_down();
    stop();
  }

 private:
  struct owed_debit {
    std::int64_t amount;
    reply<credited> to;
  };

  void take(owed_debit& one) {
    balance_ += one.amount;
    one.to.set_value({});
  }

  const ref<teller> of_;
  std::int64_t& balance_;
  std::latch& done_;
  std::deque<std::variant<credit, owed_debit>> kept_;
  bool waits_ = false;
};

void teller::on(begin b) {
  for (std::int64_t& each : balances_) {
    accounts_.push_back(system().spawn<account>(self(this), each, done_));
  }
  left_ = b.transactions;
  transfers all(accounts_.size());
  for (std::uint64_t i = 0; i < b.transactions; ++i) {
    const transfer next = all.next();
    accounts_[next.from].send(account::credit{next.amount, accounts_[next.to]});
  }
}

void teller::on(transferred) {
  if (--left_ > 0) return;
  for (const auto& each : accounts_) each.send(account::leave{});
  stop();
}

}  // namespace

double dictionary(class system& system, const trial& t) {
  const std::uint64_t clients = t["dictionary_clients"];
  const std::uint64_t requests = t["dictionary_requests"];
  const std::uint64_t entries = t["dictionary_entries"];
  std::latch done(static_cast<std::ptrdiff_t>(clients));
  const auto of = system.spawn<store>(entries);  // filled before the measurement
  const auto began = steady::now();
  for (std::uint64_t i = 0; i < clients; ++i) {
    system.spawn<client>(of, i, entries, done).send(client::begin{requests});
  }
  done.wait();
  const double took = seconds_since(began);
  const std::uint64_t writes = *of.ask<store::report>(no_timeout).get();
  expect(writes == expected_writes(clients, requests, entries), "a write is missing");
  return took;
}

double buffer(class system& system, const trial& t) {
  const std::uint64_t producers = t["buffer_producers"];
  const std::uint64_t items = t["buffer_items"];
  std::vector<double> sums(producers);
  std::latch done(static_cast<std::ptrdiff_t>(producers));
  const auto began = steady::now();
  system.spawn<manager>(sums, done).send(manager::begin{producers, items});
  done.wait();
  const double took = seconds_since(began);
  double sum = 0;
  for (const double each : sums) sum += each;
  expect_items(sum, producers, items);
  return took;
}

double logistic(class system& system, const trial& t) {
  const std::uint64_t terms = t["logistic_terms"];
  std::vector<double> last(t["logistic_series"]);
  std::latch done(1);
  const auto began = steady::now();
  system.spawn<series_master>(last, done).send(series_master::begin{terms});
  done.wait();
  const double took = seconds_since(began);
  expect_terms(last, terms);
  return took;
}

double bank(class system& system, const trial& t) {
  const std::uint64_t transactions = t["bank_transactions"];
  std::vector<std::int64_t> balances(t["bank_accounts"]);
  std::latch done(static_cast<std::ptrdiff_t>(balances.size()));
  const auto began = steady::now();
  system.spawn<teller>(balances, done).send(teller::begin{transactions});
  done.wait();
  const double took = seconds_since(began);
  expect_balances(balances, transactions);
  return took;
}

}  // namespace troupe::lab::savina
