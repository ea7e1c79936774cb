// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/blocking_pool.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/placement.hpp>
#include <troupe/actor/ref.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/extension.hpp>
#include <troupe/detail/sync/mutex.hpp>

#include "blocking_pools.hpp"
#include "runtime.hpp"

namespace troupe {
namespace detail {

namespace {

// To a thread of the pool: take the next call.
struct take_call {};

}  // namespace

class blocking_thread;

/// The calls of one pool that wait, and its threads.
///
/// A thread is idle, woken, or busy. submit() wakes an idle one with a message; a thread that has
/// finished a call wakes itself, so that a stop between two calls is seen. A woken thread takes the
/// first call, or becomes idle.
///
/// Threads:   any.
/// Invariant: a call waits only if no thread is idle, or as many threads are woken as calls wait.
class blocking_queue : public std::enable_shared_from_this<blocking_queue> {
 public:
  blocking_queue(runtime& of, blocking_pool_options options)
      : home(of), options_(std::move(options)) {}
  blocking_queue(const blocking_queue&) = delete;
  blocking_queue& operator=(const blocking_queue&) = delete;

  void start(system& in);
  void submit(const std::shared_ptr<blocking_job>& job, duration timeout);
  /// Nothing waits for the call any more. Returns true if it has not begun and belongs to the
  /// caller alone.
  [[nodiscard]] bool leave(blocking_job& job) noexcept;
  void close() noexcept;

  [[nodiscard]] bool is_closed() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] std::string why_refused() const;
  [[nodiscard]] blocking_pool_statistics statistics() const;

  // ── Threads of the pool ─────────────────────────────────────────────────────────────────────
  void begins(blocking_thread& one) noexcept;
  /// Returns the call to run now; null: this thread is idle from now on.
  [[nodiscard]] std::shared_ptr<blocking_job> take(blocking_thread& by) noexcept;
  /// Its call has returned, and the thread counts as woken. Returns true if something may wait for
  /// the result.
  [[nodiscard]] bool finished(blocking_thread& by, blocking_job& job, duration ran) noexcept;
  void ends(blocking_thread& one) noexcept;

  runtime& home;

 private:
  using calls = std::list<std::shared_ptr<blocking_job>>;

  static void end_all(calls& those) noexcept {
    for (const auto& each : those) each->end_as(ask_error::stopped);
  }
  // Requires the mutex.
  void take_all(calls& to) noexcept {
    for (const auto& each : waiting_) each->now = blocking_job::state::over;
    counts_.calls_cancelled += waiting_.size();
    to.swap(waiting_);
  }

  const blocking_pool_options options_;
  mutable mutex mutex_;  // guards the following members
  calls waiting_;
  std::vector<blocking_thread*> idle_;  // the last one ran last; has room for all
  std::size_t living_ = 0;
  std::size_t woken_ = 0;
  std::size_t busy_ = 0;
  bool closed_ = false;
  std::vector<ref<blocking_thread>> threads_;
  blocking_pool_statistics counts_;  // only the counters
};

/// The actor of one thread of a pool.
class blocking_thread final : public actor {
 public:
  enum class state : std::uint8_t { idle, woken, busy };

  explicit blocking_thread(std::shared_ptr<blocking_queue> queue) : queue_(std::move(queue)) {
    queue_->begins(*this);
  }
  blocking_thread(const blocking_thread&) = delete;
  blocking_thread& operator=(const blocking_thread&) = delete;
  ~blocking_thread() { queue_->ends(*this); }

  void on(take_call) {
    while (const std::shared_ptr<blocking_job> job = queue_->take(*this)) {
      const time_point began = clock::now();
      block().now_handling(job->record);
      job->call();
      block().now_handling(wake_record);
      if (queue_->finished(*this, *job, clock::now() - began)) {
        job->deliver();
      } else {
        job->drop();
      }
      try {
        (void)block().deliver(make_wake());
        return;
      } catch (const std::bad_alloc&) {
        // No memory for a message: it takes the next call at once.
      }
    }
  }

  [[nodiscard]] control_block& block() noexcept { return ref_access::block(self(this)); }

  /// Errors: std::bad_alloc.
  [[nodiscard]] static envelope& make_wake() {
    return *make_envelope<false>(wake_record, take_call{});
  }

  state now = state::idle;  // guarded by the mutex of the queue

 private:
  static constexpr dispatch wake_record{.run = run_handler<blocking_thread, take_call, false>,
                                        .discard = how_to_discard<take_call, false>(),
                                        .message = "a blocking call",
                                        .internal = true};

