// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/sync/mutex.hpp>

namespace troupe {

/// Is told that free memory has gathered which could go back to the system.
class surplus_listener {
 public:
  /// Called on a thread that frees something, in the middle of it: be brief, allocate nothing, and
  /// do it elsewhere.
  virtual void on_surplus() noexcept = 0;

 protected:
  surplus_listener() = default;
  ~surplus_listener() = default;

 private:
  friend class surplus_signal;
  surplus_listener* next_ = nullptr;
};

/// Tells one of its listeners once, until it is lowered. What nobody was there to hear is told to the
/// next who comes.
///
/// Threads:   any. A listener is not called any more when remove() has returned.
/// Invariant: raised with listeners → one of them was told since it was lowered.
class surplus_signal {
 public:
  constexpr surplus_signal() = default;
  surplus_signal(const surplus_signal&) = delete;
  surplus_signal& operator=(const surplus_signal&) = delete;

  void raise() noexcept;
  void lower() noexcept;
  [[nodiscard]] bool is_raised() const noexcept;

  void add(surplus_listener& listener) noexcept;

  /// `owes`: the listener has not done yet what it was told, so that another one has to.
  void remove(surplus_listener& listener, bool owes) noexcept;

 private:
  mutable mutex mutex_;                // guards what follows; listeners are called under it
  surplus_listener* first_ = nullptr;  // the one that is told
  bool raised_ = false;
};

}  // namespace troupe
