// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <utility>

#include <troupe/troupe.hpp>

namespace troupe::lua::detail {

/// Sends what must not get lost: where a mailbox has no room at all, it comes a little later, by a timer, which the mailbox has
/// to take. So it may come behind what was sent after it.
template <class A, class M>
void send_surely(const ref<A>& to, M what) {
  const delivery did = to.send(M(what));
  if (did == delivery::refused || did == delivery::dropped) {
    to.send_after(std::chrono::milliseconds(1), std::move(what));
  }
}

}  // namespace troupe::lua::detail
