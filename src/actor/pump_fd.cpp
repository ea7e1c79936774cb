// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/pump_fd.hpp>

namespace troupe {

pump_fd::pump_fd(system& of) : pump_(of) {
  pump_.on_wakeup([this] { event_.set(); });
}

// First the event, then the messages: one that comes in between is handled by this round and leaves
// the event set for nothing. The other way round it would lie there without anybody being told.
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
