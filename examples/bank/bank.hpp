// SPDX-License-Identifier: Apache-2.0
#pragma once

// A bank whose transfers lose no money, even though the actors that handle them keep failing.
// Accounts and the teller record each step before they reply. Each transfer has a number, by which
// an account recognizes steps that it has already done. So a requester that gets no reply can
// repeat its request, and the step is still done only once. A supervisor restarts a failed actor;
// the new incarnation reads the record.
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

namespace bank {

using namespace std::chrono_literals;

inline constexpr int accounts = 8;
inline constexpr long cents_each = 1'000;

// A fault that may happen at each step; it throws.
inline std::function<void()> fail_sometimes = [] {};

// ── Accounts ─────────────────────────────────────────────────────────────────────────────────────

struct withdraw {
  int transfer;
  long cents;
};
struct deposit {
  int transfer;
  long cents;
};
struct balance {};

// Stands for a file. Only its account uses it, one incarnation at a time.
struct account_book {
  long cents = cents_each;
  std::map<int, bool> withdrawn;  // false: refused; a repeated request gets the same reply
  std::set<int> deposited;
};

class account : public troupe::actor {
 public:
  explicit account(std::shared_ptr<account_book> book) : book_(std::move(book)) {}

  bool on(withdraw m) {
    fail_sometimes();
    const auto [decided, is_new] =
        book_->withdrawn.try_emplace(m.transfer, m.cents <= book_->cents);
    if (is_new && decided->second) book_->cents -= m.cents;
    fail_sometimes();  // the withdrawal is recorded, but the requester gets no reply
    return decided->second;
  }
  bool on(deposit m) {
    fail_sometimes();
    if (book_->deposited.insert(m.transfer).second) book_->cents += m.cents;
    fail_sometimes();
    return true;
  }
  long on(balance) const { return book_->cents; }

 private:
  const std::shared_ptr<account_book> book_;
};

// ── The teller ───────────────────────────────────────────────────────────────────────────────────

struct order {
  int number;
  int from;
  int to;
  long cents;
};
struct all_done {
  int transfers;
};

struct teller_book {
  std::map<int, order> begun;
  int done = 0;
};

class teller : public troupe::actor {
 public:
  // An order whose handling failed is delivered again, to the next incarnation.
  using redelivered = troupe::messages<order>;

  teller(std::shared_ptr<teller_book> book, const troupe::siblings& others)
      : book_(std::move(book)) {
    for (int i = 0; i < accounts; ++i) {
      accounts_.push_back(others.get<account>("account " + std::to_string(i)));
    }
  }

  // Continues the transfers begun by the previous incarnation.
  void on_start() {
    for (const auto& [number, each] : book_->begun) self(this).send(go_on{number});
  }

  void on(order m) {
    book_->begun.emplace(m.number, m);
    fail_sometimes();
    self(this).send(go_on{m.number});
  }

  struct go_on {
    int number;
  };
  troupe::task<> on(go_on m) {
    if (!book_->begun.contains(m.number)) co_return;
    const order it = book_->begun.at(m.number);
    if (co_await ask_until_answered<withdraw>(accounts_[static_cast<std::size_t>(it.from)], it)) {
      co_await ask_until_answered<deposit>(accounts_[static_cast<std::size_t>(it.to)], it);
    }
    if (book_->begun.erase(m.number) != 0) ++book_->done;
    if (book_->done == wanted_) std::exchange(who_waits_, {}).set_value(book_->done);
  }
  void on(all_done m, troupe::reply<int> to) {
    wanted_ = m.transfers;
    if (book_->done == wanted_) to.set_value(book_->done);
    who_waits_ = std::move(to);
  }

 private:
  template <class Message>
  troupe::task<bool> ask_until_answered(troupe::ref<account> whom, order it) {
    for (;;) {
      auto answer = co_await whom.ask<Message>(1s, it.number, it.cents);
      if (answer) co_return *answer;
    }
  }

  const std::shared_ptr<teller_book> book_;
  std::vector<troupe::ref<account>> accounts_;
  troupe::reply<int> who_waits_;
  int wanted_ = -1;
};

// ── The bank ─────────────────────────────────────────────────────────────────────────────────────

// The records, which outlive the actors.
struct books {
  books() {
    for (auto& each : of_accounts) each = std::make_shared<account_book>();
  }
  std::array<std::shared_ptr<account_book>, accounts> of_accounts;
  std::shared_ptr<teller_book> of_teller = std::make_shared<teller_book>();
};

inline troupe::ref<troupe::supervisor> open(troupe::system& system, const books& all) {
  std::vector<troupe::child_spec> children;
  for (int i = 0; i < accounts; ++i) {
    children.push_back(troupe::child<account>("account " + std::to_string(i),
                                              all.of_accounts[static_cast<std::size_t>(i)]));
  }
  children.push_back(troupe::child<teller>(
      "teller",
      [book = all.of_teller](const troupe::siblings& others) { return teller(book, others); }));
  const troupe::supervision rules{
      .max_restarts = troupe::supervision::unlimited, .min_backoff = 0ms, .max_backoff = 1ms};
  return system.spawn<troupe::supervisor>(rules, children);
}

}  // namespace bank
