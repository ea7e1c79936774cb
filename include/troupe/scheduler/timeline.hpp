// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/base/cache_line.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/scheduler/activity.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/watched.hpp>

namespace troupe::detail {

class timeline;

/// Whose turn it is, and what is handled in it.
struct timeline_label {
  std::string_view actor = {};  // these two live as long as the program
  std::string_view message = {};
  std::array<char, 32> name = {};  // of that one actor, if it has one; ends with a zero
  friend bool operator==(const timeline_label&, const timeline_label&) = default;
};

/// What a thread did for a while.
struct timeline_slice {
  enum class kind : std::uint8_t {
    nothing,
    running,    // turns
    searching,  // for work
    parked,     // until there is some
    resting,    // without a worker
    replaced,   // in a turn, but another thread has its worker
    away,       // what its loop does beside its pump
  };
  static constexpr std::size_t kinds = 7;

  time_point begin;
  time_point end;
  timeline_label label;      // of running and replaced: the last that ran, or the longest; or empty
  duration waited;           // of these: within it, for so short that it is no slice of its own
  std::uint64_t messages;    // of these: handled in it, of any kind
  std::uint32_t worker = 0;  // from 1; 0: has none
  kind what = kind::nothing;
};

/// What one thread does, slice after slice.
///
/// Threads:   begins(), ticked() and learns() from its thread, or by who knows that it has ended; loses_worker() from one
///            at a time; take_all() from the recorder; the rest from any.
/// Invariant: the slices follow one another without gaps, but for nothing, and for those that were lost.
/// Cost:      begins(), ticked() and learns(): a look at the clock. As much memory as `capacity` slices.
class timeline_lane {
 public:
  using kind = timeline_slice::kind;
  timeline_lane(timeline& home, unsigned number, std::string name, activity& counts,
                duration shortest, std::size_t capacity);
  timeline_lane(const timeline_lane&) = delete;
  timeline_lane& operator=(const timeline_lane&) = delete;

  /// From now on. `worker`: from 1; 0: none.
  void begins(kind what, unsigned worker = 0) noexcept;

  /// After a message, if it was asked for: what ran until now, and has handled so many more than are counted, is a slice.
  void ticked(const timeline_label& label, std::uint64_t uncounted) noexcept;
  /// Behind each of the first messages after it has begun to run, likewise. One that lasts has a slice of its own; the others
  /// are called by the longest of them.
  void learns(const timeline_label& label, std::uint64_t uncounted) noexcept;

  /// Another thread has its worker now, and its turn goes on.
  void loses_worker() noexcept;

  [[nodiscard]] unsigned number() const noexcept { return number_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_running() const noexcept {
    return is_running_.load(relaxed);  // [lane-runs] relaxed: a look
  }
  /// Slices that found no room.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.value(); }

  /// Calls take(const timeline_slice&) for all there are.
  template <class Take>
  void take_all(Take&& take);

 private:
  friend class timeline;

  void cut(time_point now, std::uint64_t uncounted) noexcept;
  void hold(time_point end, std::uint64_t messages) noexcept;
  void push_held() noexcept;
  void push(const timeline_slice& slice) noexcept;
  [[nodiscard]] std::uint64_t messages_since(std::uint64_t uncounted) noexcept;

  timeline& home_;
  const unsigned number_;
  const std::string name_;
  activity& counts_;
  const duration shortest_;
  const std::size_t capacity_;
  bool is_closed_ = false;  // under home_'s mutex
  atomic<duration::rep> lost_worker_{0};
  atomic<bool> is_running_{false};

  // Its thread's: what it does now, and what will be slices unless it goes on at once.
  kind doing_ = kind::nothing;
  std::uint32_t worker_ = 0;
  time_point since_{};
  duration waited_{};
  timeline_label label_;
  time_point learnt_{};  // when that was looked at
  duration longest_{};   // of those that were learnt for this slice
  unsigned left_to_learn_ = 0;
  std::uint64_t handled_then_ = 0;
  std::array<timeline_slice, 8> held_{};
  std::size_t held_count_ = 0;

  own_counter lost_;
  const std::unique_ptr<watched<timeline_slice>[]> ring_;
  alignas(cache_line_bytes) atomic<std::size_t> pushed_{0};
  alignas(cache_line_bytes) atomic<std::size_t> taken_{0};
};

/// The lanes of all threads that give turns.
///
/// Threads: open() and closing from anywhere; the rest from the recorder.
class timeline {
 public:
  static constexpr std::size_t capacity_usual = 2048;

  /// Who waits for less than `shortest` goes on with his slice. `capacity`: so many slices wait in a lane for the recorder.
  explicit timeline(duration shortest, std::size_t capacity = capacity_usual) noexcept
      : shortest_(shortest), capacity_(capacity) {}

  struct closes {
    void operator()(timeline_lane* lane) const noexcept;
  };
  /// Its end closes it. The thread has ended, or does no more turns.
  using lane = std::unique_ptr<timeline_lane, closes>;

  /// Where the thread that counts in `counts` writes what it does. Throws std::bad_alloc.
  [[nodiscard]] lane open(std::string name, activity& counts);

  /// Asks each thread that runs for a slice behind the message that it handles; returns how many run.
  unsigned tick() noexcept;

  /// Calls look(timeline_lane&, bool is_closed) for each lane, and frees those that were closed before. Throws what
  /// look() does, and std::bad_alloc.
  template <class Look>
  void for_each_lane(Look&& look);

 private:
  const duration shortest_;
  const std::size_t capacity_;
  mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<timeline_lane>> lanes_;
  unsigned opened_ = 0;
};

template <class Take>
void timeline_lane::take_all(Take&& take) {
  // [lane] acquire: what its thread has written.
  const std::size_t end = pushed_.load(acquire);
  for (std::size_t at = taken_.load(relaxed); at != end; ++at) {  // [lane] relaxed: its own
    const timeline_slice slice = ring_[at % capacity_];
    take(slice);
    taken_.store(at + 1, release);  // [lane-room] release: it is not looked at any more
  }
}

template <class Look>
void timeline::for_each_lane(Look&& look) {
  struct seen {
    timeline_lane* lane;
    bool is_closed;
  };
  std::vector<seen> all;  // looked at without the lock: who gets a thread waits for it
  {
    const std::lock_guard lock(mutex_);
    all.reserve(lanes_.size());
    for (const auto& each : lanes_) all.push_back({each.get(), each->is_closed_});
  }
  for (const seen& each : all) look(*each.lane, each.is_closed);
  const std::lock_guard lock(mutex_);
  for (const seen& each : all) {
    if (!each.is_closed) continue;
    std::erase_if(lanes_, [&](const auto& one) { return one.get() == each.lane; });
  }
}

}  // namespace troupe::detail
