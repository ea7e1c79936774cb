// SPDX-License-Identifier: Apache-2.0

// The workloads of src/actor/workloads_bench.cpp on the least that could be done: how far below us
// the floor is. It is no way to build an actor library: no references, failures, counters, timers,
// limits or shutdown.
//
//   workloads WORKLOAD [--smoke] [--workers N]
//
// One line: name, million messages (actors) a second, peak resident memory in kB; for idle the
// bytes that one actor with one pointer to it costs instead of a rate.
//
//   mailbox   a Treiber stack whose head also says idle or scheduled; drained whole, then reversed
//   memory    nodes of 32 bytes from thread-local free lists, which exchange batches of 512
//   worker    a private slot for the actor that was sent to last, a ring others steal from, and one
//             queue for all with a mutex, for foreign threads and what does not fit in a ring
//   sleep     a futex that counts the tickets of those who shall wake up

#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <latch>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using std::memory_order_acquire, std::memory_order_relaxed, std::memory_order_release,
    std::memory_order_acq_rel, std::memory_order_seq_cst;

// ── Messages and their memory ─────────────────────────────────────────────────────────────────

struct actor;

struct message {
  std::uint64_t value;
  actor* to_answer;
};

struct alignas(32) node {
  node* next;
  message content;
};

constexpr std::size_t batch_size = 512;

// Batches that a thread had too many of.
std::mutex depot_mutex;
std::vector<node*> depot;

class free_list {
 public:
  node* take() {
    if (current_ == nullptr) refill();
    node* n = current_;
    current_ = n->next;
    --count_;
    return n;
  }

  void give(node* n) {
    if (count_ == batch_size) {
      if (spare_ != nullptr) {
        const std::lock_guard lock(depot_mutex);
        depot.push_back(spare_);
      }
      spare_ = std::exchange(current_, nullptr);
      count_ = 0;
    }
    n->next = current_;
    current_ = n;
    ++count_;
  }

 private:
  [[gnu::noinline]] void refill() {
    current_ = std::exchange(spare_, nullptr);
    count_ = batch_size;
    if (current_ != nullptr) return;
    {
      const std::lock_guard lock(depot_mutex);
      if (!depot.empty()) {
        current_ = depot.back();
        depot.pop_back();
        return;
      }
    }
    node* fresh = new node[batch_size];
    for (std::size_t i = 0; i < batch_size; ++i) {
      fresh[i].next = i + 1 < batch_size ? &fresh[i + 1] : nullptr;
    }
    current_ = fresh;
  }

  node* current_ = nullptr;
  std::size_t count_ = 0;
  node* spare_ = nullptr;  // a whole batch, or nothing
};

constinit thread_local free_list nodes;

// ── Actors ────────────────────────────────────────────────────────────────────────────────────

node idle_mark;  // its address in `inbox` says that the actor is neither scheduled nor running

struct actor {
  // Returns false if the actor has deleted itself.
  virtual bool on(message m) = 0;

  std::atomic<node*> inbox{&idle_mark};

 protected:
  ~actor() = default;
};

void schedule(actor* a);

void send(actor* to, message m) {
  node* n = nodes.take();
  n->content = m;
  node* head = to->inbox.load(memory_order_relaxed);
  do {
    n->next = head == &idle_mark ? nullptr : head;
    // [inbox] release: who drains the stack sees the message.
  } while (!to->inbox.compare_exchange_weak(head, n, memory_order_release, memory_order_relaxed));
  if (head == &idle_mark) schedule(to);
}

void run(actor* a) {
  // [inbox] acquire: the messages; and what the actor did in its last turn, perhaps elsewhere.
  node* newest = a->inbox.exchange(nullptr, memory_order_acquire);
  node* oldest = nullptr;
  while (newest != nullptr) oldest = std::exchange(newest, std::exchange(newest->next, oldest));
  while (oldest != nullptr) {
    node* n = std::exchange(oldest, oldest->next);
    const message m = n->content;
    nodes.give(n);
    if (!a->on(m)) return;
  }
  node* empty = nullptr;
  // [inbox] release: the actor's next turn sees what this one did.
  if (!a->inbox.compare_exchange_strong(empty, &idle_mark, memory_order_release,
                                        memory_order_relaxed)) {
    schedule(a);
  }
}

