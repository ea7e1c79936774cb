// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

#include "lab/frame/experiment.hpp"
#include "lab/frame/process.hpp"
#include "lab/frame/stopwatch.hpp"
#include "lab/mailboxes/of_troupe.hpp"
#include "lab/mailboxes/segments.hpp"
#include "lab/mailboxes/two_stacks.hpp"

// Threads in a ring, in lock step. In each cycle a thread fills its own cell, and then empties the
// one that is `shift` further: a neighbour's, or its own. The variants differ in what a cell
// transfers.

namespace troupe::lab::experiments {

namespace {

struct object {
  std::array<void*, 6> fields{};
};
static_assert(sizeof(object) == 48);

constexpr std::size_t objects_max = 1'024;

void look_at(const object& one) noexcept { asm volatile("" : : "r"(one.fields[0]) : "memory"); }

// ── How to wait ───────────────────────────────────────────────────────────────────────────────

struct by_yield {
  void operator()() noexcept { std::this_thread::yield(); }
};

// With more threads than cores, a thread has to yield at intervals.
struct by_pause {
  void operator()() noexcept {
    cpu_relax();
    if (++count % 65'536 == 0) std::this_thread::yield();
  }
  std::uint32_t count = 0;
};

// ── Transferred objects ───────────────────────────────────────────────────────────────────────

struct from_new {
  static object* make() { return new object; }
  static void drop(object* one) { delete one; }
};

struct from_pool {
  static object* make() { return ::new (pool_allocate(sizeof(object))) object; }
  static void drop(object* one) { pool_release(one, sizeof(object)); }
};

// Transfers only the cell's own words: the minimum cost of a transfer.
struct from_nowhere {
  static object* make() {
    static object only;
    return &only;
  }
  static void drop(object*) {}
};

template <class From>
class pointers {
 public:
  explicit pointers(std::size_t count) : pointers_(count) {}

  void fill() {
    for (object*& each : pointers_) each = From::make();
  }
  void empty() {
    for (object*& each : pointers_) {
      look_at(*each);
      From::drop(std::exchange(each, nullptr));
    }
  }

 private:
  std::vector<object*> pointers_;
};

// Copies in the cell's own memory: the object is built where it is read.
template <std::size_t Most>
class copies {
 public:
  explicit copies(std::size_t count) : count_(static_cast<std::uint32_t>(count)) {}

  void fill() {
    for (std::uint32_t i = 0; i < count_; ++i) std::construct_at(at(i));
  }
  void empty() {
    for (std::uint32_t i = 0; i < count_; ++i) {
      look_at(*at(i));
      std::destroy_at(at(i));
    }
  }

 private:
  object* at(std::size_t i) noexcept { return reinterpret_cast<object*>(room_) + i; }

  const std::uint32_t count_;
  alignas(object) std::byte room_[Most * sizeof(object)];
};

template <class Box>
class through_mailbox {
 public:
  explicit through_mailbox(std::size_t count) : count_(count) {}

  void fill() {
    for (std::size_t i = 0; i < count_; ++i) (void)box_.push(object{});
  }
  void empty() {
    box_.drain([](object&& one) { look_at(one); });
  }

 private:
  const std::size_t count_;
  Box box_;
};

template <class Load>
struct alignas(cache_line_bytes) cell {
  explicit cell(std::size_t count) : load(count) {}

