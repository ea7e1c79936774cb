// SPDX-License-Identifier: Apache-2.0
//
// Pipelines, fans and cycles of 1 to 50 actors under backpressure, with limits from one message to
// the default. Nothing may be lost or overtaken. Prints three tables:
//
//   throughput   with the limit and without one, in rounds that alternate; the median of the
//                rounds' ratios, with the least and the greatest. For cycles also the longest time
//                in which nothing was handled, and the same without limits, where no actor is ever
//                suspended: that part is due to the host.
//   memory       the bound that the documentation states, and the measured peak, of the bytes in
//                mailboxes and of the overdraft. In runs of their own, which count each message.
//   wait cycles  the time from the end of the handler that would have completed a wait cycle to the
//                next handler of the same actor, which continues beyond the limit.
//
// Bars: a ratio of at least 0.7 in graphs without cycles, for limits from 1,024 on; 10 ms for a
// wait cycle. Exits with 1 if a message is lost or a bound of memory is exceeded, whatever the
// times are.
//
//   overload_graphs_bench [--smoke] [--messages N] [--repeat N] [--graph NAME]
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

namespace {

using troupe::actor;
using troupe::delivery;
using troupe::recipient;
using troupe::ref;
using namespace std::chrono_literals;

constexpr double least_ratio = 0.7;
constexpr std::size_t bar_from_limit = 1'024;
constexpr double most_cycle_us = 10'000;

struct item {
  std::uint32_t from;
  std::uint32_t number;
};
struct next {};

// ── Counting ────────────────────────────────────────────────────────────────────────────────────

/// Raises `to` to `value`, from any thread.
void raise(troupe::atomic<std::int64_t>& to, std::int64_t value) {
  std::int64_t before = to.load(troupe::relaxed);
  while (before < value && !to.compare_exchange_weak(before, value, troupe::relaxed)) {
  }
}

/// Counts the items that wait in mailboxes, and notes the peaks.
///
/// Threads: any. Exact: an item counts from before it is sent until its handler begins.
class account {
 public:
  void set(troupe::system& of) { of_ = &of; }
  void sends() { raise(most_, waiting_.fetch_add(1, troupe::relaxed) + 1); }
  void handles() { waiting_.fetch_sub(1, troupe::relaxed); }
  /// Call after each send. Only a message beyond a limit raises the overdraft.
  void sent(delivery became) {
    if (became == delivery::paused) look();
  }
  /// An actor's message to itself may be beyond the limit although it is just accepted.
  void look() { raise(overdraft_, static_cast<std::int64_t>(of_->statistics().overdraft_bytes)); }

  [[nodiscard]] std::int64_t most() const { return most_.load(troupe::relaxed); }
  [[nodiscard]] std::int64_t overdraft() const { return overdraft_.load(troupe::relaxed); }

 private:
  troupe::system* of_ = nullptr;
  troupe::atomic<std::int64_t> waiting_{0};
  troupe::atomic<std::int64_t> most_{0};
  troupe::atomic<std::int64_t> overdraft_{0};
};

/// Sends an item, and counts it if there is an account.
template <class To>
void send(const To& to, item i, account* counted) {
  if (counted == nullptr) {
    to.send(i);
  } else {
    counted->sends();
    counted->sent(to.send(i));
  }
}

// ── Actors ──────────────────────────────────────────────────────────────────────────────────────

/// Counts the messages, and checks that they arrive in order.
class sink : public actor {
 public:
  struct result {
    std::uint64_t got = 0;
    std::uint64_t out_of_order = 0;
  };
  sink(std::uint32_t sources, result& to, account* counted)
      : next_(sources), to_(to), counted_(counted) {}
  void on(item i) {
    if (counted_ != nullptr) counted_->handles();
    ++to_.got;
    if (next_[i.from]++ != i.number) ++to_.out_of_order;
  }

 private:
  std::vector<std::uint32_t> next_;
  result& to_;
  account* const counted_;
};

class stage : public actor {
 public:
  stage(recipient<item> to, account* counted) : to_(std::move(to)), counted_(counted) {}
  void on(item i) {
    if (counted_ != nullptr) counted_->handles();
    send(to_, i, counted_);
  }

 private:
  const recipient<item> to_;
  account* const counted_;
};

/// Sends one message to each receiver in a handler, and continues by sending a message to itself.
class source : public actor {
 public:
  source(std::vector<recipient<item>> to, std::uint32_t number, std::uint32_t messages,
         account* counted)
      : to_(std::move(to)), number_(number), messages_(messages), counted_(counted) {}
  void on(next) {
    for (const auto& each : to_) send(each, item{number_, sent_}, counted_);
    if (++sent_ < messages_) {
      self(this).send(next{});
    } else {
      stop();
    }
  }

