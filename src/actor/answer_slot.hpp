// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <troupe/actor/request.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/parker.hpp>

namespace troupe::detail {

class bound_executor;
class runtime;

/// Where the answer meets who asked from a thread, or from a handler that may wait like one.
///
/// Two hold it: who asked, and the question. The last one to let go frees it.
///
/// Threads:   answer() from the one that answers; the rest from the one that asked.
/// Invariant: an answer is taken by who asked, sent on to where he wants it, or freed.
class answer_slot {
 public:
  /// `home` is where a late answer is counted; `pump` is woken by the answer, if there is one.
  static answer_slot& make(runtime& home, bound_executor* pump);

  /// The question's part; it has let go.
  void answer(request& with) noexcept;

  [[nodiscard]] runtime& home() const noexcept { return home_; }
  [[nodiscard]] bound_executor* pump() const noexcept { return pump_; }

  // ── Who asked ───────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] request* look() noexcept;  // the answer, to be freed; null: not yet
  /// Sleeps until there is an answer, or until the deadline. Not where a pump is to be woken.
  void sleep(time_point until) noexcept;
  /// From here on it goes there. The answer, if it is here already. Lets go.
  [[nodiscard]] request* redirect(const asker& to) noexcept;
  /// Nobody waits for it. Lets go.
  void leave() noexcept;

 private:
  answer_slot(runtime& home, bound_executor* pump) noexcept : home_(home), pump_(pump) {}
  void let_go() noexcept;

  runtime& home_;
  bound_executor* const pump_;
  mutex mutex_;  // guards the next three
  request* answer_ = nullptr;
  std::optional<asker> onwards_;
  bool left_ = false;
  parker parker_;
  atomic<std::uint32_t> holders_{2};
};

}  // namespace troupe::detail
