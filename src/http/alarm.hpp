// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/base/clock.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http::detail {

/// To a connection, from its own alarm: see what the time has done.
struct tick {};

/// An actor's one timer for a deadline that moves often and is reached seldom: most of the time it
/// only moves away, and that costs nothing; a tick that comes too early sets the alarm again.
///
/// Threads: the actor's.
class alarm {
 public:
  /// The actor gets a tick by then, or soon after; perhaps an earlier one before.
  template <class Actor>
  void set(time_point due, const self_ref<Actor>& whose) {
    if (due >= due_) return;
    timer_.cancel();
    timer_ = whose.send_after(due - clock::now(), tick{});
    due_ = due;
  }

  /// The tick has come.
  void rang() noexcept { due_ = time_point::max(); }

 private:
  timer timer_;
  time_point due_ = time_point::max();
};

}  // namespace troupe::http::detail