 private:
  const std::vector<recipient<item>> to_;
  const std::uint32_t number_;
  const std::uint32_t messages_;
  account* const counted_;
  std::uint32_t sent_ = 0;
};

class ring_member;
// The member whose handler has run last on this thread.
thread_local ring_member* last_here = nullptr;

/// Passes each message on, a given number of times.
class ring_member : public actor {
 public:
  ring_member(troupe::atomic<std::uint64_t>& done, account* counted, std::vector<double>& cycles)
      : done_(done), counted_(counted), cycles_(cycles) {}
  void on(const ref<ring_member>& to) { to_ = to; }
  void on(item i) {
    if (counted_ == nullptr) return pass_on(i);
    if (in_cycle_) {
      cycles_.push_back(
          std::chrono::duration<double, std::micro>(troupe::clock::now() - over_).count());
      in_cycle_ = false;
    }
    counted_->handles();
    pass_on(i);
    if (to_ && to_.address() == self()) counted_->look();
    last_here = this;
    over_ = troupe::clock::now();
  }
  /// At the end of its turn: waiting would complete a wait cycle, so it does not wait.
  void would_complete_a_cycle() { in_cycle_ = true; }

 private:
  void pass_on(item i) {
    if (i.number == 0) {
      ++done_;
    } else {
      send(to_, item{i.from, i.number - 1}, counted_);
    }
  }

  ref<ring_member> to_;
  troupe::atomic<std::uint64_t>& done_;
  account* const counted_;
  std::vector<double>& cycles_;  // microseconds
  troupe::time_point over_{};
  bool in_cycle_ = false;
};

// ── One run ─────────────────────────────────────────────────────────────────────────────────────

enum class shape { pipeline, fan_in, fan_out, cycle };

struct graph {
  shape what;
  const char* name;
  unsigned actors;

  /// The number of mailboxes that items are sent to.
  [[nodiscard]] unsigned mailboxes() const {
    switch (what) {
      case shape::pipeline:
        return actors + 1;
      case shape::fan_in:
        return 1;
      default:
        return actors;
    }
  }
  /// The senders of all these mailboxes together. Each sends one item to each in a handler.
  [[nodiscard]] unsigned senders() const { return what == shape::fan_in ? actors : mailboxes(); }
};

struct outcome {
  double rate = 0;  // messages per second, counted each time that one is handled
  std::uint64_t wait_cycles = 0;
  std::uint64_t suspended = 0;
  double still_ms = 0;  // the longest time in which no message was handled
  bool holds = false;
  std::int64_t most_waiting = 0;
  std::int64_t most_overdraft = 0;
  std::vector<double> cycles;  // microseconds
};

/// Checks frequently whether messages are handled.
class standstill {
 public:
  explicit standstill(troupe::system& of) : of_(of) {}
  void look() {
    const std::uint64_t handled = of_.statistics().messages_handled;
    const auto now = troupe::clock::now();
    if (std::exchange(handled_, handled) != handled) since_ = now;
    longest_ = std::max(longest_, now - since_);
  }
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(longest_).count();
  }

 private:
  troupe::system& of_;
  std::uint64_t handled_ = 0;
  troupe::time_point since_ = troupe::clock::now();
  troupe::duration longest_{0};
};

constexpr std::uint32_t on_their_way = 200;  // items in a cycle

troupe::spawn_options limited(std::size_t limit) {
  return {.max_messages = limit,
          .max_bytes = limit == troupe::no_limit ? limit : std::size_t{8} << 20};
}

troupe::system_options options_for(const account* counted) {
  troupe::system_options options;
  if (counted == nullptr) return options;
  options.on_overload = [](const troupe::overload_event& e) {
    using kind = troupe::overload_event::kind;
    if (e.what == kind::wait_cycle && last_here != nullptr) last_here->would_complete_a_cycle();
  };
  return options;
}

