// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <troupe/actor/request.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/parker.hpp>

namespace troupe::detail {

class bound_executor;
class runtime;

/// Where a reply meets a requester that is a thread, or a handler that may block like one.
///
/// It has two holders: the requester and the request. The last one to release it frees it.
///
/// Threads:   answer() from the responding thread; the rest from the requesting thread.
/// Invariant: a reply is taken by the requester, forwarded to where the requester redirected it, or
///            freed.
class answer_slot {
 public:
  /// Late replies are counted in `home`.
  static answer_slot& make(runtime& home);

  /// Delivers the reply and releases the request's hold.
  void answer(request& with) noexcept;

  [[nodiscard]] runtime& home() const noexcept { return home_; }

  // ── Requester ───────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] request* look() noexcept;  // the reply, which the caller frees; null: not yet
  /// Sleeps until there is a reply or the deadline has passed. May also return spuriously.
  void sleep(time_point until) noexcept;
  /// The reply also wakes this pump; null: none any more.
  void wakes(bound_executor* pump) noexcept;
  /// Forwards the reply to `to` from now on. Returns the reply if it has already arrived. Releases
  /// the hold.
  [[nodiscard]] request* redirect(const asker& to) noexcept;
  /// Abandons the reply. Releases the hold.
  void leave() noexcept;

 private:
  explicit answer_slot(runtime& home) noexcept : home_(home) {}
  void let_go() noexcept;

  runtime& home_;
  mutex mutex_;  // guards the next four members
  bound_executor* pump_ = nullptr;
  request* answer_ = nullptr;
  std::optional<asker> onwards_;
  bool left_ = false;
  parker parker_;
  atomic<std::uint32_t> holders_{2};
};

}  // namespace troupe::detail
