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
  /// `home` is where a late answer is counted.
  static answer_slot& make(runtime& home);

  /// The question's part; it has let go.
  void answer(request& with) noexcept;

  [[nodiscard]] runtime& home() const noexcept { return home_; }

  // ── Who asked ───────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] request* look() noexcept;  // the answer, to be freed; null: not yet
  /// Sleeps until there is an answer, or until the deadline, or for no reason.
  void sleep(time_point until) noexcept;
  /// The answer wakes this pump, too; null: none any more.
  void wakes(bound_executor* pump) noexcept;
  /// From here on it goes there. The answer, if it is here already. Lets go.
  [[nodiscard]] request* redirect(const asker& to) noexcept;
  /// Nobody waits for it. Lets go.
  void leave() noexcept;

 private:
  explicit answer_slot(runtime& home) noexcept : home_(home) {}
  void let_go() noexcept;

  runtime& home_;
  mutex mutex_;  // guards the next four
  bound_executor* pump_ = nullptr;
  request* answer_ = nullptr;
  std::optional<asker> onwards_;
  bool left_ = false;
  parker parker_;
  atomic<std::uint32_t> holders_{2};
};

}  // namespace troupe::detail
