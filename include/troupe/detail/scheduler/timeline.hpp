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

#include <troupe/base/clock.hpp>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/scheduler/activity.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/watched.hpp>

namespace troupe::detail {

class timeline;

/// Identifies an actor and the message that it handles.
struct timeline_label {
  std::string_view actor = {};  // these two views are valid until the program ends
  std::string_view message = {};
  std::array<char, 32> name = {};  // of this actor, if it has one; zero-terminated
  friend bool operator==(const timeline_label&, const timeline_label&) = default;
};

/// One period in a thread's activity.
struct timeline_slice {
  enum class kind : std::uint8_t {
    nothing,
    running,    // runs turns
    searching,  // for work
    parked,     // waits for work
    resting,    // has no worker
    replaced,   // in a turn, but another thread has its worker
    away,       // in its own loop, outside of the pump
  };
  static constexpr std::size_t kinds = 7;

  time_point begin;
  time_point end;
  timeline_label label;      // running, replaced: the last message, or the longest; may be empty
  duration waited;           // running, replaced: waits within it, too short for a slice
  std::uint64_t messages;    // running, replaced: messages of any type handled in it
  std::uint32_t worker = 0;  // from 1; 0: no worker
  kind what = kind::nothing;
};

/// The recorded activity of one thread, as a sequence of slices.
///
/// Threads:   begins(), ticked() and learns(): its thread, or code that knows that it has ended;
///            loses_worker(): one thread at a time; take_all(): the recorder; all else: any thread.
/// Invariant: slices follow each other without gaps, except for periods of kind `nothing` and for
///            lost slices.
/// Cost:      begins(), ticked() and learns() read the clock. Memory for `capacity` slices.
class timeline_lane {
 public:
  using kind = timeline_slice::kind;
  timeline_lane(timeline& home, unsigned number, std::string name, activity& counts,
                duration shortest, std::size_t capacity);
  timeline_lane(const timeline_lane&) = delete;
  timeline_lane& operator=(const timeline_lane&) = delete;

  /// Starts a new activity. `worker`: from 1; 0: none.
  void begins(kind what, unsigned worker = 0) noexcept;

  /// Called after a message if a tick was requested: ends the current slice here. `uncounted` is
  /// the number of messages handled but not yet counted.
  void ticked(const timeline_label& label, std::uint64_t uncounted) noexcept;
  /// Called after each of the first messages of a running period; `uncounted` as above. A long
  /// message gets its own slice; the other messages share a slice with the label of the longest of
  /// them.
  void learns(const timeline_label& label, std::uint64_t uncounted) noexcept;

  /// Called when another thread has taken its worker, while its turn continues.
  void loses_worker() noexcept;

  [[nodiscard]] unsigned number() const noexcept { return number_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_running() const noexcept {
    return is_running_.load(relaxed);  // [lane-runs] relaxed: a hint
  }
  /// The number of slices lost because the ring was full.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.value(); }

  /// Calls take(const timeline_slice&) for each available slice.
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

  // Used only by its thread: the current activity, and slices that are held back because the next
  // activity may extend them.
  kind doing_ = kind::nothing;
  std::uint32_t worker_ = 0;
  time_point since_{};
  duration waited_{};
  timeline_label label_;
  time_point learnt_{};  // when a message was last measured
  duration longest_{};   // of the messages measured in this slice
  unsigned left_to_learn_ = 0;
  std::uint64_t handled_then_ = 0;
  std::array<timeline_slice, 8> held_{};
  std::size_t held_count_ = 0;

  own_counter lost_;
  const std::unique_ptr<watched<timeline_slice>[]> ring_;
  alignas(cache_line_bytes) atomic<std::size_t> pushed_{0};
  alignas(cache_line_bytes) atomic<std::size_t> taken_{0};
};

/// The lanes of all threads that run turns.
///
/// Threads: open() and closing a lane: any thread; all else: the recorder.
class timeline {
 public:
  static constexpr std::size_t capacity_usual = 2048;

  /// `shortest`: waits shorter than this do not end a running slice. `capacity`: the number of
  /// slices that a lane stores for the recorder.
  explicit timeline(duration shortest, std::size_t capacity = capacity_usual) noexcept
      : shortest_(shortest), capacity_(capacity) {}

  struct closes {
    void operator()(timeline_lane* lane) const noexcept;
  };
  /// Its destructor closes the lane. The thread must have ended, or run no more turns.
  using lane = std::unique_ptr<timeline_lane, closes>;

  /// Creates a lane for the thread that counts in `counts`. Throws std::bad_alloc.
  [[nodiscard]] lane open(std::string name, activity& counts);

  /// Asks each running thread to end its slice after the current message. Returns the number of
  /// running threads.
  unsigned tick() noexcept;

  /// Calls look(timeline_lane&, bool is_closed) for each lane, then frees the lanes that were
  /// closed before. Throws exceptions of look(), and std::bad_alloc.
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
  // [lane] acquire: the slices written by the lane's thread.
  const std::size_t end = pushed_.load(acquire);
  for (std::size_t at = taken_.load(relaxed); at != end; ++at) {  // [lane] relaxed: its own
    const timeline_slice slice = ring_[at % capacity_];
    take(slice);
    taken_.store(at + 1, release);  // [lane-room] release: the slot is not read any more
  }
}

template <class Look>
void timeline::for_each_lane(Look&& look) {
  struct seen {
    timeline_lane* lane;
    bool is_closed;
  };
  std::vector<seen> all;  // iterated without the lock, because starting threads wait for it
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
