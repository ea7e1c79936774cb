// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include <troupe/actor/events.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/incarnations.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/message/address.hpp>
#include <troupe/supervision/child.hpp>

// State shared by a supervisor and one of its children. src/supervision/README.md describes the
// protocol.

namespace troupe::detail {

/// A child's notification to its supervisor. The supervisor allocates it, so that the child needs
/// no memory.
struct child_note {
  enum class kind : std::uint8_t { started, ended };

  std::uint64_t child = 0;
  address who = {};  // the supervisor may be a new incarnation by then, with other children
  kind what = kind::started;
  exit_reason reason = exit_reason::unknown;
  std::string text = {};
};

using note_envelope = message_envelope<child_note, false>;

struct discard_note {
  void operator()(note_envelope* one) const noexcept { one->how->discard(*one); }
};
using note_ptr = std::unique_ptr<note_envelope, discard_note>;

/// The record of one child, used by both sides.
///
/// at_end      what happens to the child when its incarnation ends
/// has_object  true from begin() until the incarnation begins to end
///
/// Threads: any; `guard_` guards everything that is not constant.
class child_record {
 public:
  enum class at_end : std::uint8_t { by_policy, comes_back, final };

  child_record(std::uint64_t id, address supervisor, restart when, bool forgets) noexcept
      : id_(id), supervisor_(supervisor), when_(when), forgets_(forgets) {}

  // ── Called by the supervisor ───────────────────────────────────────────────────────────────────
  /// `how` is the supervisor's dispatch record for notes. False if the child has been told to stop.
  /// Throws std::bad_alloc.
  [[nodiscard]] bool begin(control_block& child, const dispatch& how);
  /// Ends the incarnation; the child stays. Throws std::bad_alloc.
  void end_object(control_block& child);
  /// Terminates the child: if it has an incarnation, after the messages already sent to it;
  /// otherwise with reason `otherwise`. Throws std::bad_alloc, and may then be called again.
  void end_for_good(control_block& child, exit_reason otherwise);

  // ── Called by the child ────────────────────────────────────────────────────────────────────────
  void started() noexcept;
  [[nodiscard]] bool comes_back(exit_reason why) noexcept;
  void ended(control_block& child, exit_reason why, std::string_view what) noexcept;
  [[nodiscard]] bool forgets() const noexcept { return forgets_; }

 private:
  [[nodiscard]] bool tell(note_ptr note) const noexcept;

  const std::uint64_t id_;
  const address supervisor_;
  const restart when_;
  const bool forgets_;

  mutex guard_;  // guards what follows
  at_end at_end_ = at_end::by_policy;
  bool has_object_ = false;
  note_ptr started_;
  note_ptr ended_;
};

/// A child as its supervisor sees it.
struct child_state {
  enum class state : std::uint8_t { between, starting, running, stopping, gone };

  child_spec spec;
  std::shared_ptr<child_record> record = nullptr;
  control_block* block = nullptr;  // a counted reference; null: released
  address who = {};
  state now = state::between;
  std::uint64_t restarts = 0;
  unsigned failed_in_a_row = 0;
  time_point began = {};
  time_point not_before = {};
  time_point deadline = time_point::max();
  exit_reason ended_as = exit_reason::stopped;  // of the last incarnation
  std::string what = {};                        // the failure of that incarnation
  bool ordered = true;                          // starts after earlier children, before later ones
  bool restarts_with_others = false;
  bool told = false;  // to stop
  bool told_now = false;
};

/// Limits the rate of restarts, and computes the backoff before the next one.
class restart_pace {
 public:
  explicit restart_pace(const supervision& rules);

  /// Counts one more restart. False: the limit is exceeded.
  [[nodiscard]] bool may_restart(time_point now);
  [[nodiscard]] duration delay(child_state& of, time_point now);
  [[nodiscard]] const supervision& rules() const noexcept { return rules_; }

 private:
  const supervision rules_;
  std::deque<time_point> recent_;
  std::minstd_rand random_;
};

/// Makes the slot of a child, without an incarnation. `others` may still be empty, but not when the
/// child begins.
void make_slot(troupe::system& of, child_state& child,
               const std::shared_ptr<const siblings>& others);

}  // namespace troupe::detail
