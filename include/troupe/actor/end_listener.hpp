// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::detail {

class control_block;

/// What a higher layer keeps for an actor and wants to let go of when the actor ends.
///
/// ended() is called once, in the actor's last turn, when the object is gone and before anybody is told
/// of the end: by `down`, by a link, or in join(). It holds no lock and must not throw.
class end_listener {
 public:
  end_listener() = default;
  end_listener(const end_listener&) = delete;
  end_listener& operator=(const end_listener&) = delete;

  virtual void ended() noexcept = 0;

  /// True: it ends with the actor's object, also if the actor is restarted.
  [[nodiscard]] virtual bool is_of_object() const noexcept { return false; }

 protected:
  ~end_listener() = default;

 private:
  friend struct bonds;
  end_listener* next_ = nullptr;  // under the mutex of the actor's bonds
  end_listener* previous_ = nullptr;
  bool listens_ = false;  // likewise
};

/// False if the actor has ended: then it will not be called. The caller holds a reference to it.
///
/// Threads: any. Cost: a mutex of the actor's. Throws std::bad_alloc.
[[nodiscard]] bool listen_to_end(control_block& of, end_listener& listener);

/// False if it is being called, or was: then ended() is the one to free it. `of` has to be kept from
/// being used for another actor by the caller, as it is while ended() has not returned.
[[nodiscard]] bool unlisten_to_end(control_block& of, end_listener& listener) noexcept;

}  // namespace troupe::detail
