// SPDX-License-Identifier: Apache-2.0
// Pipelines, fans and cycles of actors under backpressure, with limits from one message to the
// default. Checks that nothing is lost or overtaken, and compares the throughput with that without
// limits. For cycles it prints the longest time in which nothing was handled. Part of that is due
// to the host, so the time without limits, where no actor is ever suspended, is printed too. Exits
// with 1 if a message is lost.
//
//   overload_graphs_bench [--smoke] [--messages N] [--repeat N]
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
using troupe::recipient;
using troupe::ref;
using namespace std::chrono_literals;

struct item {
  std::uint32_t from;
  std::uint32_t number;
};
struct next {};

/// Counts the messages, and checks that they arrive in order.
class sink : public actor {
 public:
  struct result {
    std::uint64_t got = 0;
    std::uint64_t out_of_order = 0;
  };
  sink(std::uint32_t sources, result& to) : next_(sources), to_(to) {}
  void on(item i) {
    ++to_.got;
    if (next_[i.from]++ != i.number) ++to_.out_of_order;
  }

 private:
  std::vector<std::uint32_t> next_;
  result& to_;
};

class stage : public actor {
 public:
  explicit stage(recipient<item> to) : to_(std::move(to)) {}
  void on(item i) { to_.send(i); }

 private:
  const recipient<item> to_;
};

/// Sends one message to each receiver in a handler, and continues by sending a message to itself.
class source : public actor {
 public:
  source(std::vector<recipient<item>> to, std::uint32_t number, std::uint32_t messages)
      : to_(std::move(to)), number_(number), messages_(messages) {}
  void on(next) {
    for (const auto& each : to_) each.send(item{number_, sent_});
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
  std::uint32_t sent_ = 0;
};

/// Passes each message on, a given number of times.
class ring_member : public actor {
 public:
  explicit ring_member(troupe::atomic<std::uint64_t>& done) : done_(done) {}
  void on(const ref<ring_member>& to) { to_ = to; }
  void on(item i) {
    if (i.number == 0) {
      ++done_;
    } else {
      to_.send(item{i.from, i.number - 1});
    }
  }

