// SPDX-License-Identifier: Apache-2.0
//
// A bank whose transfers lose no money, although whatever handles them keeps failing. Accounts and the
// teller write down what they do before they answer, and each transfer has a number, by which an account
// knows what it has done already. So whoever has not heard an answer asks again: what was done is done
// once. A supervisor gives each of them a new object when it fails; that reads what was written down.
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

namespace {

using namespace std::chrono_literals;

constexpr int accounts = 8;
constexpr int transfers = 200;
constexpr long cents_each = 1'000;

// One in so many steps fails.
void fail_sometimes() {
  thread_local std::minstd_rand random(std::random_device{}());
  if (random() % 10 == 0) throw std::runtime_error("the lights went out");
}

// ── Accounts ──────────────────────────────────────────────────────────────────────────────────

struct withdraw {
  int transfer;
  long cents;
};
struct deposit {
  int transfer;
  long cents;
};
struct balance {};

// Stands for a file. Only its account uses it, one object after the other.
struct account_book {
  long cents = cents_each;
  std::map<int, bool> withdrawn;  // or refused: who asks again gets the same answer
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
    fail_sometimes();  // it is done, but nobody hears of it
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

// ── The teller ────────────────────────────────────────────────────────────────────────────────

struct order {
  int number;
  int from;
  int to;
  long cents;
};
struct all_done {};

struct teller_book {
  std::map<int, order> begun;
  int done = 0;
};

class teller : public troupe::actor {
 public:
  // An order that fails the teller comes again, to its next object.
  using redelivered = troupe::messages<order>;

  teller(std::shared_ptr<teller_book> book, const troupe::siblings& others)
      : book_(std::move(book)) {
    for (int i = 0; i < accounts; ++i) {
      accounts_.push_back(others.get<account>("account " + std::to_string(i)));
    }
  }

  // What it had begun it goes on with.
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
    if (book_->done == transfers) std::exchange(who_waits_, {}).fulfil(book_->done);
  }
  void on(all_done, troupe::reply<int> to) {
    if (book_->done == transfers) to.fulfil(book_->done);
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
};

}  // namespace

int main() {
  troupe::system system({.on_failure = [](const troupe::failure&) {}});

  std::vector<troupe::child_spec> children;
  for (int i = 0; i < accounts; ++i) {
    children.push_back(
        troupe::child<account>("account " + std::to_string(i), std::make_shared<account_book>()));
  }
  children.push_back(troupe::child<teller>(
      "teller", [book = std::make_shared<teller_book>()](const troupe::siblings& others) {
        return teller(book, others);
      }));
  const troupe::supervision rules{
      .max_restarts = troupe::supervision::unlimited, .min_backoff = 0ms, .max_backoff = 1ms};
  const auto bank = system.spawn<troupe::supervisor>(rules, children);

  const auto desk = bank.ask<troupe::find_child<teller>>(5s, "teller").get().value();
  std::minstd_rand random(2024);
  const auto anybody = [&] { return static_cast<int>(random() % accounts); };
  for (int i = 0; i < transfers; ++i) {
    desk.send(order{i, anybody(), anybody(), static_cast<long>(random() % 300)});
  }
  // The teller may fail while it is asked.
  int done = 0;
  while (done != transfers) done = desk.ask<all_done>(1s).get().value_or(0);

  long sum = 0;
  for (int i = 0; i < accounts; ++i) {
    const auto one =
        bank.ask<troupe::find_child<account>>(5s, "account " + std::to_string(i)).get().value();
    sum += one.ask<balance>(5s).get().value();
  }
  const auto counts = system.statistics();
  std::printf("%d transfers, %llu failures, %llu restarts\n", done,
              static_cast<unsigned long long>(counts.failures),
              static_cast<unsigned long long>(counts.restarts));
  std::printf("%ld cents before, %ld after\n", accounts * cents_each, sum);
  return sum == accounts * cents_each ? 0 : 1;
}
