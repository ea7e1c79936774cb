// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/timeline.hpp>

#include <algorithm>
#include <utility>

namespace troupe::detail {

namespace {

// After a wake-up, `learns_at_first` messages are timed one by one. A message gets a slice of its
// own if it takes at least 1/`shorter_alone` of the shortest wait that is a slice.
constexpr unsigned learns_at_first = 16;
constexpr int shorter_alone = 4;

}  // namespace

timeline_lane::timeline_lane(timeline& home, unsigned number, std::string name, activity& counts,
                             duration shortest, std::size_t capacity)
    : home_(home),
      number_(number),
      name_(std::move(name)),
      counts_(counts),
      shortest_(shortest),
      capacity_(capacity),
      handled_then_(counts.handled.value()),
      ring_(std::make_unique<watched<timeline_slice>[]>(capacity)) {}

void timeline_lane::begins(kind what, unsigned worker) noexcept {
  const time_point now = clock::now();
  cut(now, 0);
  const bool is_short = held_count_ != 0 && now - held_[0].end < shortest_;
  const timeline_slice& before = held_[0];
  if (what == kind::running && is_short && before.worker == worker) {
    // The wait was too short for a slice: continue the previous slice.
    since_ = before.begin;
    waited_ = before.waited + (now - before.end);
    handled_then_ -= before.messages;
    learnt_ = now;  // the next message does not include the wait
    held_count_ = 0;
  } else {
    if (what == kind::running || what == kind::nothing || !is_short || held_count_ == held_.size())
      push_held();
    since_ = now;
    waited_ = {};
    if (what == kind::running) {
      label_ = {};
      learnt_ = now;
      longest_ = {};
      left_to_learn_ = learns_at_first;
      counts_.ask(activity::label);
    }
  }
  doing_ = what;
  worker_ = worker;
  is_running_.store(what == kind::running, relaxed);  // [lane-runs]
}

void timeline_lane::ticked(const timeline_label& label, std::uint64_t uncounted) noexcept {
  learnt_ = clock::now();
  label_ = label;
  cut(learnt_, uncounted);
  push_held();
  longest_ = {};
  if (left_to_learn_ != 0) counts_.ask(activity::label);
}

void timeline_lane::learns(const timeline_label& label, std::uint64_t uncounted) noexcept {
  const time_point before = std::exchange(learnt_, clock::now());
  const duration took = learnt_ - before;
  if (took >= shortest_ / shorter_alone) {
    if (before > since_) {
      cut(before, uncounted != 0 ? uncounted - 1 : 0);
      push_held();
    }
    label_ = label;
    cut(learnt_, uncounted);
    push_held();
    longest_ = {};
  } else if (took >= longest_) {
    label_ = label;
    longest_ = took;
  }
  if (--left_to_learn_ != 0) counts_.ask(activity::label);
}

void timeline_lane::loses_worker() noexcept {
  lost_worker_.store(clock::now().time_since_epoch().count(), relaxed);  // [lost-worker]
}

// Ends the current slice. If the thread may continue the same activity soon, the slice is held
// back, and so are those after it.
void timeline_lane::cut(time_point now, std::uint64_t uncounted) noexcept {
  if (doing_ == kind::nothing) return;
  const bool turns = doing_ == kind::running || doing_ == kind::replaced;
  const std::uint64_t messages = turns ? messages_since(uncounted) : 0;
  // [lost-worker] relaxed: only the time itself is used.
  const time_point lost{duration(lost_worker_.exchange(0, relaxed))};
  if (doing_ == kind::running && lost > since_) {
    hold(std::min(lost, now), 0);
    doing_ = kind::replaced;
    worker_ = 0;
  }
  hold(now, messages);
  if (held_[0].what != kind::running) push_held();
}

void timeline_lane::hold(time_point end, std::uint64_t messages) noexcept {
  const bool turns = doing_ == kind::running || doing_ == kind::replaced;
  held_[held_count_++] = {since_,  end,   turns ? label_ : timeline_label{}, waited_, messages,
                          worker_, doing_};
  since_ = end;
  waited_ = {};
}

void timeline_lane::push_held() noexcept {
  for (std::size_t i = 0; i < held_count_; ++i) push(held_[i]);
  held_count_ = 0;
}

void timeline_lane::push(const timeline_slice& slice) noexcept {
  const std::size_t at = pushed_.load(relaxed);  // [lane] relaxed: written by this thread
  // [lane-room] acquire: the recorder has finished with this entry.
  if (at - taken_.load(acquire) == capacity_) {
    lost_.add(1);
    return;
  }
  ring_[at % capacity_] = slice;
  pushed_.store(at + 1, release);  // [lane] release: publishes the slice
}

// Some messages are subtracted from the count again, so the difference may be negative.
std::uint64_t timeline_lane::messages_since(std::uint64_t uncounted) noexcept {
  const std::uint64_t now = counts_.handled.value() + uncounted;
  const auto more = static_cast<std::int64_t>(now - std::exchange(handled_then_, now));
  return more > 0 ? static_cast<std::uint64_t>(more) : 0;
}

timeline::lane timeline::open(std::string name, activity& counts) {
  const std::lock_guard lock(mutex_);
  lanes_.push_back(std::make_unique<timeline_lane>(*this, opened_ + 1, std::move(name), counts,
                                                   shortest_, capacity_));
  ++opened_;
  return lane(lanes_.back().get());
}

void timeline::closes::operator()(timeline_lane* lane) const noexcept {
  lane->begins(timeline_slice::kind::nothing);
  const std::lock_guard lock(lane->home_.mutex_);
  lane->is_closed_ = true;
}

unsigned timeline::tick() noexcept {
  unsigned running = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& each : lanes_) {
    if (each->is_closed_ || !each->is_running()) continue;
    ++running;
    each->counts_.ask(activity::tick);
  }
  return running;
}

}  // namespace troupe::detail
