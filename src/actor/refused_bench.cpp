// SPDX-License-Identifier: Apache-2.0
//
// Measures what a send costs that its receiver does not take: refused by a full mailbox, and to a
// terminated actor (a dead letter). One sender, then two senders at a time with a receiver each, in
// rounds that alternate. Nothing is shared but the system, so a send should cost the same in both:
// the bar is 1.2 times. Senders are plain threads, or handlers on two workers; the system has no
// hook, or a hook that counts.
//
// Prints nanoseconds of the sender's own processor time, medians, and the median of the rounds'
// ratios with the least, the quartiles and the greatest. The first two lines are controls. Work that
// shares nothing at all should have a ratio of 1; otherwise the host is too busy. Work on one shared
// counter must have a ratio far above 1; otherwise the two senders did not run at the same time, and
// the other ratios mean nothing.
//
//   refused_bench [--smoke] [--rounds N] [--sends N] [NAME]
#include <time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <troupe/base/cache_line.hpp>
#include <troupe/sync/thread_traits.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

namespace {

using troupe::actor;
using troupe::ref;

constexpr double bar = 1.2;

/// With its header it has a cache line of its own. Two smaller messages, of 32 bytes each with the
/// header, may share a line, if a third thread has brought their blocks to both senders. Then a
/// send costs about twice as much; that is not what is measured here.
struct item {
  std::uint64_t number;
  std::uint64_t more[5] = {};
};
static_assert(sizeof(item) + sizeof(troupe::detail::envelope) == troupe::cache_line_bytes);

class receiver : public actor {
 public:
  static constexpr auto on_full = troupe::overflow_policy::refuse;
  void on(item) {}
};

// The count of the hook. Each thread has its own, so that the hook itself shares nothing.
thread_local std::uint64_t told = 0;

/// The processor time of this thread, in nanoseconds. Other programs that have the processor in
/// between do not count.
double processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// All senders of one measurement begin together, and each continues until all have done their
/// part, so that the measured part of each lies beside work of the others.
class together {
 public:
  explicit together(unsigned senders) : left_(senders), begins_(senders) {}

  /// Returns the nanoseconds for each call of `send`.
  template <class Send>
  double measure(std::size_t times, Send&& send) {
    begins_.fetch_sub(1, troupe::relaxed);
    while (begins_.load(troupe::relaxed) != 0) std::this_thread::yield();
    const double from = processor_time();
    for (std::size_t i = 0; i < times; ++i) send();
    const double took = processor_time() - from;
    left_.fetch_sub(1, troupe::relaxed);
    while (left_.load(troupe::relaxed) != 0) {
      for (int i = 0; i < 64; ++i) send();
    }
    return took / static_cast<double>(times);
  }

 private:
  alignas(troupe::cache_line_bytes) troupe::atomic<unsigned> left_;
  alignas(troupe::cache_line_bytes) troupe::atomic<unsigned> begins_;
};

struct begin {
  together* with;
  std::size_t times;
  double* result;
  std::latch* over;
};

/// Sends in a handler.
class sender : public actor {
 public:
  explicit sender(ref<receiver> to) : to_(std::move(to)) {}
  void on(const begin& b) {
    *b.result = b.with->measure(b.times, [&] { (void)to_.send(item{1}); });
    b.over->count_down();
  }

 private:
  const ref<receiver> to_;
};

std::vector<unsigned> first_cpus() {
  return troupe::usable_cpus() >= 2 ? std::vector<unsigned>{0, 1} : std::vector<unsigned>{};
}

/// Runs `send(i)` on thread i, each pinned to a processor of its own if there are two.
template <class Send>
double on_threads(unsigned senders, std::size_t times, const Send& send) {
  together all(senders);
  std::array<double, 2> ns{};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < senders; ++i) {
      threads.emplace_back([&, i] {
        if (const auto cpus = first_cpus(); !cpus.empty()) {
          troupe::thread_traits(cpus, 0, "refused_bench").pin_here(i);
        }
        ns[i] = all.measure(times, [&] { send(i); });
      });
    }
  }
  return (ns[0] + ns[1]) / senders;
}

/// One measurement, of one sender or of two.
using measurement = std::function<double(unsigned senders, std::size_t times)>;

enum class fate { refused, dead_letter };
enum class by { threads, handlers };