 private:
  ref<ring_member> to_;
  troupe::atomic<std::uint64_t>& done_;
};

enum class shape { pipeline, fan_in, fan_out, cycle };

struct outcome {
  double rate = 0;  // messages per second, counted each time that one is handled
  std::uint64_t wait_cycles = 0;
  std::uint64_t suspended = 0;
  double still_ms = 0;  // the longest time in which no message was handled
  bool holds = false;
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

troupe::spawn_options limited(std::size_t limit) {
  return {.max_messages = limit,
          .max_bytes = limit == troupe::no_limit ? limit : std::size_t{8} << 20};
}

outcome measure(shape what, unsigned actors, std::size_t limit, std::uint32_t messages) {
  troupe::system s;
  std::vector<sink::result> results(what == shape::fan_out ? actors : 1);
  troupe::atomic<std::uint64_t> done{0};
  std::uint64_t handled = 0;
  std::uint64_t expected = 0;
  standstill still(s);
  const auto start = troupe::clock::now();
  if (what == shape::cycle) {
    std::vector<ref<ring_member>> all;
    for (unsigned i = 0; i < actors; ++i) all.push_back(s.spawn<ring_member>(limited(limit), done));
    for (unsigned i = 0; i < actors; ++i) all[i].send(all[(i + 1) % actors]);
    constexpr std::uint32_t on_their_way = 200;
    for (std::uint32_t i = 0; i < on_their_way; ++i) {
      all[i % actors].send(item{0, messages / on_their_way});
    }
    expected = on_their_way;
    handled = messages;
    const auto deadline = start + 60s;
    while (done != expected && troupe::clock::now() < deadline) {
      std::this_thread::sleep_for(100us);
      still.look();
    }
    for (const auto& each : all) each.send(ref<ring_member>{});
  } else {
    std::vector<ref<source>> sources;
    {
      std::vector<recipient<item>> ends;
      const std::uint32_t from = what == shape::fan_in ? actors : 1;
      for (auto& each : results) ends.push_back(s.spawn<sink>(limited(limit), from, each));
      recipient<item> first = ends.front();
      if (what == shape::pipeline) {
        for (unsigned i = 0; i < actors; ++i) first = s.spawn<stage>(limited(limit), first);
        ends = {first};
      }
      const std::uint32_t each = messages / (from * static_cast<std::uint32_t>(ends.size()));
      for (std::uint32_t i = 0; i < from; ++i) {
        sources.push_back(s.spawn<source>(limited(limit), ends, i, each));
      }
      expected = std::uint64_t{each} * from * ends.size();
      handled = expected * (what == shape::pipeline ? actors + 1 : 1);
    }
    for (const auto& each : sources) each.send(next{});
    sources.clear();
    // All unreferenced actors terminate when they have nothing left to do.
    const auto deadline = start + 60s;
    while (s.statistics().actors_alive != 0 && troupe::clock::now() < deadline) {
      std::this_thread::sleep_for(100us);
    }
  }
  const double seconds = std::chrono::duration<double>(troupe::clock::now() - start).count();
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
  if (!o.holds) {
    std::printf("BROKEN: %llu of %llu came, %llu out of order, %llu refused\n",
                static_cast<unsigned long long>(got), static_cast<unsigned long long>(expected),
                static_cast<unsigned long long>(out_of_order),
                static_cast<unsigned long long>(now.messages_refused));
  }
  return o;
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
  std::uint32_t messages = 1'000'000;
  unsigned repeat = 3;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") {
      messages = 20'000;
      repeat = 1;
    } else if (argument == "--messages" && i + 1 < count) {
      messages = static_cast<std::uint32_t>(std::strtoul(arguments[++i], nullptr, 10));
    } else if (argument == "--repeat" && i + 1 < count) {
      repeat = static_cast<unsigned>(std::strtoul(arguments[++i], nullptr, 10));
    } else {
      std::fprintf(stderr, "usage: overload_graphs_bench [--smoke] [--messages N] [--repeat N]\n");
      return 2;
    }
  }
  constexpr std::size_t limits[] = {1, 2, 16, 64, 1'024, 65'536};
  bool good = true;
  std::printf("%-9s %6s %7s %12s %12s %7s %11s %11s %9s %9s\n", "graph", "actors", "limit",
              "M msg/s", "unlimited", "ratio", "suspended", "wait cycles", "still ms", "unlimited");
  for (const auto& [what, name] :
       {std::pair{shape::pipeline, "pipeline"}, std::pair{shape::fan_in, "fan-in"},
        std::pair{shape::fan_out, "fan-out"}, std::pair{shape::cycle, "cycle"}}) {
    for (const unsigned actors : {1u, 2u, 5u, 10u, 50u}) {
      std::vector<double> unlimited;
      double still_unlimited = 0;
      double still[std::size(limits)] = {};
      std::vector<double> rates[std::size(limits)];
      outcome last[std::size(limits)];
      for (unsigned round = 0; round < repeat; ++round) {
        const outcome free = measure(what, actors, troupe::no_limit, messages);
        good &= free.holds;
        unlimited.push_back(free.rate);
        still_unlimited = std::max(still_unlimited, free.still_ms);
        for (std::size_t i = 0; i < std::size(limits); ++i) {
          last[i] = measure(what, actors, limits[i], messages);
          good &= last[i].holds;
          rates[i].push_back(last[i].rate);
          still[i] = std::max(still[i], last[i].still_ms);
        }
      }
      for (std::size_t i = 0; i < std::size(limits); ++i) {
        const double with = median(rates[i]);
        const double without = median(unlimited);
        std::printf("%-9s %6u %7zu %12.2f %12.2f %7.2f %11llu %11llu", name, actors, limits[i],
                    with / 1e6, without / 1e6, with / without,
                    static_cast<unsigned long long>(last[i].suspended),
                    static_cast<unsigned long long>(last[i].wait_cycles));
        what == shape::cycle ? std::printf(" %9.1f %9.1f\n", still[i], still_unlimited)
                             : std::printf("\n");
      }
    }
  }
  return good ? 0 : 1;
}
