// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of watching, linking, restarting, looking up a name, and publishing to 1, 10
// and 1,000 subscribers: nanoseconds and calls of operator new for each. Everything runs on one
// thread, with the subscribers on its pump.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/supervision/topic.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/troupe.hpp>

namespace {

troupe::atomic<std::uint64_t> allocations{0};

}  // namespace

// Not inlined: GCC would see a free() of memory from operator new, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, troupe::relaxed);
  if (void* const block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace {

struct measured {
  double nanoseconds;
  double allocated;
};

template <class Run>
measured measure(std::size_t times, Run&& run) {
  const std::uint64_t before = allocations.load(troupe::relaxed);
  const auto start = troupe::clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = troupe::clock::now() - start;
  const std::uint64_t after = allocations.load(troupe::relaxed);
  const auto n = static_cast<double>(times);
  return {took.count() / n, static_cast<double>(after - before) / n};
}

void report(const std::string& what, const measured& m) {
  std::printf("%-60s %9.1f ns %8.3f allocations\n", what.c_str(), m.nanoseconds, m.allocated);
}

struct watch_it {
  std::size_t times;
};
struct link_it {
  std::size_t times;
};

class other : public troupe::actor {};

class watcher : public troupe::actor {
 public:
  explicit watcher(const troupe::ref<other>& whom) : whom_(whom) {}
  void on(watch_it m) {
    report("watch() and unwatch()", measure(m.times, [&] {
             for (std::size_t i = 0; i < m.times; ++i) unwatch(watch(whom_));
           }));
    report("watch() of one by one actor, again and again", measure(m.times, [&] {
             for (std::size_t i = 0; i < m.times; ++i) watch(whom_);
           }));
  }
  void on(link_it m) {
    report("link() and unlink()", measure(m.times, [&] {
             for (std::size_t i = 0; i < m.times; ++i) link(whom_), unlink(whom_);
           }));
  }
  void on(const troupe::down&) { ++downs; }
  std::size_t downs = 0;

 private:
  troupe::ref<other> whom_;
};

void watching(troupe::system& in, troupe::pump& pump, std::size_t times) {
  const auto whom = in.spawn<other>(troupe::spawn_options{.where = bound_to(pump)});
  const auto w = in.spawn<watcher>(troupe::spawn_options{.where = bound_to(pump)}, whom);
  w.send(watch_it{times});
  w.send(link_it{times});
  pump.run_until_idle();
  report("down, from the end to the handler", measure(times, [&] {
           whom.stop();
           pump.run_until_idle();
         }));
  w.stop();
  pump.run_until_idle();
}

void naming(troupe::system& in, troupe::pump& pump, std::size_t times) {
  const auto whom = in.spawn<other>(troupe::spawn_options{.where = bound_to(pump)});
  const troupe::registry all(in);
  (void)all.add("bank/alice", whom);
  report("registry::find()", measure(times, [&] {
           for (std::size_t i = 0; i < times; ++i) (void)all.find<other>("bank/alice");
         }));
  report("registry::add() and remove()", measure(times, [&] {
           for (std::size_t i = 0; i < times; ++i) {
             (void)all.add("bank/bob", whom);
             (void)all.remove("bank/bob", whom);
           }
         }));
  whom.stop();
  pump.run_until_idle();
}

// Two types with the same bytes. Only one of them may be copied to each subscriber, if its size
// makes that preferable.
template <std::size_t Bytes>
struct plain {
  char bytes[Bytes];
};
template <std::size_t Bytes>
struct never_copied : plain<Bytes> {
  never_copied() = default;
  never_copied(const never_copied& from) : plain<Bytes>(from) {}
};

template <class M>
class reader : public troupe::actor {
 public:
  void on(const M& m) { sum_ += m.bytes[0]; }

 private:
  long sum_ = 0;
};

// Measures publishing and handling.
template <class M>
void publishing(const char* what, troupe::system& in, troupe::pump& pump, std::size_t messages) {
  for (const std::size_t count : {1u, 10u, 1'000u}) {
    std::vector<troupe::ref<reader<M>>> those;
    const troupe::topic<M> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      those.push_back(in.spawn<reader<M>>(troupe::spawn_options{.where = bound_to(pump)}));
      numbers.subscribe(those.back());
    }
    M m{};
    const std::size_t rounds = messages / count;
    const auto run = [&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        (void)numbers.publish(m);
        if (i % 16 == 15) pump.run_until_idle();
      }
      pump.run_until_idle();
    };
    run();  // warms up
    report(std::string(what) + " of " + std::to_string(sizeof(M)) + " bytes to " +
               std::to_string(count) + ", for each receiver",
           measure(rounds * count, run));
    for (const auto& each : those) each.stop();
    pump.run_until_idle();
  }
}

struct fail {};

class fragile : public troupe::actor {
 public:
  void on(fail) { throw 1; }
};

// Restarts one child by a supervisor on the same thread: notification, decision, and construction.
void restarting(troupe::system& in, troupe::pump& pump, std::size_t times) {
  auto spec = troupe::child<fragile>("fragile");
  spec.restart_policy(troupe::restart::always).options({.where = bound_to(pump)});
  const auto top = in.spawn<troupe::supervisor>(
      {.where = bound_to(pump)},
      troupe::supervision{
          .max_restarts = troupe::supervision::unlimited, .min_backoff = {}, .max_backoff = {}},
      spec);
  pump.run_until_idle();
  auto answer = top.ask<troupe::find_child<fragile>>(std::chrono::seconds(10), "fragile");
  pump.run_until_idle();
  const auto it = std::move(answer).get().value();
  report("restart after stop()", measure(times, [&] {
           for (std::size_t i = 0; i < times; ++i) {
             it.stop();
             pump.run_until_idle();
           }
         }));
  report("restart after an exception", measure(times, [&] {
           for (std::size_t i = 0; i < times; ++i) {
             it.send(fail{});
             pump.run_until_idle();
           }
         }));
  top.stop();
  pump.run_until_idle();
}

template <std::size_t Bytes>
void both(troupe::system& in, troupe::pump& pump, std::size_t messages) {
  publishing<plain<Bytes>>(troupe::detail::copied_to_each<plain<Bytes>> ? "copied" : "shared", in,
                           pump, messages);
  publishing<never_copied<Bytes>>("shared", in, pump, messages);
}

}  // namespace

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const std::size_t times = smoke ? 2'000 : 1'000'000;
  troupe::system system({.workers = 1,
                         .on_failure = [](const troupe::failure&) {},
                         .max_messages = troupe::no_limit,
                         .max_bytes = troupe::no_limit});
  troupe::pump pump(system);
  watching(system, pump, times);
  restarting(system, pump, times / 10);
  naming(system, pump, times);
  both<8>(system, pump, times);
  both<32>(system, pump, times);
  both<64>(system, pump, times);
  both<256>(system, pump, times);
  both<1024>(system, pump, times);
}
