// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine.hpp"
#include "fibre.hpp"
#include "memory.hpp"
#include "trace.hpp"

namespace troupe::model {

/// Makes the choices that an execution leaves open, and records them.
class chooser {
 public:
  virtual ~chooser() = default;

  /// Chooses one of `count` outcomes, at least two. 0 is the ordinary one.
  virtual std::uint32_t pick(std::uint32_t count) = 0;

  /// Chooses which of these threads runs, at least two. If `preempts`, the first is the thread that
  /// just ran and could continue.
  virtual std::uint32_t pick_thread(std::span<const thread_index> candidates, bool preempts) = 0;

  /// The execution is in this state, and a thread is to be chosen next.
  virtual void arrive(std::uint64_t /*state*/) {}
  virtual void thread_begins(thread_index) {}
  virtual void thread_yields(thread_index) {}
};

struct limits {
  std::uint32_t steps = 20'000;  // in one execution; more count as a livelock
  std::uint32_t spurious = 1;    // weak compare-exchanges and futex waits that fail without a
                                 // reason
  std::uint32_t timeouts = 1;    // deadlines that pass although other threads could run
};

struct failure {
  std::string what;
  std::string trace;  // if it was requested
};

/// The elements of a thread's history.
enum event : std::uint64_t {
  began,
  made,
  loaded,
  stored,
  changed_it,
  failed_to_change,
  locked,
  unlocked,
  joined,
  woke,
  was_woken,
  timed_out,
  did_not_sleep,
  was_finished
};

/// One run of a body under the checker, from its first operation to its last or to a failure.
class execution {
 public:
  execution(chooser& decides, const limits& within, bool traced);
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;
  ~execution();

  std::optional<failure> run(const std::function<void()>& body);

  [[nodiscard]] std::uint32_t steps() const noexcept { return steps_; }

  // ── For engine.cpp, which calls the active execution ────────────────────────────────────────

  static inline execution* active = nullptr;

  /// The number of nested calls of the checker. While it is positive, allocations belong to the
  /// checker.
  static inline int inside = 0;

  enum class waits : std::uint8_t { for_nothing, for_mutex, for_futex, for_join, is_over };

  struct own_object {
    const void* key;
    void* object;
    void (*destroy)(void*);
  };
  struct repeated_read {
    const location* at;
    const store* from;
    std::uint32_t times;       // how often it was read although a newer one existed
    std::uint32_t behind = 0;  // consecutive changes that were placed before the newest
  };
  struct thread_state {
    std::string name;
    fibre* runs_on = nullptr;
    vector_clock clock;
    std::uint64_t history = 0;
    std::uint32_t made = 0;  // number of objects created, for their names
    waits what = waits::for_nothing;
    const void* on = nullptr;  // the mutex or the futex word
    thread_index joins = 0;
    bool timed = false;
    bool woken = false;
    bool yielded = false;
    std::uint32_t untracked = 0;
    source_line where;
    std::vector<own_object> own;
    std::vector<repeated_read> last_reads;
  };
  struct mutex_state {
    int holder = -1;
    bool is_over = false;
    vector_clock released;
    std::uint64_t identity = 0;
  };
  struct block {
    std::byte* begin;
    std::size_t bytes;
    std::uint32_t number;
    moment made;
    bool is_freed = false;
    moment freed;
  };

  // ── Threads ─────────────────────────────────────────────────────────────────────────────────
  thread_index begin(std::function<void()> body, std::string name, source_line where);
  void thread_main(thread_index self, const std::function<void()>& body);
  void join(thread_index other, source_line where);
  void destroy_own(thread_state& of);
  void* make_shared(const void* key, void* (*make)(), void (*destroy)(void*));
  void destroy_shared();
  thread_state& me() noexcept { return threads_[current_]; }

  // ── Scheduling ──────────────────────────────────────────────────────────────────────────────
  void point(source_line where);
  [[nodiscard]] thread_index choose_next(bool current_goes_on);
  void switch_to(thread_index chosen);
  void find_candidates(bool current_goes_on);
  [[nodiscard]] bool may_go_on(const thread_state& t) const;
  void progress();
  [[nodiscard]] std::uint64_t state() const;
  void block_on(waits what, const void* on);
  [[noreturn]] void all_asleep();
  [[noreturn]] void abandon(std::string what);
  [[noreturn]] void fail(const std::string& what, source_line where);