  const std::shared_ptr<blocking_queue> queue_;
};

// A thread is idle before it can be seen: calls come when all threads have been spawned.
void blocking_queue::begins(blocking_thread& one) noexcept {
  const std::lock_guard lock(mutex_);
  ++living_;
  idle_.push_back(&one);
}

void blocking_queue::start(system& in) {
  std::vector<ref<blocking_thread>> threads;
  threads.reserve(options_.threads);
  {
    const std::lock_guard lock(mutex_);
    idle_.reserve(options_.threads);
  }
  const spawn_options each{.name = options_.name, .where = own_thread};
  while (threads.size() < options_.threads) {
    threads.push_back(in.spawn<blocking_thread>(each, shared_from_this()));
  }
  const std::lock_guard lock(mutex_);
  threads_ = std::move(threads);
}

void blocking_queue::submit(const std::shared_ptr<blocking_job>& job, duration timeout) {
  home.check_threads("no function can be run");
  calls one{job};
  envelope* wake = nullptr;
  control_block* woken = nullptr;  // held
  const time_point now = clock::now();
  std::optional<ask_error> why_not;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || living_ == 0) {
      why_not = ask_error::stopped;
    } else if (const std::size_t free = idle_.size() + woken_;
               waiting_.size() >= free && waiting_.size() - free >= options_.queue_max) {
      why_not = ask_error::refused;
      ++counts_.calls_refused;
    } else {
      if (!idle_.empty() && woken_ <= waiting_.size()) {
        wake = &blocking_thread::make_wake();  // throws, with nothing done
        blocking_thread& thread = *idle_.back();
        idle_.pop_back();
        thread.now = blocking_thread::state::woken;
        ++woken_;
        woken = &thread.block();
        woken->hold();
      }
      job->now = blocking_job::state::waits;
      job->queued = now;
      if (timeout != no_timeout) job->until = later(now, timeout);
      job->at = one.begin();
      waiting_.splice(waiting_.end(), one);
    }
  }
  if (why_not) return job->end_as(*why_not);
  if (woken == nullptr) return;
  (void)woken->deliver(*wake);
  woken->let_go();
}

std::shared_ptr<blocking_job> blocking_queue::take(blocking_thread& by) noexcept {
  calls too_late;  // released without the lock; the time-out itself completes them
  const time_point now = clock::now();
  const std::lock_guard lock(mutex_);
  if (by.now == blocking_thread::state::woken) --woken_;
  while (!waiting_.empty()) {
    blocking_job& first = *waiting_.front();
    if (first.until <= now) {
      first.now = blocking_job::state::expired;
      ++counts_.calls_cancelled;
      too_late.splice(too_late.end(), waiting_, waiting_.begin());
      continue;
    }
    std::shared_ptr<blocking_job> taken = std::move(waiting_.front());
    waiting_.pop_front();
    first.now = blocking_job::state::runs;
    counts_.waited += now - first.queued;
    ++busy_;
    by.now = blocking_thread::state::busy;
    return taken;
  }
  by.now = blocking_thread::state::idle;
  idle_.push_back(&by);
  return nullptr;
}

bool blocking_queue::finished(blocking_thread& by, blocking_job& job, duration ran) noexcept {
  const std::lock_guard lock(mutex_);
  --busy_;
  ++woken_;
  by.now = blocking_thread::state::woken;
  job.now = blocking_job::state::over;
  counts_.ran += ran;
  ++counts_.calls_finished;
  if (job.has_thrown()) ++counts_.calls_failed;
  if (job.is_abandoned) ++counts_.calls_abandoned;
  return !job.is_abandoned;
}

void blocking_queue::ends(blocking_thread& one) noexcept {
  calls left;
  {
    const std::lock_guard lock(mutex_);
    if (one.now == blocking_thread::state::woken) --woken_;
    std::erase(idle_, &one);
    if (--living_ == 0) take_all(left);
  }
  end_all(left);
}

bool blocking_queue::leave(blocking_job& job) noexcept {
  if (home.is_forked()) return false;  // another thread may hold the mutex forever
  calls own;                           // destroyed without the lock
  const std::lock_guard lock(mutex_);
  switch (job.now) {
    case blocking_job::state::waits:
      job.now = blocking_job::state::over;
      ++counts_.calls_cancelled;
      own.splice(own.end(), waiting_, job.at);
      return true;
    case blocking_job::state::expired:
      return true;
    case blocking_job::state::runs:
      job.is_abandoned = true;
      return false;
    case blocking_job::state::over:
      return false;
  }
  return false;
}

void blocking_queue::close() noexcept {
  if (home.is_forked()) return;  // its threads are the parent's
  calls left;
  std::vector<ref<blocking_thread>> threads;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    take_all(left);
    threads.swap(threads_);
  }
  end_all(left);
}

