// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/pump_fd.hpp>

namespace troupe {

pump_fd::pump_fd(system& of) : pump_(of) {
  pump_.on_wakeup([this] { event_.set(); });
}

// The event is cleared before the messages are taken: a message that arrives in between is handled
// in this round, and leaves the event set needlessly. In the opposite order it would stay in the
// mailbox without a notification.
std::size_t pump_fd::drain(std::size_t messages) {
  event_.clear();
  try {
    return pump_.drain_at_most(messages);
  } catch (...) {
    event_.set();  // by another thread, or inside a handler: nothing was drained
    throw;
  }
}

}  // namespace troupe
