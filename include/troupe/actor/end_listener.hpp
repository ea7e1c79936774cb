// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::detail {

class control_block;

/// A resource that a higher layer keeps for an actor and releases when the actor terminates.
///
/// ended() is called once, in the actor's last turn, after the object has been destroyed and before
/// the termination is reported by `down`, by a link, or in join(). It holds no lock and must not
/// throw.
class end_listener {
 public:
  end_listener() = default;
  end_listener(const end_listener&) = delete;
  end_listener& operator=(const end_listener&) = delete;

  virtual void ended() noexcept = 0;

  /// Returns true if the listener ends with the actor's object, also when the actor is restarted.
  [[nodiscard]] virtual bool is_of_object() const noexcept { return false; }

 protected:
  ~end_listener() = default;

 private:
  friend struct termination_notices;
  end_listener* next_ = nullptr;  // under the mutex of the actor's termination_notices
  end_listener* previous_ = nullptr;
  bool listens_ = false;  // under the same mutex
};

/// Registers `listener`. Returns false if the actor has terminated; the listener will then not be
/// called. The caller holds a reference to the actor.
///
/// Threads: any.
/// Cost:    a mutex of the actor.
/// Errors:  std::bad_alloc.
[[nodiscard]] bool listen_to_end(control_block& of, end_listener& listener);

/// Removes `listener`. Returns false if it is being called or has been called; ended() must then
/// free it. The caller must prevent the slot of `of` from being reused for another actor, as it is
/// until ended() has returned.
[[nodiscard]] bool unlisten_to_end(control_block& of, end_listener& listener) noexcept;

}  // namespace troupe::detail
