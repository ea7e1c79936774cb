// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include <troupe/actor/events.hpp>
#include <troupe/actor/spawn_options.hpp>

namespace troupe {

class system;

namespace detail {

class control_block;
struct actor_type;

/// Makes one object after the other for an actor that is restarted behind the same handle, and hears
/// how each of them ends.
///
///   between   there is no object. Somebody decides: begin_incarnation() or end_for_good()
///   begun     construct(), on_start(), then started()
///   ended     comes_back() has said true: handlers that wait, the object, its timers and its watches
///             are gone, ended() is told, and the actor is between two objects again
///
/// Threads:   construct(), started(), comes_back() and ended() are called in turns of the actor; the
///            destructor by whoever lets go of its last reference.
/// Invariant: what is in the mailbox stays, unless forgets_mailbox(); nobody who watches is told.
class incarnations {
 public:
  incarnations() = default;
  incarnations(const incarnations&) = delete;
  incarnations& operator=(const incarnations&) = delete;
  virtual ~incarnations() = default;

  /// Throws what the actor's constructor throws.
  virtual void construct(void* place) = 0;
  virtual void started() noexcept = 0;
  /// The object is about to end for this reason. False: the actor ends with it.
  [[nodiscard]] virtual bool comes_back(exit_reason why) noexcept = 0;
  /// The object has ended, and comes back when begin_incarnation() is called, or not with
  /// end_for_good(): by any thread, maybe before this returns.
  virtual void ended(exit_reason why, std::string_view what) noexcept = 0;
  [[nodiscard]] virtual bool forgets_mailbox() const noexcept = 0;
};

/// A slot with a reference for the caller, between two objects. Throws as system::spawn().
[[nodiscard]] control_block& make_between(troupe::system& of, const actor_type& type,
                                          const spawn_options& options,
                                          std::unique_ptr<incarnations> makes);

/// Its object ends after the message that is being handled, as with stop_now(); as `stopped` if that
/// message is a stop(). For one that has an object, whose comes_back() has not been asked yet. Throws
/// std::bad_alloc.
void end_object(control_block& of);

/// Of an actor between two objects, once: it gets a turn in which the next one is made. False if it
/// was decided otherwise, by the other function or by stop_now().
bool begin_incarnation(control_block& of) noexcept;
bool end_for_good(control_block& of, exit_reason as) noexcept;

}  // namespace detail
}  // namespace troupe