/// `messages`: how many are handled, about. `counted`: null if only the time matters.
outcome measure(const graph& of, std::size_t limit, std::uint32_t messages, account* counted) {
  const unsigned actors = of.actors;
  std::vector<std::vector<double>> cycles(actors);
  std::vector<sink::result> results(of.what == shape::fan_out ? actors : 1);
  troupe::atomic<std::uint64_t> done{0};
  troupe::system s(options_for(counted));
  if (counted != nullptr) counted->set(s);
  std::uint64_t handled = 0;
  std::uint64_t expected = 0;
  standstill still(s);
  const auto start = troupe::clock::now();
  const auto deadline = start + 60s;
  if (of.what == shape::cycle) {
    std::vector<ref<ring_member>> all;
    for (unsigned i = 0; i < actors; ++i) {
      all.push_back(s.spawn<ring_member>(limited(limit), done, counted, cycles[i]));
    }
    for (unsigned i = 0; i < actors; ++i) all[i].send(all[(i + 1) % actors]);
    const std::uint32_t rounds = messages / on_their_way;
    for (std::uint32_t i = 0; i < on_their_way; ++i) {
      send(all[i % actors], item{0, rounds}, counted);
    }
    expected = on_their_way;
    handled = std::uint64_t{on_their_way} * (rounds + 1);
    while (done != expected && troupe::clock::now() < deadline) {
      std::this_thread::sleep_for(100us);
      still.look();
    }
    for (const auto& each : all) each.send(ref<ring_member>{});
  } else {
    std::vector<ref<source>> sources;
    {
      std::vector<recipient<item>> ends;
      const std::uint32_t from = of.what == shape::fan_in ? actors : 1;
      for (auto& each : results) ends.push_back(s.spawn<sink>(limited(limit), from, each, counted));
      recipient<item> first = ends.front();
      if (of.what == shape::pipeline) {
        for (unsigned i = 0; i < actors; ++i) {
          first = s.spawn<stage>(limited(limit), first, counted);
        }
        ends = {first};
      }
      const std::uint32_t hops = of.what == shape::pipeline ? actors + 1 : 1;
      const std::uint32_t each =
          messages / (from * hops * static_cast<std::uint32_t>(ends.size())) + 1;
      for (std::uint32_t i = 0; i < from; ++i) {
        sources.push_back(s.spawn<source>(ends, i, each, counted));
      }
      expected = std::uint64_t{each} * from * ends.size();
      handled = expected * hops;
    }
    for (const auto& each : sources) each.send(next{});
    sources.clear();
    // All unreferenced actors terminate when they have nothing left to do.
    while (s.statistics().actors_alive != 0 && troupe::clock::now() < deadline) {
      std::this_thread::sleep_for(100us);
    }
  }
  const double seconds = std::chrono::duration<double>(troupe::clock::now() - start).count();
  // No handler of a cycle runs any more when all have terminated.
  while (s.statistics().actors_alive != 0 && troupe::clock::now() < deadline) {
    std::this_thread::sleep_for(100us);
  }
  const troupe::statistics now = s.statistics();
  std::uint64_t got = done;
  std::uint64_t out_of_order = 0;
  for (const auto& each : results) {
    got += each.got;
    out_of_order += each.out_of_order;
  }
  outcome o;
  o.rate = static_cast<double>(handled) / seconds;
  o.wait_cycles = now.wait_cycles;
  o.suspended = now.pauses;
  o.still_ms = still.milliseconds();
  o.holds = got == expected && out_of_order == 0 && now.messages_refused == 0;
  if (counted != nullptr) {
    o.most_waiting = counted->most();
    o.most_overdraft = counted->overdraft();
  }
  for (const auto& each : cycles) o.cycles.insert(o.cycles.end(), each.begin(), each.end());
  if (!o.holds) {
    std::printf("BROKEN: %llu of %llu came, %llu out of order, %llu refused\n",
                static_cast<unsigned long long>(got), static_cast<unsigned long long>(expected),
                static_cast<unsigned long long>(out_of_order),
                static_cast<unsigned long long>(now.messages_refused));
  }
  return o;
}

// ── Tables ──────────────────────────────────────────────────────────────────────────────────────

constexpr std::size_t limits[] = {1, 2, 16, 64, 1'024, 65'536};
constexpr unsigned sizes[] = {1, 2, 5, 10, 50};

double quantile(std::vector<double> of, double part) {
  if (of.empty()) return 0;
  std::sort(of.begin(), of.end());
  return of[static_cast<std::size_t>(part * static_cast<double>(of.size() - 1) + 0.5)];
}

/// The bytes that one item counts for in a mailbox.
std::uint64_t charge_of_an_item() {
  std::vector<sink::result> results(1);
  troupe::system s({.workers = 1});
  troupe::pump here(s);  // never run: the item stays in the mailbox
  const auto to = s.spawn<sink>(troupe::spawn_options{.where = troupe::bound_to(here)}, 1u,
                                results.front(), static_cast<account*>(nullptr));
  const std::uint64_t before = s.statistics().message_bytes_waiting;
  to.send(item{0, 0});
  const std::uint64_t bytes = s.statistics().message_bytes_waiting - before;
  here.run_until_idle();
  return bytes;
}