// ── Workers ───────────────────────────────────────────────────────────────────────────────────

// First in, first out; only the owner puts actors in.
class ring {
 public:
  bool put(actor* a) {
    const std::uint64_t tail = tail_.load(memory_order_relaxed);
    if (tail - head_.load(memory_order_acquire) == size) return false;
    slots_[tail % size].store(a, memory_order_relaxed);
    // [ring] release: who takes the actor sees it. seq_cst: [sleep].
    tail_.store(tail + 1, memory_order_seq_cst);
    return true;
  }

  actor* take() {
    std::uint64_t head = head_.load(memory_order_acquire);
    // [ring], [sleep]
    while (head != tail_.load(memory_order_seq_cst)) {
      actor* a = slots_[head % size].load(memory_order_relaxed);
      if (head_.compare_exchange_weak(head, head + 1, memory_order_acq_rel, memory_order_acquire)) {
        return a;
      }
    }
    return nullptr;
  }

  std::uint64_t length() const {
    const std::uint64_t head = head_.load(memory_order_acquire);
    return tail_.load(memory_order_acquire) - head;
  }

 private:
  static constexpr std::uint64_t size = 65'536;  // room for all actors of pairs and wall
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::array<std::atomic<actor*>, size> slots_{};
};

struct worker {
  actor* slot = nullptr;
  ring ready;
};

std::vector<std::unique_ptr<worker>> workers;
constinit thread_local worker* me = nullptr;

std::mutex shared_mutex;
std::deque<actor*> shared;
std::atomic<std::size_t> shared_length{0};

// [sleep] A worker counts itself in `sleeping` and then looks at all queues; who puts an actor into
// one looks at `sleeping` after that. All of it is seq_cst, so one of the two sees the other.
alignas(64) std::atomic<std::uint32_t> sleeping{0};
alignas(64) std::atomic<std::uint32_t> tickets{0};

