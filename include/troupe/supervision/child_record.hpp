// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include <troupe/actor/events.hpp>
#include <troupe/actor/incarnations.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/supervision/child.hpp>
#include <troupe/sync/mutex.hpp>

// What a supervisor and a child of it share; src/supervision/README.md has the protocol.

namespace troupe::detail {

/// What a child tells its supervisor: made by the supervisor, so that the child needs no memory.
struct child_note {
  enum class kind : std::uint8_t { started, ended };

  std::uint64_t child = 0;
  address who = {};  // the supervisor may be another object by then, with other children
  kind what = kind::started;
  exit_reason reason = exit_reason::unknown;
  std::string text = {};
};

using note_envelope = message_envelope<child_note, false>;

struct discard_note {
  void operator()(note_envelope* one) const noexcept { one->how->discard(*one); }
};
using note_ptr = std::unique_ptr<note_envelope, discard_note>;

/// Of one child, for both sides.
///
/// at_end      what becomes of the child when its object ends
/// has_object  from begin() to the moment when the end of the object begins
///
/// Threads: everything under `guard` but what is constant.
class child_record {
 public:
  enum class at_end : std::uint8_t { by_policy, comes_back, final };

  child_record(std::uint64_t id, address supervisor, restart when, bool forgets) noexcept
      : id_(id), supervisor_(supervisor), when_(when), forgets_(forgets) {}

  // ── The supervisor's ────────────────────────────────────────────────────────────────────────
  /// `how` is its record for notes. False if the child has been told to end. Throws std::bad_alloc.
  [[nodiscard]] bool begin(control_block& child, const dispatch& how);
  /// Its object ends, and the child stays. Throws std::bad_alloc.
  void end_object(control_block& child);
  /// The child ends: after what it has been sent, if it has an object; else as `otherwise`. Throws
  /// std::bad_alloc, and may be called again.
  void end_for_good(control_block& child, exit_reason otherwise);

  // ── The child's ─────────────────────────────────────────────────────────────────────────────
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
  control_block* block = nullptr;  // held; null: let go of
  address who = {};
  state now = state::between;
  std::uint64_t restarts = 0;
  unsigned failed_in_a_row = 0;
  time_point began = {};
  time_point not_before = {};
  time_point deadline = time_point::max();
  exit_reason ended_as = exit_reason::stopped;  // the last object
  std::string what = {};                        // of its failure
  bool ordered = true;  // it starts after those before it, and before those behind it
  bool restarts_with_others = false;
  bool told = false;  // to end
  bool told_now = false;
};

/// Says when too many restarts have come together, and how long the next one waits.
class restart_pace {
 public:
  explicit restart_pace(const supervision& rules);

  /// One more. False: that is one too many.
  [[nodiscard]] bool may_restart(time_point now);
  [[nodiscard]] duration delay(child_state& of, time_point now);
  [[nodiscard]] const supervision& rules() const noexcept { return rules_; }

 private:
  const supervision rules_;
  std::deque<time_point> recent_;
  std::minstd_rand random_;
};

/// Makes the slot of a child, between two objects. `others` may be empty then, but not when it begins.
void make_slot(troupe::system& of, child_state& child,
               const std::shared_ptr<const siblings>& others);

}  // namespace troupe::detail