/// Prints the lines of one graph. `good`: nothing was lost. `met`: the bar is.
void compare_throughput(const graph& of, std::uint32_t messages, unsigned repeat, bool& good,
                        bool& met) {
  std::vector<double> without;
  double still_without = 0;
  double still[std::size(limits)] = {};
  std::vector<double> with[std::size(limits)];
  std::vector<double> ratios[std::size(limits)];
  outcome last[std::size(limits)];
  outcome free;
  const auto measure_without = [&] {
    free = measure(of, troupe::no_limit, messages, nullptr);
    good &= free.holds;
    without.push_back(free.rate);
    still_without = std::max(still_without, free.still_ms);
  };
  for (unsigned round = 0; round < repeat; ++round) {
    // Every other round in the reverse order. Otherwise one of them would always find the memory
    // that the one before has left, and another one would not.
    const bool is_reverse = round % 2 != 0;
    if (!is_reverse) measure_without();
    for (std::size_t k = 0; k < std::size(limits); ++k) {
      const std::size_t i = is_reverse ? std::size(limits) - 1 - k : k;
      last[i] = measure(of, limits[i], messages, nullptr);
      good &= last[i].holds;
      with[i].push_back(last[i].rate);
      still[i] = std::max(still[i], last[i].still_ms);
    }
    if (is_reverse) measure_without();
    for (std::size_t i = 0; i < std::size(limits); ++i) {
      ratios[i].push_back(last[i].rate / free.rate);
    }
  }
  for (std::size_t i = 0; i < std::size(limits); ++i) {
    const double ratio = quantile(ratios[i], 0.5);
    const bool counts = of.what != shape::cycle && limits[i] >= bar_from_limit;
    met &= !counts || ratio >= least_ratio;
    std::printf("%-9s %6u %7zu %10.2f %10.2f %7.2f (%.2f–%.2f)%s %11llu %11llu", of.name, of.actors,
                limits[i], quantile(with[i], 0.5) / 1e6, quantile(without, 0.5) / 1e6, ratio,
                quantile(ratios[i], 0), quantile(ratios[i], 1),
                counts && ratio < least_ratio ? " !" : "  ",
                static_cast<unsigned long long>(last[i].suspended),
                static_cast<unsigned long long>(last[i].wait_cycles));
    of.what == shape::cycle ? std::printf(" %9.1f %9.1f\n", still[i], still_without)
                            : std::printf("\n");
  }
}

/// Prints a line for each limit, and adds the wait cycles to those of all. False: a bound is
/// exceeded, or a message was lost.
bool compare_memory(const graph& of, std::uint32_t messages, unsigned repeat, std::uint64_t charge,
                    std::vector<outcome>& cycles) {
  bool good = true;
  for (std::size_t i = 0; i < std::size(limits); ++i) {
    outcome most;
    for (unsigned round = 0; round < repeat; ++round) {
      account counted;
      outcome one = measure(of, limits[i], messages, &counted);
      good &= one.holds;
      most.most_waiting = std::max(most.most_waiting, one.most_waiting);
      most.most_overdraft = std::max(most.most_overdraft, one.most_overdraft);
      most.wait_cycles += one.wait_cycles;
      most.cycles.insert(most.cycles.end(), one.cycles.begin(), one.cycles.end());
    }
    // Each mailbox holds its limit, and the items of two handlers of each of its senders: a sender
    // that is suspended while the reader, which has found room, is about to resume the others, is
    // resumed with them. In a cycle, whose members continue rather than wait for each other, all
    // items may be anywhere.
    const bool is_cycle = of.what == shape::cycle;
    const std::uint64_t beyond = is_cycle ? on_their_way : std::uint64_t{2} * of.senders();
    const std::uint64_t bound =
        charge * (is_cycle ? on_their_way : of.mailboxes() * limits[i] + beyond);
    const std::uint64_t waited = charge * static_cast<std::uint64_t>(most.most_waiting);
    const auto overdraft = static_cast<std::uint64_t>(most.most_overdraft);
    const bool holds = waited <= bound && overdraft <= charge * beyond;
    good &= holds;
    std::printf("%-9s %6u %7zu %12llu %12llu %12llu %12llu%s\n", of.name, of.actors, limits[i],
                static_cast<unsigned long long>(bound), static_cast<unsigned long long>(waited),
                static_cast<unsigned long long>(charge * beyond),
                static_cast<unsigned long long>(overdraft), holds ? "" : "  BROKEN");
    cycles.push_back(std::move(most));
  }
  return good;
}

