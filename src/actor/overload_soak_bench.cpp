// SPDX-License-Identifier: Apache-2.0
//
// Actors with small mailboxes, with random limits, policies and placements, are flooded by threads
// and by each other, and terminate at random, round after round. No accepted message may be lost or
// handled twice, every refusal must be reported, and memory must not grow. Otherwise the exit
// status is 1.
//
//   overload_soak_bench [--smoke] [--seconds N] [--seed N]

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

namespace {

using namespace std::chrono_literals;
using troupe::atomic;
using troupe::delivery;
using troupe::overflow;
using troupe::ref;

using random_source = std::mt19937_64;

std::size_t below(random_source& random, std::size_t end) { return random() % end; }

/// The fates of the messages of one round.
struct ledger {
  explicit ledger(std::size_t most) : handled_times(most) {}

  std::vector<atomic<std::uint8_t>> handled_times;  // by number
  atomic<std::uint64_t> attempted{0};
  atomic<std::uint64_t> not_taken{0};  // according to send()
  atomic<std::uint64_t> handled{0};
  atomic<std::uint64_t> doubled{0};
  // According to the hooks.
  atomic<std::uint64_t> refused{0};
  atomic<std::uint64_t> dropped{0};
  atomic<std::uint64_t> redirected{0};
  atomic<std::uint64_t> paused{0};
  atomic<std::uint64_t> timed_out{0};
  atomic<std::uint64_t> dead{0};

  [[nodiscard]] bool take_number(std::uint64_t& number) {
    number = attempted.fetch_add(1);
    if (number < handled_times.size()) return true;
    --attempted;
    return false;
  }
  void count(delivery became) {
    if (became == delivery::refused || became == delivery::dropped) ++not_taken;
  }
};

template <std::size_t Bytes>
struct load {
  std::uint64_t number = 0;
  std::array<char, Bytes> bytes{};
};
struct text {
  std::uint64_t number = 0;
  std::string content;
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return content.capacity(); }
};

class node;
struct neighbour {
  ref<node> whom;
};

/// Sends a message of any kind; false when there are no numbers left.
bool send_any(ledger& all, const ref<node>& to, random_source& random);

class node : public troupe::actor {
 public:
  node(ledger& all, std::uint64_t seed) : all_(all), random_(seed) {}

