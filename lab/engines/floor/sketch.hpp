// SPDX-License-Identifier: Apache-2.0
#pragma once

// A minimal implementation of messages between actors. It shows the lower bound of the cost, and
// not how to build an actor library.
//
//   mailbox   a Treiber stack whose head also says idle or scheduled; drained whole, then reversed
//   memory    nodes of 32 bytes from thread-local free lists, which exchange batches of 512
//   worker    a private slot for the latest recipient, a ring from which others steal, and one
//             queue for all with a mutex, for foreign threads and for actors that do not fit into a
//             ring
//   sleep     a futex that counts the tickets of the workers to wake

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace sketch {

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

inline constexpr std::size_t batch_size = 512;

// Surplus batches of threads.
inline std::mutex depot_mutex;
inline std::vector<node*> depot;

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
  node* spare_ = nullptr;  // a whole batch, or null
};

inline constinit thread_local free_list nodes;

// ── Actors ────────────────────────────────────────────────────────────────────────────────────

inline node
    idle_mark;  // its address in `inbox` says that the actor is neither scheduled nor running

struct actor {
  // Returns false if the actor has deleted itself.
  virtual bool on(message m) = 0;

  std::atomic<node*> inbox{&idle_mark};

 protected:
  ~actor() = default;
};

inline void schedule(actor* a);

inline void send(actor* to, message m) {
  node* n = nodes.take();
  n->content = m;
  node* head = to->inbox.load(memory_order_relaxed);
  do {
    n->next = head == &idle_mark ? nullptr : head;
    // [inbox] release: the thread that drains the stack sees the message.
  } while (!to->inbox.compare_exchange_weak(head, n, memory_order_release, memory_order_relaxed));
  if (head == &idle_mark) schedule(to);
}

inline void run(actor* a) {
  // [inbox] acquire: the messages; and the effects of the actor's last turn, perhaps on another
  // thread.
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

// First in, first out; only the owner adds actors.
class ring {
 public:
  bool put(actor* a) {
    const std::uint64_t tail = tail_.load(memory_order_relaxed);
    if (tail - head_.load(memory_order_acquire) == size) return false;
    slots_[tail % size].store(a, memory_order_relaxed);
    // [ring] release: the thread that takes the actor sees it. seq_cst: [sleep].
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
  static constexpr std::uint64_t size = 65'536;  // space for all actors of pairs and wall
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::array<std::atomic<actor*>, size> slots_{};
};

struct worker {
  actor* slot = nullptr;
  ring ready;
};

inline std::vector<std::unique_ptr<worker>> workers;
inline constinit thread_local worker* me = nullptr;

inline std::mutex shared_mutex;
inline std::deque<actor*> shared;
inline std::atomic<std::size_t> shared_length{0};

// [sleep] A worker counts itself in `sleeping` and then checks all queues; a thread that adds an
// actor to a queue checks `sleeping` afterwards. All of it is seq_cst, so one of the two sees the
// other.
alignas(64) inline std::atomic<std::uint32_t> sleeping{0};
alignas(64) inline std::atomic<std::uint32_t> tickets{0};

inline void wake_one() {
  std::uint32_t n = sleeping.load(memory_order_seq_cst);
  while (n != 0) {
    if (!sleeping.compare_exchange_weak(n, n - 1, memory_order_seq_cst)) continue;
    tickets.fetch_add(1, memory_order_release);  // [ticket]
    syscall(SYS_futex, &tickets, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    return;
  }
}

inline void put_shared(actor* a) {
  {
    const std::lock_guard lock(shared_mutex);
    shared.push_back(a);
    shared_length.store(shared.size(), memory_order_seq_cst);
  }
  wake_one();
}

inline void put_ready(actor* a) {
  if (!me->ready.put(a)) return put_shared(a);
  wake_one();
}

inline void schedule(actor* a) {
  if (me == nullptr) return put_shared(a);
  if (actor* before = std::exchange(me->slot, a)) put_ready(before);
}

// Takes one actor to run now, and a share of the rest for the ring.
inline actor* take_shared() {
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

// The same from another worker: takes half of its actors.
inline actor* steal() {
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

inline actor* next(unsigned turn) {
  if (turn % 64 == 0) {
    if (actor* a = take_shared()) return a;
  }
  // The slot must not keep the actors in the ring waiting forever.
  if (turn % 32 == 0 && me->slot != nullptr && me->ready.length() != 0) {
    put_ready(std::exchange(me->slot, nullptr));
  }
  if (actor* a = std::exchange(me->slot, nullptr)) return a;
  if (actor* a = me->ready.take()) return a;
  if (actor* a = take_shared()) return a;
  return steal();
}

inline void work(worker& self) {
  me = &self;
  for (unsigned turn = 1;; ++turn) {
    actor* a = next(turn);
    while (a == nullptr) {
      sleeping.fetch_add(1, memory_order_seq_cst);  // [sleep]
      a = next(1);
      if (a != nullptr) {
        // If no worker is counted any more, a ticket is on its way; the next worker that sleeps
        // consumes it.
        std::uint32_t n = sleeping.load(memory_order_relaxed);
        while (n != 0 && !sleeping.compare_exchange_weak(n, n - 1, memory_order_relaxed)) {
        }
        break;
      }
      // [ticket] acquire: the event for which wake_one() was called.
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

inline void start(unsigned count) {
  for (unsigned i = 0; i < count; ++i) workers.push_back(std::make_unique<worker>());
  for (auto& each : workers) std::thread(work, std::ref(*each)).detach();
}

}  // namespace sketch