void print_cycles(const char* name, std::size_t limit, const outcome& of) {
  const auto over = std::count_if(of.cycles.begin(), of.cycles.end(),
                                  [](double us) { return us > most_cycle_us; });
  std::printf("%-9s %7zu %10llu %10zu %9.1f %9.1f %9.1f %9.1f %9.1f %8lld\n", name, limit,
              static_cast<unsigned long long>(of.wait_cycles), of.cycles.size(),
              quantile(of.cycles, 0.5), quantile(of.cycles, 0.9), quantile(of.cycles, 0.99),
              quantile(of.cycles, 0.999), quantile(of.cycles, 1), static_cast<long long>(over));
}

}  // namespace

int main(int count, char** arguments) {
  std::uint32_t messages = 1'000'000;
  unsigned repeat = 5;
  std::string_view only;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") {
      messages = 10'000;
      repeat = 1;
    } else if (argument == "--messages" && i + 1 < count) {
      messages = static_cast<std::uint32_t>(std::strtoul(arguments[++i], nullptr, 10));
    } else if (argument == "--repeat" && i + 1 < count) {
      repeat = std::max(1u, static_cast<unsigned>(std::strtoul(arguments[++i], nullptr, 10)));
    } else if (argument == "--graph" && i + 1 < count) {
      only = arguments[++i];
    } else {
      std::fprintf(stderr,
                   "usage: overload_graphs_bench [--smoke] [--messages N] [--repeat N] "
                   "[--graph NAME]\n");
      return 2;
    }
  }
  std::vector<graph> graphs;
  for (const auto& [what, name] :
       {std::pair{shape::pipeline, "pipeline"}, std::pair{shape::fan_in, "fan-in"},
        std::pair{shape::fan_out, "fan-out"}, std::pair{shape::cycle, "cycle"}}) {
    if (!only.empty() && only != name) continue;
    for (const unsigned actors : sizes) graphs.push_back({what, name, actors});
  }
  if (graphs.empty()) {
    std::fprintf(stderr,
                 "overload_graphs_bench: --graph is pipeline, fan-in, fan-out or cycle, not %.*s\n",
                 static_cast<int>(only.size()), only.data());
    return 2;
  }

  bool good = true;
  bool is_fast = true;
  std::printf("%-9s %6s %7s %10s %10s %7s %13s %11s %11s %9s %9s\n", "graph", "actors", "limit",
              "M msg/s", "unlimited", "ratio", "", "suspended", "wait cycles", "still ms",
              "unlimited");
  for (const graph& each : graphs) compare_throughput(each, messages, repeat, good, is_fast);

  const std::uint64_t charge = charge_of_an_item();
  std::vector<outcome> cycles;
  std::printf("\nBytes; an item is %llu\n%-9s %6s %7s %12s %12s %12s %12s\n",
              static_cast<unsigned long long>(charge), "graph", "actors", "limit", "bound", "peak",
              "overdraft", "peak");
  for (const graph& each : graphs) {
    const std::size_t from = cycles.size();
    good &= compare_memory(each, messages / 5, repeat, charge, cycles);
    if (each.what != shape::cycle) cycles.resize(from);
  }

  bool is_short = true;
  if (!cycles.empty()) {
    std::printf("\nWait cycles, us\n%-9s %7s %10s %10s %9s %9s %9s %9s %9s %8s\n", "actors",
                "limit", "cycles", "timed", "p50", "p90", "p99", "p99.9", "max", "> 10 ms");
    outcome all;
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      const std::string actors = std::to_string(sizes[i / std::size(limits)]);
      if (cycles[i].wait_cycles != 0) {
        print_cycles(actors.c_str(), limits[i % std::size(limits)], cycles[i]);
      }
      all.wait_cycles += cycles[i].wait_cycles;
      all.cycles.insert(all.cycles.end(), cycles[i].cycles.begin(), cycles[i].cycles.end());
    }
    print_cycles("all", 0, all);
    is_short = quantile(all.cycles, 1) <= most_cycle_us;
  }

  std::printf("\nnothing lost, nothing overtaken, within the bounds of memory: %s\n",
              good ? "yes" : "NO");
  std::printf("without cycles, limits from %zu on, a ratio of at least %.1f: %s\n", bar_from_limit,
              least_ratio, is_fast ? "met" : "NOT met");
  if (!cycles.empty()) {
    std::printf("each wait cycle continues within 10 ms: %s\n", is_short ? "met" : "NOT met");
  }
  return good ? 0 : 1;
}
