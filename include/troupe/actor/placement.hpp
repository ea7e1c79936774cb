// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {

class pump;

/// Where an actor's turns run: `pool`, `own_thread` or `bound_to(pump)`.
class placement {
 public:
  enum class kind { pool, own_thread, pump };

  constexpr explicit placement(kind where, troupe::pump* on = nullptr) noexcept
      : kind_(where), pump_(on) {}

  [[nodiscard]] constexpr kind where() const noexcept { return kind_; }
  [[nodiscard]] constexpr troupe::pump* on() const noexcept { return pump_; }

 private:
  kind kind_;
  troupe::pump* pump_;
};

/// Runs the actor on the workers of a pool, which it shares with other actors: the system's own
/// pool, or spawn_options::dispatcher. A handler that blocks occupies a worker.
inline constexpr placement pool{placement::kind::pool};

/// Runs the actor on a thread of its own, for handlers that block or compute for long. Like all
/// threads of the system, this thread handles no signals.
inline constexpr placement own_thread{placement::kind::own_thread};

/// Runs the actor on the thread that created the pump, whenever that thread runs the pump.
[[nodiscard]] constexpr placement bound_to(pump& on) noexcept {
  return placement{placement::kind::pump, &on};
}

}  // namespace troupe
