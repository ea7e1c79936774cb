// SPDX-License-Identifier: Apache-2.0
//
// A ticker. Three sources publish twenty quotes each on one topic. A board shows all of them, and
// an alarm only those above its limit. A second board starts late and first gets the retained
// quote, the last one published. The market watches the sources: when the last one has terminated,
// it stops the other actors, and the program ends.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>

namespace {

struct quote {
  std::string symbol;
  long cents;
};

const char* const prices = "prices";
constexpr troupe::topic_options retaining{.retain_last = true};

struct begin {};
struct tick {};

// Publishes its quotes after it gets `begin`, and then stops.
class source : public troupe::actor {
 public:
  source(std::string symbol, long cents) : symbol_(std::move(symbol)), cents_(cents) {}

  void on(begin) { ticks_ = self(this).send_every(std::chrono::milliseconds(1), tick{}); }
  void on(tick) {
    prices_.publish(quote{symbol_, cents_ += 7});
    if (++published_ < 20) return;
    ticks_.cancel();
    stop();
  }

 private:
  const troupe::topic<quote> prices_{system(), prices, retaining};
  const std::string symbol_;
  long cents_;
  int published_ = 0;
  troupe::timer ticks_;
};

class board : public troupe::actor {
 public:
  // Subscribes in its constructor, before it can be told to stop, so it gets the retained quote
  // first.
  explicit board(std::string title) : title_(std::move(title)) {
    troupe::topic<quote>(system(), prices).subscribe(self(this));
  }
  void on_stop() {
    std::printf("%s: %d quotes, the last one %s %ld\n", title_.c_str(), seen_, last_.symbol.c_str(),
                last_.cents);
  }
  void on(const quote& q) {
    ++seen_;
    last_ = q;
  }

 private:
  const std::string title_;
  int seen_ = 0;
  quote last_{"-", 0};
};

class alarm : public troupe::actor {
 public:
  explicit alarm(long limit) : limit_(limit) {}

  void on_start() {
    const auto above = [limit = limit_](const quote& q) { return q.cents > limit; };
    troupe::topic<quote>(system(), prices).subscribe(self(this), above);
  }
  void on(const quote& q) { std::printf("alarm: %s at %ld\n", q.symbol.c_str(), q.cents); }

 private:
  const long limit_;
};

// Finds the sources by their names and watches them.
class market : public troupe::actor {
 public:
  explicit market(std::vector<std::string> symbols) : symbols_(std::move(symbols)) {}

  void on_start() {
    first_ = system().spawn<board>("the board");
    alarm_ = system().spawn<alarm>(430);
    for (const std::string& each : symbols_) {
      const auto found = troupe::registry(system()).find<source>("source/" + each).value();
      watch(found);
      found.send(begin{});
    }
  }
  void on(const troupe::down&) {
    if (!late_) late_ = system().spawn<board>("the late one");
    if (++ended_ < symbols_.size()) return;
    first_.stop();
    late_.stop();
    alarm_.stop();
    stop();
  }

 private:
  const std::vector<std::string> symbols_;
  std::size_t ended_ = 0;
  troupe::ref<board> first_;
  troupe::ref<board> late_;
  troupe::ref<alarm> alarm_;
};

}  // namespace

int main() {
  troupe::system system;
  const troupe::registry names(system);
  // The last quote is retained as long as a topic object exists.
  const troupe::topic<quote> all(system, prices, retaining);
  const std::vector<std::string> symbols{"ACME", "INIT", "UMBR"};
  std::vector<troupe::ref<source>> sources;
  for (const std::string& each : symbols) {
    sources.push_back(system.spawn<source>(each, 100 * static_cast<long>(1 + sources.size())));
    if (!names.add("source/" + each, sources.back())) return 1;
  }
  return system.spawn<market>(symbols).join() == troupe::exit_reason::stopped ? 0 : 1;
}
