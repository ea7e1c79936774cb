// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace troupe {

namespace detail {
class shared_budget;
}  // namespace detail

/// A memory budget that the mailboxes of a group of actors share: give the same budget to each of
/// them at spawn. The receiver's policy decides about a message that would exceed it: it is refused
/// with backpressure, and dropped with drop_oldest.
///
/// It counts messages with their headers and the bytes that they declare to own (owned_bytes). It
/// does not count the allocator's rounding, nor what handlers store.
///
/// Threads: a plain value; copies are the same budget, which lives as long as any user of it.
/// Cost:    one atomic addition on a shared cache line in each send. Handled messages are
///          subtracted at the end of a turn, so used() may be too high by the messages that one
///          turn of each member handles.
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