  void on(const neighbour& n) { next_.push_back(n.whom); }
  void on(const load<8>& m) { take(m.number); }
  void on(const load<200>& m) { take(m.number); }
  void on(const load<2'000>& m) { take(m.number); }
  void on(const text& m) { take(m.number); }

 private:
  void take(std::uint64_t number) {
    if (all_.handled_times[number].fetch_add(1) != 0) ++all_.doubled;
    ++all_.handled;
    const std::size_t copies = next_.empty() ? 0 : below(random_, 3);
    for (std::size_t i = 0; i < copies; ++i) {
      send_any(all_, next_[below(random_, next_.size())], random_);
    }
    switch (below(random_, 300'000)) {
      case 0:
        throw std::runtime_error("at random");
      case 1:
        self(this).stop_now();
        break;
      case 2:
        stop();
        break;
      default:
        break;
    }
  }

  ledger& all_;
  random_source random_;
  std::vector<ref<node>> next_;
};

bool send_any(ledger& all, const ref<node>& to, random_source& random) {
  std::uint64_t number = 0;
  if (!all.take_number(number)) return false;
  switch (below(random, 8)) {
    case 0:
      all.count(to.send(load<2'000>{number, {}}));
      break;
    case 1:
    case 2:
      all.count(to.send(load<200>{number, {}}));
      break;
    case 3:
      all.count(to.send(text{number, std::string(below(random, 5'000), 'x')}));
      break;
    default:
      all.count(to.send(load<8>{number, {}}));
      break;
  }
  return true;
}

overflow any_policy(random_source& random, const std::vector<ref<node>>& others) {
  switch (below(random, 12)) {
    case 0:
      return overflow::refuse;
    case 1:
      return overflow::drop_newest;
    case 2:
    case 3:
      return overflow::drop_oldest;
    case 4:
      return overflow::fail_receiver;
    case 5:
    case 6:
      if (!others.empty()) return overflow::redirect_to(others[below(random, others.size())]);
      [[fallthrough]];
    default:
      return overflow::backpressure;
  }
}

long resident_kilobytes() {
  long pages = 0;
  long resident = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * 4;
}

struct sums {
  std::uint64_t rounds = 0;
  std::uint64_t sent = 0;
  std::uint64_t handled = 0;
  std::uint64_t refused = 0;
  std::uint64_t dropped = 0;
  std::uint64_t redirected = 0;
  std::uint64_t pauses = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t dead = 0;
};

bool expect(bool holds, const char* promise, std::uint64_t seed) {
  if (!holds)
    std::printf("BROKEN in the round with the seed %llu: %s\n",
                static_cast<unsigned long long>(seed), promise);
  return holds;
}

/// False if a promise was broken.
bool play_round(std::uint64_t seed, std::size_t messages, sums& total) {
  random_source random{seed};
  ledger all(messages);
  bool good = true;
  {
    troupe::system_options options;
    options.workers = 1 + static_cast<unsigned>(below(random, 3));
    if (below(random, 4) == 0) options.memory_budget = 200'000;
    options.on_failure = [](const troupe::failure&) {};
    options.on_dead_letter = [&](const troupe::dead_letter&) { ++all.dead; };
    options.on_overload = [&](const troupe::overload_event& e) {
      using kind = troupe::overload_event::kind;
      if (e.message == troupe::type_name<neighbour>()) return;
      switch (e.what) {
        case kind::refused:
          ++all.refused;
          break;
        case kind::dropped:
          ++all.dropped;
          break;
        case kind::redirected:
          ++all.redirected;
          break;
        case kind::paused:
          ++all.paused;
          break;
        case kind::pause_timed_out:
          ++all.timed_out;
          break;
        case kind::wait_cycle:
        case kind::budget_exhausted:
        case kind::overdraft_exhausted:
          break;
      }
    };
    troupe::system s{options};
    const troupe::budget group{100'000};
    std::vector<ref<node>> nodes;
    const std::size_t count = 1 + below(random, 30);
    for (std::size_t i = 0; i < count; ++i) {
      troupe::spawn_options how{.max_messages = std::size_t{1} << (3 + below(random, 6)),
                                .on_full = any_policy(random, nodes)};
      if (below(random, 10) == 0) how.where = troupe::own_thread;
      if (below(random, 3) == 0) how.max_bytes = 10'000 + below(random, 100'000);
      if (below(random, 4) == 0) how.memory_budget = group;
      nodes.push_back(s.spawn<node>(how, all, random()));
    }
    for (const auto& from : nodes) {
      for (std::size_t i = below(random, 4); i > 0; --i) {
        from.send(neighbour{nodes[below(random, count)]});
      }
    }
    // Messages sent so far are not in the ledger: none of them may be left over and reported as a
    // dead letter.
    while (s.statistics().messages_waiting != 0) std::this_thread::yield();
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 1 + below(random, 3); t > 0; --t) {
        threads.emplace_back([&, own = random()] {
          random_source mine{own};
          while (send_any(all, nodes[below(mine, nodes.size())], mine)) {
          }
        });
      }
    }
    good &= expect(s.shutdown(30s).complete(), "shutdown terminates all actors", seed);
    const troupe::statistics now = s.statistics();
    good &= expect(now.messages_refused >= all.refused, "refusals are counted", seed);
    good &= expect(now.messages_dropped >= all.dropped, "drops are counted", seed);
    good &= expect(now.pauses >= all.paused, "suspensions of senders are counted", seed);
    good &= expect(now.messages_waiting == 0, "no message waits after all actors have terminated",
                   seed);
    good &= expect(now.message_bytes_waiting == 0, "no bytes wait after all actors have terminated",
                   seed);
    good &= expect(now.senders_paused == 0,
                   "no sender is suspended after all actors have terminated", seed);
    good &= expect(group.used() == 0, "the memory budget is released", seed);
  }
  good &= expect(all.doubled == 0, "no message is handled twice", seed);
  // Each message that was sent was either handled, or reported as refused, dropped or dead.
  good &= expect(all.attempted == all.handled + all.refused + all.dropped + all.dead,
                 "every message is handled or reported", seed);
  if (!good) {
    std::printf(
        "sent %llu, handled %llu, refused %llu, dropped %llu, dead %llu\n",
        static_cast<unsigned long long>(all.attempted),
        static_cast<unsigned long long>(all.handled), static_cast<unsigned long long>(all.refused),
        static_cast<unsigned long long>(all.dropped), static_cast<unsigned long long>(all.dead));
  }
  total.rounds += 1;
  total.sent += all.attempted;
  total.handled += all.handled;
  total.refused += all.refused;
  total.dropped += all.dropped;
  total.redirected += all.redirected;
  total.pauses += all.paused;
  total.timed_out += all.timed_out;
  total.dead += all.dead;
  return good;
}

}  // namespace

int main(int count, char** arguments) {
  bool smoke = false;
  double seconds = 60;
  std::uint64_t seed = 1;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") {
      smoke = true;
      seconds = 0.5;
    } else if (argument == "--seconds" && i + 1 < count) {
      seconds = std::atof(arguments[++i]);
    } else if (argument == "--seed" && i + 1 < count) {
      seed = std::strtoull(arguments[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: overload_soak_bench [--smoke] [--seconds N] [--seed N]\n");
      return 2;
    }
  }
  const std::size_t messages = smoke ? 20'000 : 200'000;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));

  sums total;
  std::array<long, 4> resident{};
  bool good = true;
  const auto start = troupe::clock::now();
  for (std::size_t quarter = 0; quarter < resident.size(); ++quarter) {
    const auto end =
        start + std::chrono::duration_cast<troupe::duration>(
                    std::chrono::duration<double>(seconds * static_cast<double>(quarter + 1) / 4));
    do {
      good &= play_round(seed++, messages, total);
    } while (good && troupe::clock::now() < end);
    resident[quarter] = resident_kilobytes();
  }

  const auto line = [](const char* what, std::uint64_t figure) {
    std::printf("%-20s %14llu\n", what, static_cast<unsigned long long>(figure));
  };
  line("rounds", total.rounds);
  line("messages sent", total.sent);
  line("  handled", total.handled);
  line("  refused", total.refused);
  line("  dropped", total.dropped);
  line("  dead letters", total.dead);
  line("  redirected", total.redirected);
  line("pauses", total.pauses);
  line("  timed out", total.timed_out);
  for (std::size_t i = 0; i < resident.size(); ++i) {
    std::printf("resident, quarter %zu   %12ld KB\n", i + 1, resident[i]);
  }
  // The first quarter fills the caches; a leak would still grow after the second.
  if (!smoke && resident[3] > resident[1] + resident[1] / 4 + 4'096) {
    std::printf("BROKEN: memory grows\n");
    good = false;
  }
  return good ? 0 : 1;
}