void wake_one() {
  std::uint32_t n = sleeping.load(memory_order_seq_cst);
  while (n != 0) {
    if (!sleeping.compare_exchange_weak(n, n - 1, memory_order_seq_cst)) continue;
    tickets.fetch_add(1, memory_order_release);  // [ticket]
    syscall(SYS_futex, &tickets, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    return;
  }
}

void put_shared(actor* a) {
  {
    const std::lock_guard lock(shared_mutex);
    shared.push_back(a);
    shared_length.store(shared.size(), memory_order_seq_cst);
  }
  wake_one();
}

void put_ready(actor* a) {
  if (!me->ready.put(a)) return put_shared(a);
  wake_one();
}

void schedule(actor* a) {
  if (me == nullptr) return put_shared(a);
  if (actor* before = std::exchange(me->slot, a)) put_ready(before);
}

// One actor to run now, and a share of the rest into the ring.
actor* take_shared() {
  if (shared_length.load(memory_order_seq_cst) == 0) return nullptr;
  const std::lock_guard lock(shared_mutex);
  if (shared.empty()) return nullptr;
  actor* first = shared.front();
  shared.pop_front();
  std::size_t share = std::min<std::size_t>(shared.size() / workers.size(), 256);
  for (; share != 0 && me->ready.put(shared.front()); --share) shared.pop_front();
  shared_length.store(shared.size(), memory_order_seq_cst);
  return first;
}

// The same from another worker: half of what it has.
actor* steal() {
  for (auto& victim : workers) {
    if (victim.get() == me) continue;
    actor* first = victim->ready.take();
    if (first == nullptr) continue;
    for (std::uint64_t half = victim->ready.length() / 2; half != 0; --half) {
      actor* a = victim->ready.take();
      if (a == nullptr) break;
      put_ready(a);
    }
    return first;
  }
  return nullptr;
}

actor* next(unsigned turn) {
  if (turn % 64 == 0) {
    if (actor* a = take_shared()) return a;
  }
  // The slot may not keep those in the ring waiting for ever.
  if (turn % 32 == 0 && me->slot != nullptr && me->ready.length() != 0) {
    put_ready(std::exchange(me->slot, nullptr));
  }
  if (actor* a = std::exchange(me->slot, nullptr)) return a;
  if (actor* a = me->ready.take()) return a;
  if (actor* a = take_shared()) return a;
  return steal();
}

void work(worker& self) {
  me = &self;
  for (unsigned turn = 1;; ++turn) {
    actor* a = next(turn);
    while (a == nullptr) {
      sleeping.fetch_add(1, memory_order_seq_cst);  // [sleep]
      a = next(1);
      if (a != nullptr) {
        // If nobody is counted any more, a ticket is on its way; the next to sleep will use it up.
        std::uint32_t n = sleeping.load(memory_order_relaxed);
        while (n != 0 && !sleeping.compare_exchange_weak(n, n - 1, memory_order_relaxed)) {
        }
        break;
      }
      // [ticket] acquire: what wake_one() was called for.
      std::uint32_t n = tickets.load(memory_order_acquire);
      while (n == 0 || !tickets.compare_exchange_weak(n, n - 1, memory_order_acquire)) {
        if (n != 0) continue;
        syscall(SYS_futex, &tickets, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
        n = tickets.load(memory_order_acquire);
      }
      a = next(1);
    }
    run(a);
  }
}

void start(unsigned count) {
  for (unsigned i = 0; i < count; ++i) workers.push_back(std::make_unique<worker>());
  for (auto& each : workers) std::thread(work, std::ref(*each)).detach();
}

// ── pingpong, pairs, ring ─────────────────────────────────────────────────────────────────────

std::uint64_t divide_by = 1;  // 100 with --smoke

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

struct player final : actor {
  explicit player(std::latch& d) : done(d) {}

  bool on(message m) override {
    if (m.value == 0) {
      done.count_down();
    } else {
      send(other, {m.value - 1, nullptr});
    }
    return true;
  }

  std::latch& done;
  actor* other = nullptr;
};

double play(std::size_t pairs, std::size_t balls_per_pair, std::uint64_t messages) {
  const std::uint64_t hops = messages / (pairs * balls_per_pair);
  std::latch done(static_cast<std::ptrdiff_t>(pairs * balls_per_pair));
  std::vector<player*> players;
  for (std::size_t i = 0; i < 2 * pairs; ++i) players.push_back(new player(done));
  for (std::size_t i = 0; i < 2 * pairs; ++i) players[i]->other = players[i ^ 1];
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < players.size(); i += 2) {
    for (std::size_t k = 0; k < balls_per_pair; ++k) send(players[i + k], {hops, nullptr});
  }
  done.wait();
  return static_cast<double>(hops * pairs * balls_per_pair) / seconds_since(began);
}

double pingpong() { return play(1, 1, 4'000'000 / divide_by); }
double pairs() { return play(25'000 / divide_by, 2, 10'000'000 / divide_by); }

double ring_of_players() {
  const std::size_t count = 10'000 / divide_by;
  const std::uint64_t hops = 10'000'000 / divide_by;
  std::latch done(1);
  std::vector<player*> players;
  for (std::size_t i = 0; i < count; ++i) players.push_back(new player(done));
  for (std::size_t i = 0; i < count; ++i) players[i]->other = players[(i + 1) % count];
  const auto began = std::chrono::steady_clock::now();
  send(players[0], {hops, nullptr});
  done.wait();
  return static_cast<double>(hops) / seconds_since(began);
}

// ── wall ──────────────────────────────────────────────────────────────────────────────────────

struct wall_player final : actor {
  bool on(message m) override {
    send(wall, m);
    return true;
  }

  actor* wall = nullptr;
};

struct wall final : actor {
  wall(std::vector<wall_player*> all, std::uint64_t hits, std::latch& d)
      : players(std::move(all)), left(hits), done(d) {}

  bool on(message m) override {
    if (left == 0) return true;
    if (--left == 0) {
      done.count_down();
      return true;
    }
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    send(players[random % players.size()], m);
    return true;
  }

  std::vector<wall_player*> players;
  std::uint64_t left;
  std::latch& done;
  std::uint64_t random = 88172645463325252ULL;
};

double wall_of_players() {
  const std::uint64_t messages = 10'000'000 / divide_by;
  std::latch done(1);
  std::vector<wall_player*> players;
  for (std::size_t i = 0; i < 50'000 / divide_by; ++i) players.push_back(new wall_player);
  auto* middle = new wall(players, messages / 2, done);
  for (wall_player* each : players) each->wall = middle;
  const auto began = std::chrono::steady_clock::now();
  for (wall_player* each : players) send(each, {});
  done.wait();
  return static_cast<double>(messages) / seconds_since(began);
}

// ── spawn ─────────────────────────────────────────────────────────────────────────────────────

struct short_lived final : actor {
  bool on(message m) override {
    send(m.to_answer, m);
    delete this;
    return false;
  }

  static void* operator new(std::size_t) { return nodes.take(); }
  static void operator delete(void* memory) { nodes.give(::new (memory) node); }
};
static_assert(sizeof(short_lived) <= sizeof(node));

struct collector final : actor {
  collector(std::uint64_t n, std::latch& d) : count(n), done(d) {}

  bool on(message m) override {
    if (m.to_answer == nullptr) {
      for (std::uint64_t i = 0; i < count; ++i) send(new short_lived, {i, this});
    } else {
      sum += m.value;
      if (++answers == count) done.count_down();
    }
    return true;
  }

  std::uint64_t count;
  std::latch& done;
  std::uint64_t answers = 0;
  std::uint64_t sum = 0;
};

double spawn() {
  const std::uint64_t count = 1'000'000 / divide_by;
  std::latch done(1);
  auto* counting = new collector(count, done);
  const auto began = std::chrono::steady_clock::now();
  send(counting, {});
  done.wait();
  return static_cast<double>(count) / seconds_since(began);
}

// ── idle ──────────────────────────────────────────────────────────────────────────────────────

std::size_t rss_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

struct idler final : actor {
  bool on(message m) override {
    state[0] += m.value;
    return true;
  }

  std::uint64_t state[2] = {};
};

double idle() {
  const std::size_t count = 1'000'000 / divide_by;
  std::vector<idler*> all;
  const std::size_t before = rss_bytes();
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(new idler);
  return static_cast<double>(rss_bytes() - before) / static_cast<double>(count);
}

// ── The program ───────────────────────────────────────────────────────────────────────────────

long peak_rss_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

struct workload {
  std::string_view name;
  double (*run)();
};

constexpr workload workloads[] = {
    {"pingpong", pingpong},    {"pairs", pairs}, {"wall", wall_of_players},
    {"ring", ring_of_players}, {"spawn", spawn}, {"idle", idle},
};

int usage() {
  std::fputs("usage: workloads pingpong|pairs|wall|ring|spawn|idle [--smoke] [--workers 1..1024]\n",
             stderr);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const workload* chosen = nullptr;
  unsigned threads = 2;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") {
      divide_by = 100;
    } else if (argument == "--workers") {
      const std::string_view n = i + 1 < count ? arguments[++i] : "";
      const auto [end, error] = std::from_chars(n.data(), n.data() + n.size(), threads);
      if (error != std::errc{} || end != n.data() + n.size() || threads == 0 || threads > 1024) {
        return usage();
      }
    } else {
      if (chosen != nullptr) return usage();
      for (const workload& each : workloads) {
        if (each.name == argument) chosen = &each;
      }
      if (chosen == nullptr) return usage();
    }
  }
  if (chosen == nullptr) return usage();

  start(threads);
  const double value = chosen->run();
  std::printf("%s %.2f %ld\n", chosen->name.data(), chosen->name == "idle" ? value : value / 1e6,
              peak_rss_kb());
  std::fflush(stdout);
  std::_Exit(0);  // the workers never end
}
