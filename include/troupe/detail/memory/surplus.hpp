// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/detail/sync/mutex.hpp>

namespace troupe {

/// Notified when free memory has accumulated that could be returned to the system.
class surplus_listener {
 public:
  /// Called on a thread that frees a block, in the middle of that operation: it must be brief, must
  /// not allocate, and must do the work elsewhere.
  virtual void on_surplus() noexcept = 0;

 protected:
  surplus_listener() = default;
  ~surplus_listener() = default;

 private:
  friend class surplus_signal;
  surplus_listener* next_ = nullptr;
};

/// Notifies one of its listeners once, until it is lowered. If there is no listener, the
/// notification is kept for the next one that is added.
///
/// Threads:   any. After remove() has returned, the listener is not called any more.
/// Invariant: raised with listeners → one of them was notified since it was last lowered.
class surplus_signal {
 public:
  constexpr surplus_signal() = default;
  surplus_signal(const surplus_signal&) = delete;
  surplus_signal& operator=(const surplus_signal&) = delete;

  void raise() noexcept;
  void lower() noexcept;
  [[nodiscard]] bool is_raised() const noexcept;

  void add(surplus_listener& listener) noexcept;

  /// `owes`: the listener has not yet done the work that it was notified of, so that another
  /// listener must do it.
  void remove(surplus_listener& listener, bool owes) noexcept;

 private:
  mutable mutex mutex_;                // guards what follows; listeners are called under it
  surplus_listener* first_ = nullptr;  // the one that is notified
  bool raised_ = false;
};

}  // namespace troupe
