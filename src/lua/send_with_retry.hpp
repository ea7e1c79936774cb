// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <utility>

#include <troupe/troupe.hpp>

namespace troupe::lua::detail {

/// Sends a message that must not get lost. If the mailbox has no room at all, a timer delivers the
/// message a little later, and the mailbox has to accept that. The message may then arrive after
/// later ones.
template <class A, class M>
void send_with_retry(const ref<A>& to, M what) {
  const delivery did = to.send(M(what));
  if (did == delivery::refused || did == delivery::dropped) {
    to.send_after(std::chrono::milliseconds(1), std::move(what));
  }
}

}  // namespace troupe::lua::detail
