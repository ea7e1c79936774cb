// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/timer.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/supervision/child_record.hpp>
#include <troupe/message/type_name.hpp>
#include <troupe/supervision/child.hpp>
#include <troupe/supervision/supervisor.hpp>

namespace troupe {

namespace detail {
/// Throws std::invalid_argument if the spec is for another class.
void check_class(const child_spec& spec, const actor_type& expected);
}  // namespace detail

/// Asks a dynamic_supervisor to start one more child. The child is constructed from copies of these
/// arguments, by a function that returns an A, or from a child_spec. The reply is a ref to the
/// child, which may not have started yet; messages sent to it wait until it has.
///
/// Errors: std::invalid_argument if the child_spec is for a class other than A.
template <class A>
class start_child {
 public:
  template <class... Arguments>
    requires(!(std::derived_from<std::remove_cvref_t<Arguments>, start_child> || ...) &&
             !(std::same_as<std::remove_cvref_t<Arguments>, child_spec> || ...))
  explicit start_child(Arguments&&... arguments)
      : spec_(child<A>(std::string(type_name<A>()), std::forward<Arguments>(arguments)...)) {}
  explicit start_child(child_spec spec) : spec_(std::move(spec)) {
    detail::check_class(spec_, detail::actor_type_of<A>);
  }

  [[nodiscard]] const child_spec& spec() const noexcept { return spec_; }

 private:
  child_spec spec_;
};

/// Asks a dynamic_supervisor for its number of children that have not terminated, a std::size_t.
struct count_children {};

namespace detail {

/// The part of a dynamic supervisor that does not depend on the class of its children.
class dynamic_children : public actor {
 public:
  ~dynamic_children();

 protected:
  dynamic_children(const supervision& rules, const dispatch& notes);

  /// Keeps the supervisor alive until it is told to stop.
  void stay() noexcept;
  [[nodiscard]] control_block& start(const child_spec& spec);
  [[nodiscard]] std::vector<child_status> list() const;
  [[nodiscard]] std::size_t count() const noexcept { return children_.size(); }
  void noted(child_note note);
  void has_ended(const down& end);
  void told_to_end();
  /// Acts on each child with an action that is due. Returns when the next action is due, which is
  /// when the caller must call this again; time_point::max(): no action is scheduled.
  [[nodiscard]] time_point look_after();

 private:
  using state = child_state::state;
  using schedule = std::multimap<time_point, std::uint64_t>;
  struct entry : child_state {
    std::uint64_t id = 0;
    schedule::iterator at = {};  // if an action is scheduled
    bool is_due = false;
  };

  void due_at(entry& child, time_point when);
  void not_due(entry& child) noexcept;
  void begin(entry& child);
  void failed(entry& child, const child_note& note);
  void end_all(std::string why);
  void look_at(entry& child, time_point now);
  void end_if_empty();

  const dispatch& notes_;
  const std::shared_ptr<const siblings> nobody_;
  restart_pace pace_;
  std::unordered_map<std::uint64_t, entry> children_;
  std::unordered_map<address, std::uint64_t> ids_;
  schedule due_;
  std::uint64_t next_id_ = 0;
  control_block* stays_ = nullptr;  // a reference to itself, held until it terminates
  bool ending_ = false;
  std::string failure_;
};

}  // namespace detail

/// A supervisor for any number of children of one class, started and stopped at run time:
///
///   auto sessions = system.spawn<troupe::dynamic_supervisor<session>>();
///   auto one = sessions.ask<troupe::start_child<session>>(1s, user, socket).get().value();
///
/// Each child is restarted alone (the strategy in the rules is ignored). The restart limit applies
/// to all children together. A child that has terminated for good is forgotten. When the supervisor
/// is told to stop, it stops all children at the same time.
///
/// Threads, errors: as for supervisor.
/// Cost:    as for supervisor; each start and each termination costs a few look-ups in a hash
///          table.
template <class A>
class dynamic_supervisor : public detail::dynamic_children {
 public:
  explicit dynamic_supervisor(const supervision& rules = {})
      : dynamic_children(rules,
                         detail::promised_dispatch_of<dynamic_supervisor, detail::child_note>) {}

  void on_start() { stay(); }

  ref<A> on(const start_child<A>& which) {
    detail::control_block& block = start(which.spec());
    block.hold();
    auto started = detail::ref_access::adopt<A>(&block);
    see_to_next_call();
    return started;
  }
  std::vector<child_status> on(list_children) { return list(); }
  std::size_t on(count_children) { return count(); }

  // ── Called by the runtime ──────────────────────────────────────────────────────────────────────
  void on(detail::child_note note) {
    noted(std::move(note));
    see_to_next_call();
  }
  void on(const down& end) { has_ended(end); }
  void on(detail::look_after_children) {
    next_call_ = time_point::max();
    see_to_next_call();
  }
  void on_told(detail::told_to_stop) {
    told_to_end();
    see_to_next_call();
  }

 private:
  void see_to_next_call() {
    const time_point next = look_after();
    if (next >= next_call_) return;
    next_call_ = next;
    (void)its_timer_.cancel();
    its_timer_ = self(this).send_after(std::max(next - clock::now(), duration::zero()),
                                       detail::look_after_children{});
  }

  time_point next_call_ = time_point::max();
  timer its_timer_;  // for look_after_children
};

}  // namespace troupe
