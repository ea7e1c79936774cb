// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/base/clock.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http::detail {

/// From a connection's own alarm to the connection: act on the time that has passed.
struct tick {};

/// An actor's only timer, for a deadline that moves often and is rarely reached. A deadline that
/// moves away costs nothing: a tick that arrives too early sets the alarm again.
///
/// Threads: the actor's.
class alarm {
 public:
  /// The actor gets a tick by then or soon after, and perhaps an earlier one as well.
  template <class Actor>
  void set(time_point due, const self_ref<Actor>& whose) {
    if (due >= due_) return;
    timer_.cancel();
    timer_ = whose.send_after(due - clock::now(), tick{});
    due_ = due;
  }

  /// To be called when the tick has arrived.
  void rang() noexcept { due_ = time_point::max(); }

 private:
  timer timer_;
  time_point due_ = time_point::max();
};

}  // namespace troupe::http::detail
