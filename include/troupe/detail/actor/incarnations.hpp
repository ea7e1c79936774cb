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

/// Makes the successive objects of an actor that is restarted behind the same handle, and is
/// notified of the end of each object.
///
///   between   there is no object. A decision is due: begin_incarnation() or end_for_good()
///   begun     construct(), on_start(), then started()
///   ended     comes_back() has returned true: suspended handlers, the object, its timers and its
///             monitors are gone, ended() is called, and the actor is between two objects again
///
/// Threads:   all members, including the destructor, are called in turns of the actor; the
///            destructor in its last one.
/// Invariant: messages stay in the mailbox, unless forgets_mailbox(); monitoring actors are not
///            notified.
class incarnations {
 public:
  incarnations() = default;
  incarnations(const incarnations&) = delete;
  incarnations& operator=(const incarnations&) = delete;
  virtual ~incarnations() = default;

  /// Throws what the actor's constructor throws.
  virtual void construct(void* place) = 0;
  virtual void started() noexcept = 0;
  /// Called when the object is about to end for this reason. If it returns false, the actor
  /// terminates with the object. It is called once more, with `failed`, if it has returned false
  /// and on_stop() then throws.
  [[nodiscard]] virtual bool comes_back(exit_reason why) noexcept = 0;
  /// Called when the object has ended. Afterwards any thread calls begin_incarnation() to make the
  /// next one, or end_for_good(); this may happen before ended() returns.
  virtual void ended(exit_reason why, std::string_view what) noexcept = 0;
  [[nodiscard]] virtual bool forgets_mailbox() const noexcept = 0;
};

/// Makes a slot, between two objects, with a reference for the caller. Throws as system::spawn().
[[nodiscard]] control_block& make_between(troupe::system& of, const actor_type& type,
                                          const spawn_options& options,
                                          std::unique_ptr<incarnations> makes);

/// Ends the object after the message that is being handled, as with stop_now(); as `stopped` if
/// that message is a stop(). Requires an actor that has an object whose comes_back() has not been
/// called yet.
/// Errors: std::bad_alloc.
void end_object(control_block& of);

/// Decides, once, for an actor between two objects: begin_incarnation() schedules a turn in which
/// the next object is made; end_for_good() terminates the actor. Both return false if the decision
/// was already made, by the other function or by stop_now().
bool begin_incarnation(control_block& of) noexcept;
bool end_for_good(control_block& of, exit_reason as) noexcept;

}  // namespace detail
}  // namespace troupe