/// A system with two receivers that take nothing.
struct closed_receivers {
  closed_receivers(fate what, bool has_hooks)
      : system({.workers = 2,
                .blocking_threshold = {},
                .cpus = first_cpus(),
                .on_dead_letter = has_hooks ? [](const troupe::dead_letter&) { ++told; }
                                            : std::function<void(const troupe::dead_letter&)>(),
                .on_overload = has_hooks ? [](const troupe::overload_event&) { ++told; }
                                         : std::function<void(const troupe::overload_event&)>()}),
        pump(system) {
    for (int i = 0; i < 2; ++i) {
      // The pump is never run: the message in the mailbox stays there.
      to.push_back(system.spawn<receiver>(troupe::spawn_options{
          .where = what == fate::refused ? troupe::bound_to(pump) : troupe::pool,
          .max_messages = 1}));
      if (what == fate::refused) {
        (void)to.back().send(item{0});
      } else {
        to.back().stop();
        (void)to.back().join();
      }
      senders.push_back(system.spawn<sender>(to.back()));
    }
  }

  double measure(by whom, unsigned count, std::size_t times) {
    if (whom == by::threads) {
      return on_threads(count, times, [&](unsigned i) { (void)to[i].send(item{1}); });
    }
    together all(count);
    std::latch over(count);
    std::array<double, 2> ns{};
    for (unsigned i = 0; i < count; ++i) senders[i].send(begin{&all, times, &ns[i], &over});
    over.wait();
    return (ns[0] + ns[1]) / count;
  }

  troupe::system system;
  troupe::pump pump;
  std::vector<ref<receiver>> to;
  std::vector<ref<sender>> senders;
};

double quantile(std::vector<double> of, double part) {
  std::sort(of.begin(), of.end());
  const auto index = static_cast<std::size_t>(part * static_cast<double>(of.size() - 1) + 0.5);
  return of[index];
}

bool report(const std::string& name, unsigned rounds, std::size_t times, const measurement& one) {
  std::vector<double> alone;
  std::vector<double> both;
  std::vector<double> ratios;
  (void)one(2, times / 8 + 1);  // the first pages and blocks
  for (unsigned i = 0; i < rounds; ++i) {
    // In turns, also within a round.
    const bool alone_first = i % 2 == 0;
    if (alone_first) alone.push_back(one(1, times));
    both.push_back(one(2, times));
    if (!alone_first) alone.push_back(one(1, times));
    ratios.push_back(both.back() / alone.back());
  }
  const double ratio = quantile(ratios, 0.5);
  std::printf("%-34s %8.1f ns alone %8.1f ns both   ratio %5.2f  (%.2f, %.2f–%.2f, %.2f)\n",
              name.c_str(), quantile(alone, 0.5), quantile(both, 0.5), ratio, quantile(ratios, 0),
              quantile(ratios, 0.25), quantile(ratios, 0.75), quantile(ratios, 1));
  return ratio <= bar;
}

}  // namespace

int main(int count, char** arguments) {
  unsigned rounds = 21;
  std::size_t times = 200'000;
  std::string_view only;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") {
      rounds = 1;
      times = 200;
    } else if (argument == "--rounds" && i + 1 < count) {
      rounds = std::max(1u, static_cast<unsigned>(std::strtoul(arguments[++i], nullptr, 10)));
    } else if (argument == "--sends" && i + 1 < count) {
      times = std::max<std::size_t>(1, std::strtoul(arguments[++i], nullptr, 10));
    } else if (argument.starts_with("--")) {
      std::fprintf(stderr, "usage: refused_bench [--smoke] [--rounds N] [--sends N] [NAME]\n");
      return 2;
    } else {
      only = argument;
    }
  }
  const auto wanted = [&](std::string_view name) {
    return only.empty() || name.find(only) != std::string_view::npos;
  };

  for (const bool is_shared : {false, true}) {
    const std::string name = is_shared ? "control: shared, threads" : "control: private, threads";
    if (!wanted(name)) continue;
    struct alignas(troupe::cache_line_bytes) counter {
      troupe::atomic<std::uint64_t> value{0};
    };
    std::array<counter, 2> counters;
    (void)report(name, rounds, times, [&](unsigned senders, std::size_t each) {
      return on_threads(senders, each, [&](unsigned i) {
        counters[is_shared ? 0 : i].value.fetch_add(1, troupe::seq_cst);
      });
    });
  }

  bool all_met = true;
  for (const auto& [what, text] :
       {std::pair{fate::refused, "refused"}, std::pair{fate::dead_letter, "dead letter"}}) {
    for (const auto& [whom, from] :
         {std::pair{by::threads, "threads"}, std::pair{by::handlers, "handlers"}}) {
      for (const bool has_hooks : {false, true}) {
        const std::string name =
            std::string(text) + ", " + from + (has_hooks ? ", a hook" : ", no hook");
        if (!wanted(name)) continue;
        const auto those = std::make_unique<closed_receivers>(what, has_hooks);
        all_met &= report(name, rounds, times, [&, whom = whom](unsigned senders, std::size_t n) {
          return those->measure(whom, senders, n);
        });
      }
    }
  }
  std::printf("two senders cost at most %.1f times one: %s\n", bar, all_met ? "met" : "NOT met");
}
