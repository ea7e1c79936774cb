// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace troupe {

namespace detail {
class shared_budget;
}  // namespace detail

/// Memory that the mailboxes of a group of actors may take together: give the same budget to each of
/// them at spawn. What would exceed it is kept out by the receiver's policy: refused where senders are
/// paused, dropped with drop_oldest.
///
/// It counts messages with their heads and with what they say that they own (owned_bytes), not the
/// rounding of the allocator, nor what handlers keep.
///
/// Threads: a plain value; copies are the same budget. It lives as long as anybody who uses it.
/// Cost:    one atomic addition on a shared line in each send; handled messages are taken off at the
///          end of a turn, so that used() may be too high by what one turn of each member handles.
class budget {
 public:
  explicit budget(std::size_t bytes);

  [[nodiscard]] std::size_t limit() const noexcept;
  [[nodiscard]] std::size_t used() const noexcept;

 private:
  friend struct budget_access;
  std::shared_ptr<detail::shared_budget> shared_;
};

}  // namespace troupe