  atomic<std::uint32_t> is_full{0};
  Load load;
};

// ── The ring ──────────────────────────────────────────────────────────────────────────────────

struct ring {
  std::uint64_t threads;
  std::uint64_t cycles;
  std::uint64_t objects;
  std::uint64_t shift;
};

// Returns the duration in seconds.
template <class Load, class Wait>
double turn(const ring& how) {
  std::vector<std::unique_ptr<cell<Load>>> cells;
  for (std::uint64_t i = 0; i < how.threads; ++i) {
    cells.push_back(std::make_unique<cell<Load>>(how.objects));
  }
  const stopwatch watch;
  {
    std::vector<jthread> threads;
    for (std::uint64_t t = 0; t < how.threads; ++t) {
      threads.emplace_back(
          [&how, &mine = *cells[t], &other = *cells[(t + how.shift) % how.threads]] {
            Wait wait;
            for (std::uint64_t i = 0; i < how.cycles; ++i) {
              while (mine.is_full.load(acquire) != 0) wait();  // [cell] acquire: it was emptied
              mine.load.fill();
              mine.is_full.store(1, release);                   // [cell] release: it is full
              while (other.is_full.load(acquire) == 0) wait();  // [cell] acquire: it is full
              other.load.empty();
              other.is_full.store(0, release);  // [cell] release: it is empty
            }
          });
    }
  }
  return watch.wall_s();
}

template <class Load>
double turn(const ring& how, bool pause) {
  return pause ? turn<Load, by_pause>(how) : turn<Load, by_yield>(how);
}

template <class Load, std::uint64_t Shift>
void run(trial& t) {
  const ring how{t["threads"], t["cycles"], t["objects"], Shift};
  const bool pause = t["wait"] == 1;
  // The baseline runs in the same process, half before and half after, so that both parts of the
  // ratio are of the same time.
  ring half = how;
  half.cycles = std::max<std::uint64_t>(1, how.cycles / 2);
  double least = turn<pointers<from_nowhere>>(half, pause);
  const double took = turn<Load>(how, pause);
  least += turn<pointers<from_nowhere>>(half, pause);
  const auto cycles = static_cast<double>(how.cycles);
  const auto objects = cycles * static_cast<double>(how.threads * how.objects);
  t.report("ns_per_cycle", "ns", took * 1e9 / cycles);
  t.report("rate", "objects/s", objects / took);
  t.report("ratio_to_assigns", "1",
           (took / cycles) / (least / static_cast<double>(2 * half.cycles)));
}

// A single object shares the cache line of the cell's word.
template <std::uint64_t Shift>
void run_copies(trial& t) {
  if (t["objects"] == 1) {
    run<copies<1>, Shift>(t);
  } else {
    run<copies<objects_max>, Shift>(t);
  }
}

// ── Other allocators ──────────────────────────────────────────────────────────────────────────

[[maybe_unused]] std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> all;
  for (std::string word; std::getline(file, word, '\0');) all.push_back(word);
  all.at(0) = "/proc/self/exe";
  return all;
}

// Runs in another process, in which new and delete are those of the library.
template <std::uint64_t Shift>
void run_with(trial& t, const char* library, const char* symbol) {
  if (::dlsym(RTLD_DEFAULT, symbol) != nullptr) {
    run<pointers<from_new>, Shift>(t);
    return;
  }
  if (std::getenv("TROUPE_LAB_PRELOADED") != nullptr) {
    throw std::runtime_error(std::string(library) + " was not loaded");
  }
  process_options options;
  options.environment = {{"LD_PRELOAD", library}, {"TROUPE_LAB_PRELOADED", "1"}};
  const process_outcome done = run_process(own_command(), options);
  if (!done.failure.empty()) throw std::runtime_error(done.failure + ": " + done.errors);
  std::istringstream lines(done.output);
  std::string metric, unit;
  for (double value = 0; lines >> metric >> unit >> value;) t.report(metric, unit, value);
}

#ifdef TROUPE_LAB_JEMALLOC
template <std::uint64_t Shift>
void run_jemalloc(trial& t) {
  run_with<Shift>(t, TROUPE_LAB_JEMALLOC, "mallctl");
}
#endif
#ifdef TROUPE_LAB_MIMALLOC
template <std::uint64_t Shift>
void run_mimalloc(trial& t) {
  run_with<Shift>(t, TROUPE_LAB_MIMALLOC, "mi_version");
}
#endif

constexpr const char* msvc = "MSVC 2013, 4 threads";
constexpr const char* gcc = "GCC 4.9, 2 threads";

template <std::uint64_t Shift>
void add_variants(std::vector<variant>& all) {
  const std::string shift = "shift " + std::to_string(Shift);
  all.push_back({"assigns", shift, run<pointers<from_nowhere>, Shift>});
  all.push_back({"allocs", shift + ", glibc", run<pointers<from_new>, Shift>});
#ifdef TROUPE_LAB_JEMALLOC
  all.push_back({"allocs", shift + ", jemalloc", run_jemalloc<Shift>});
#endif
#ifdef TROUPE_LAB_MIMALLOC
  all.push_back({"allocs", shift + ", mimalloc", run_mimalloc<Shift>});
#endif
  all.push_back({"troupe", shift + ", pool", run<pointers<from_pool>, Shift>});
  all.push_back({"troupe", shift + ", mailbox", run<through_mailbox<of_troupe<object>>, Shift>});
  all.push_back({"prototype", shift + ", cell", run_copies<Shift>});
  all.push_back(
      {"prototype", shift + ", two stacks", run<through_mailbox<two_stacks<object>>, Shift>});
  all.push_back({"prototype", shift + ", segments", run<through_mailbox<segments<object>>, Shift>});
}

}  // namespace

experiment handoff() {
  std::vector<variant> variants;
  add_variants<1>(variants);
  add_variants<0>(variants);
  return {
      .asks = "What does a message cost when one thread allocates it and another frees it?",
      .options = {{"cycles", "cycles of each thread", 1'000'000, 2'000},
                  {"threads", "threads in the ring",
                   std::max(1u, std::thread::hardware_concurrency()), 2, 1, 1'024,
                   std::max(1u, std::thread::hardware_concurrency())},
                  {"objects", "objects of 48 bytes in a cycle", 1, 1, 1, objects_max},
                  {"wait", "0: yield, 1: pause instruction", 0, 0, 0, 1}},
      .variants = std::move(variants),
      .figures = {{"allocs", "shift 1, glibc", "rate", 652'103, gcc},
                  {"assigns", "shift 1", "rate", 680'041, gcc},
                  {"allocs", "shift 0, glibc", "rate", 14'925'373, gcc},
                  {"assigns", "shift 0", "rate", 90'909'091, gcc},
                  {"allocs", "shift 1, MSVC", "rate", 4'197'272, msvc},
                  {"assigns", "shift 1", "rate", 6'153'846, msvc},
                  {"allocs", "shift 0, MSVC", "rate", 23'809'524, msvc},
                  {"assigns", "shift 0", "rate", 266'666'667, msvc}},
      .means =
          "Memory that one thread allocates and another frees costs most when the threads "
          "alternate for every object. Send copies rather than pointers, and do not let the "
          "receiver free the sender's memory.",
  };
}

}  // namespace troupe::lab::experiments