bool blocking_queue::is_closed() const noexcept {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::string blocking_queue::why_refused() const {
  return std::to_string(options_.queue_max) + " calls wait for the " +
         std::to_string(options_.threads) + " threads of the blocking pool \"" + options_.name +
         "\": raise threads or queue_max in its blocking_pool_options, or call it less often";
}

blocking_pool_statistics blocking_queue::statistics() const {
  home.check_threads("statistics are not available");
  const std::lock_guard lock(mutex_);
  blocking_pool_statistics now = counts_;
  now.name = options_.name;
  now.threads = living_;
  now.threads_busy = busy_;
  now.calls_waiting = waiting_.size();
  now.queue_max = options_.queue_max;
  return now;
}

// ── Claims ────────────────────────────────────────────────────────────────────────────────────

void blocking_claim::leave() noexcept {
  if (queue_->leave(*job_)) job_->drop();
}

std::string blocking_claim::why_refused() const { return queue_->why_refused(); }

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

// ── The pools of a system ─────────────────────────────────────────────────────────────────────

namespace {

class blocking_pools final : public system_extension {
 public:
  explicit blocking_pools(system&) noexcept {}

  [[nodiscard]] std::vector<std::shared_ptr<blocking_queue>> all() const {
    std::vector<std::shared_ptr<blocking_queue>> those;
    const std::lock_guard lock(mutex_);
    those.reserve(all_.size());
    for (const auto& each : all_) {
      if (auto one = each.lock()) those.push_back(std::move(one));
    }
    return those;
  }
  void add(const std::shared_ptr<blocking_queue>& fresh) {
    std::vector<std::shared_ptr<blocking_queue>> those;  // released without the lock
    const std::lock_guard lock(mutex_);
    those.reserve(all_.size());
    std::erase_if(all_, [&](const std::weak_ptr<blocking_queue>& each) {
      auto one = each.lock();
      if (one == nullptr) return true;
      those.push_back(std::move(one));
      return those.back()->is_closed();
    });
    for (const auto& each : those) {
      if (each->is_closed() || each->name() != fresh->name()) continue;
      throw std::invalid_argument(
          "troupe: the system already has a blocking pool \"" + fresh->name() +
          "\": set another blocking_pool_options::name, or use a copy of it");
    }
    all_.push_back(fresh);
  }

 private:
  mutable mutex mutex_;  // guards the following member
  std::vector<std::weak_ptr<blocking_queue>> all_;
};

void check(const blocking_pool_options& options) {
  if (options.name.empty()) {
    throw std::invalid_argument("troupe: blocking_pool_options::name is empty: metrics need it");
  }
  if (options.threads == 0 || options.threads > blocking_pool::threads_max) {
    throw std::invalid_argument("troupe: blocking_pool_options::threads is " +
                                std::to_string(options.threads) + "; it must be between 1 and " +
                                std::to_string(blocking_pool::threads_max));
  }
}

}  // namespace

std::vector<blocking_pool_statistics> statistics_of_blocking_pools(system& of) {
  std::vector<blocking_pool_statistics> those;
  for (const auto& each : extension_of<blocking_pools>(of).all()) {
    if (!each->is_closed()) those.push_back(each->statistics());
  }
  return those;
}

}  // namespace detail

// ── The public class ──────────────────────────────────────────────────────────────────────────

// Its destructor is that of the last copy of the pool. Threads and calls hold only the queue.
struct blocking_pool::owner {
  explicit owner(std::shared_ptr<detail::blocking_queue> of) noexcept : queue(std::move(of)) {}
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;
  ~owner() { queue->close(); }

  const std::shared_ptr<detail::blocking_queue> queue;
};

blocking_pool::blocking_pool(system& in, blocking_pool_options options) {
  detail::check(options);
  auto& home = detail::system_access::of(in);
  home.check_threads("no thread can be started");
  owner_ =
      std::make_shared<owner>(std::make_shared<detail::blocking_queue>(home, std::move(options)));
  detail::extension_of<detail::blocking_pools>(in).add(owner_->queue);
  owner_->queue->start(in);
}

blocking_pool_statistics blocking_pool::statistics() const { return owner_->queue->statistics(); }
const std::string& blocking_pool::name() const noexcept { return owner_->queue->name(); }
detail::runtime& blocking_pool::home() const noexcept { return owner_->queue->home; }
const std::shared_ptr<detail::blocking_queue>& blocking_pool::queue() const noexcept {
  return owner_->queue;
}
void blocking_pool::submit(const std::shared_ptr<detail::blocking_job>& job,
                           duration timeout) const {
  owner_->queue->submit(job, timeout);
}

}  // namespace troupe
