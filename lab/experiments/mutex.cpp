// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <semaphore.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/sync/adaptive_mutex.hpp>
#include <vector>

#include "lab/frame/experiment.hpp"
#include "lab/waiting/host_probe.hpp"
#include "lab/waiting/locks.hpp"
#include "lab/waiting/sample.hpp"
#include "lab/waiting/semaphores.hpp"

// The same critical sections under different locks. Waiting for events is another experiment,
// semaphore.

namespace troupe::lab::experiments {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

milliseconds time_of(const trial& t) { return milliseconds{t["ms"]}; }

// Dependent steps of about a nanosecond each.
void work(std::uint64_t steps) noexcept {
  std::uint64_t value = steps;
  for (std::uint64_t i = 0; i < steps; ++i) {
    value = value * 3 + 1;
    asm volatile("" : "+r"(value));
  }
}

constexpr std::uint64_t stop_interval = 16;

// ── One lock ──────────────────────────────────────────────────────────────────────────────────

template <class Lock>
timed_work one_lock(std::uint64_t threads, std::uint64_t steps, milliseconds time) {
  alignas(cache_line_bytes) Lock lock;
  alignas(cache_line_bytes) std::uint64_t inside = 0;
  const timed_work done =
      for_some_time(threads, time, [&](std::uint64_t, const atomic<bool>& stop) {
        std::uint64_t count = 0;
        do {
          for (std::uint64_t i = 0; i < stop_interval; ++i, ++count) {
            {
              const std::lock_guard holds(lock);
              ++inside;
              work(steps);
            }
            work(steps + 10);
          }
        } while (!stop.load(relaxed));  // [stop] relaxed: no data depends on it
        return count;
      });
  if (static_cast<double>(inside) != done.operations) {
    throw std::runtime_error("two threads held the lock at the same time");
  }
  return done;
}

// ── The lock of a TLS library ─────────────────────────────────────────────────────────────────

// A TLS library of that time required the program to provide its locks: 41 locks, each for one kind
// of object, taken to count references. OpenSSL 3 does its own locking, so this replaces it.
constexpr std::size_t kinds = 41;

template <class Lock>
timed_work count_references(std::uint64_t threads, milliseconds time, sample& late) {
  struct alignas(cache_line_bytes) kind {
    Lock lock;
    std::int64_t references = 0;
  };
  std::vector<kind> all(kinds);
  std::vector<sample> late_each(threads, sample(4'096));
  const auto change = [&](std::uint64_t which, std::int64_t by) {
    const std::lock_guard holds(all[which].lock);
    all[which].references += by;
  };
  const timed_work done =
      for_some_time(threads, time, [&](std::uint64_t thread, const atomic<bool>& stop) {
        std::uint64_t count = 0;
        std::uint64_t random = 88'172'645'463'325'252ull + thread;
        do {
          for (std::uint64_t i = 0; i < stop_interval; ++i, count += 2) {
            random ^= random << 13;  // G. Marsaglia, «Xorshift RNGs», 2003
            random ^= random >> 7;
            random ^= random << 17;
            const std::uint64_t which = random % kinds;
            change(which, 1);
            work(20);
            change(which, -1);
          }
          const auto before = steady_clock::now();
          change(random % kinds, 0);
          late_each[thread].add(
              std::chrono::duration<double, std::nano>(steady_clock::now() - before).count());
        } while (!stop.load(relaxed));  // [stop] relaxed: as above
        return count;
      });
  for (const kind& each : all) {
    if (each.references != 0) throw std::runtime_error("references were lost");
  }
  for (const sample& each : late_each) late.add(each);
  return done;
}

// ── Payload for an application ────────────────────────────────────────────────────────────────

// Two threads receive, and one is the application: a deque under the lock, and an event if it was
// empty. A producer yields if the deque is full.
template <class Lock>
timed_work hand_over(milliseconds time) {
  constexpr std::uint64_t producers = 2;
  constexpr std::size_t most = 1'024;
  using payload = std::vector<std::uint64_t>;
  Lock lock;
  std::deque<payload> queue;
  posix_semaphore filled;
  atomic<std::uint64_t> producing{producers};
  const auto produce = [&](const atomic<bool>& stop) {
    std::uint64_t count = 0;
    do {
      payload next(32, count);
      bool was_empty = false;
      bool is_full = false;
      {
        const std::lock_guard holds(lock);
        is_full = queue.size() == most;
        was_empty = queue.empty();
        if (!is_full) queue.push_back(std::move(next));
      }
      if (was_empty) filled.post();
      if (is_full) {
        std::this_thread::yield();
      } else {
        ++count;
      }
    } while (!stop.load(relaxed));    // [stop] relaxed: as above
    producing.fetch_sub(1, release);  // [producing] release: the pushed messages
    filled.post();
    return count;
  };
  const auto consume = [&] {
    std::uint64_t count = 0;
    for (;;) {
      payload next;
      bool got = false;
      const bool are_over =
          producing.load(acquire) == 0;  // [producing] acquire: all messages are in the deque
      {
        const std::lock_guard holds(lock);
        got = !queue.empty();
        if (got) {
          next = std::move(queue.front());
          queue.pop_front();
        }
      }
      if (got) {
        count += next.size() / 32;
      } else if (are_over) {
        return count;
      } else {
        filled.wait();
      }
    }
  };
  std::uint64_t consumed = 0;
  timed_work done =
      for_some_time(producers + 1, time, [&](std::uint64_t thread, const atomic<bool>& stop) {
        if (thread < producers) return produce(stop);
        consumed = consume();
        return std::uint64_t{0};
      });
  if (static_cast<double>(consumed) != done.operations)
    throw std::runtime_error("payload was lost");
  return done;
}

// ── All of it ─────────────────────────────────────────────────────────────────────────────────

void report(trial& t, const std::string& name, const char* unit, const timed_work& done) {
  t.report(name, unit, done.rate());
  t.report(name + "_cpu", "ns", done.cpu_ns_each());
}

// Another thread unlocks a lock that this thread holds.
template <class Lock>
std::string foreign_unlock() {
  Lock lock;
  lock.lock();
  std::error_code error;
  std::thread([&] { error = lock.unlock_checked(); }).join();
  if (!error) throw std::runtime_error("another thread could unlock the lock");
  lock.unlock();
  return "an unlock by another thread is reported: " + error.message();
}

template <class Lock>
void run(trial& t) {
  for (const bool is_long : {false, true}) {
    for (const std::uint64_t threads : {1u, 2u, 4u, 16u}) {
      report(t, (is_long ? "long_" : "short_") + std::to_string(threads), "locks/s",
             one_lock<Lock>(threads, is_long ? t["steps"] : 0, time_of(t)));
    }
  }
  // Measured next to std::mutex in the same process, half before and half after, so that both parts
  // of the ratio are of the same time.
  const std::uint64_t threads = t["tls_threads"];
  sample late;
  sample of_std;
  timed_work std_mutex = count_references<std::mutex>(threads, time_of(t) / 2, of_std);
  timed_work done = count_references<Lock>(threads, time_of(t), late);
  std_mutex.add(count_references<std::mutex>(threads, time_of(t) / 2, of_std));
  report(t, "tls", "locks/s", done);
  t.report("tls_p50", "ns", late.percentile(0.5));
  t.report("tls_p99", "ns", late.percentile(0.99));
  t.report("tls_to_std", "1", done.rate() / std_mutex.rate());

  std_mutex = hand_over<std::mutex>(time_of(t) / 2);
  done = hand_over<Lock>(time_of(t));
  std_mutex.add(hand_over<std::mutex>(time_of(t) / 2));
  report(t, "payload", "payloads/s", done);
  t.report("payload_to_std", "1", done.rate() / std_mutex.rate());
  t.report("payload_cpu_to_std", "1", done.cpu_ns_each() / std_mutex.cpu_ns_each());

  // Separately, because the probe itself takes CPU time.
  report_responsiveness(t, [&] {
    sample ignored;
    (void)count_references<Lock>(threads, time_of(t), ignored);
  });
  if constexpr (requires(Lock lock) { lock.unlock_checked(); }) t.note(foreign_unlock<Lock>());
}

// Under a real-time policy, sched_yield() lets all others run first; that requires a privilege.
// Threads inherit it.
void run_in_real_time(trial& t) {
  sched_param priority{};
  priority.sched_priority = 1;
  if (::sched_setscheduler(0, SCHED_RR, &priority) != 0) {
    t.not_measured(std::string("SCHED_RR is not permitted: ") + std::strerror(errno));
    return;
  }
  run<cas_lock<by_sched_yield>>(t);
}

constexpr const char* published_2018 = "2018, in a server";

}  // namespace

experiment mutex() {
  return {
      .asks = "How should a thread wait for a lock?",
      .options = {{"ms", "milliseconds for each case", 200, 10, 2, 60'000},
                  {"steps", "steps in a long section, a nanosecond each", 500, 50},
                  {"tls_threads", "threads that count references as a TLS library does", 16, 4, 1,
                   1'024}},
      .variants = {{"troupe", "", run<adaptive_mutex>},
                   {"troupe", "owner checked", run<owner_checked<adaptive_mutex>>},
                   {"std", "mutex", run<std::mutex>},
                   {"cas", "spins", run<cas_lock<not_at_all>>},
                   {"cas", "sched_yield", run<cas_lock<by_sched_yield>>},
                   {"cas", "sched_yield, SCHED_RR", run_in_real_time},
                   {"cas", "nanosleep 4 ns", run<cas_lock<by_nanosleep<4>>>},
                   {"cas", "nanosleep 1 us", run<cas_lock<by_nanosleep<1'000>>>},
                   {"cas", "nanosleep 100 us", run<cas_lock<by_nanosleep<100'000>>>},
                   {"cas", "nanosleep 1 ms", run<cas_lock<by_nanosleep<1'000'000>>>},
                   {"pthread", "spin lock", run<pthread_spin_lock>},
                   {"pthread", "adaptive mutex", run<pthread_adaptive_mutex>},
                   {"pthread", "error-checking mutex", run<pthread_checking_mutex>}},
      .figures = {{"cas", "spins", "tls_to_std", 0.5, published_2018},
                  {"cas", "sched_yield", "tls_to_std", 0.5, published_2018},
                  {"cas", "nanosleep 4 ns", "tls_to_std", 0.5, published_2018},
                  {"cas", "sched_yield, SCHED_RR", "payload_to_std", 0.962, published_2018},
                  {"cas", "sched_yield, SCHED_RR", "payload_cpu_to_std", 1.05, published_2018,
                   1.07},
                  {"cas", "nanosleep 4 ns", "payload_to_std", 0.988, published_2018},
                  {"cas", "nanosleep 4 ns", "payload_cpu_to_std", 0.8, published_2018, 0.88}},
      .means =
          "A spinning lock is good only while its owner runs: with more threads than cores, it "
          "wastes CPU time and is slower. Use a lock that spins briefly and then sleeps; better "
          "still, let one actor own the protected data.",
  };
}

}  // namespace troupe::lab::experiments