  // ── Operations ──────────────────────────────────────────────────────────────────────────────
  moment tick(source_line where);
  std::uint64_t happened(std::uint64_t kind, std::uint64_t with);
  location& locate(detail::cell of, source_line where);
  void make_location(detail::cell of, source_line where);
  bits load(detail::cell of, std::memory_order order, source_line where);
  void write(detail::cell of, bits value, std::memory_order order, source_line where);
  bits change(detail::cell of, detail::change how, bits operand, std::memory_order order,
              source_line where);
  bool compare_exchange(detail::cell of, bits& expected, bits desired, std::memory_order success,
                        std::memory_order failure, bool weak, source_line where);
  [[nodiscard]] bool is_bound(const location& at, std::uint32_t position) const;
  [[nodiscard]] bool is_left_behind(const location& at);
  [[nodiscard]] bool is_repeated(const location& at, const store& from);
  void read_from(location& at, const store& from, std::memory_order order, moment now);
  void note_seq_cst(location& at, moment now, const store* read, const store* written);
  store& write_behind(location& at, const store& behind, bits value, std::memory_order order,
                      moment now, const store* read);
  [[nodiscard]] bool is_permitted(const location& at, std::memory_order order, const store* read,
                                  const store* behind);
  const store* pick_store(const std::vector<const store*>& among);

  bool futex_wait(detail::cell of, bits expected, bool timed, source_line where);
  void futex_wake(const void* of, std::uint32_t count, source_line where);
  void yield(source_line where);
  void mutex_born(const void* mutex);
  void mutex_ends(const void* mutex);
  mutex_state& usable(const void* mutex, source_line where);
  void lock(const void* mutex, source_line where);
  bool try_lock(const void* mutex, source_line where);
  void take(mutex_state& of, source_line where);
  void unlock(const void* mutex, source_line where);

  void plain_born(const void* at, source_line where);
  plain_cell& plain(const void* at, source_line where);
  void plain_read(const void* at, source_line where);
  void plain_write(const void* at, source_line where);
  [[noreturn]] void race(const char* mine, const plain_cell& cell, const char* theirs,
                         const moment& other);

  // ── Allocated memory ────────────────────────────────────────────────────────────────────────
  void allocated(void* at, std::size_t bytes);
  void leaked(std::string what);
  void forget(const void* begin, std::size_t bytes, moment now);
  bool released(void* at);  // false: not allocated by the checker
  block* find_block(const void* inside) noexcept;
  void check_leaks();
  void check_mutexes();
  void free_blocks();

  // ── Reporting ───────────────────────────────────────────────────────────────────────────────
  template <class... Parts>
  void tell(source_line where, const Parts&... parts) {
    trace_ += trace_line(steps_, current_, describe_thread(current_), where, concatenate(parts...));
  }
  [[nodiscard]] std::string remark_on_read(const location& at, const store& from) const;
  [[nodiscard]] static std::string remark_on_store(const location& at, const store& made);
  std::string describe(const location& at) const;
  std::string describe(bits value) const;
  std::string describe(const moment& at) const;
  std::string describe_thread(thread_index t) const;
  std::string what_they_wait_for() const;

  chooser& decides_;
  const limits within_;
  const bool traced_;

  memory memory_;
  std::vector<thread_state> threads_;
  thread_index current_ = 0;
  thread_index next_ = 0;
  std::uint32_t steps_ = 0;
  std::uint32_t spurious_left_;
  std::uint32_t timeouts_left_;
  std::vector<thread_index> candidates_;
  std::vector<const store*> readable_;
  boost::unordered_flat_map<const void*, mutex_state> mutexes_;
  boost::unordered_flat_map<const void*, std::vector<thread_index>> sleepers_;
  std::vector<own_object> shared_;
  bool making_shared_ = false;
  std::uint32_t shared_made_ = 0;
  bool finishing_ = false;
  std::vector<block> blocks_;
  boost::unordered_flat_map<const void*, std::size_t> block_at_;
  boost::unordered_flat_map<const void*, std::string> names_;
  std::optional<failure> failure_;
  std::string trace_;
};

}  // namespace troupe::model
