// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/timer.hpp>
#include <troupe/supervision/child.hpp>
#include <troupe/supervision/child_record.hpp>

namespace troupe {

/// Asks a supervisor for one of its children: `sup.ask<find_child<store>>(1s, "store")`. The reply
/// is an empty ref if there is no child of this name and class. The ref stays valid across
/// restarts.
template <class A>
struct find_child {
  std::string name;
};

/// Asks a supervisor for the state of its children: a std::vector<child_status>, in start order.
struct list_children {};

struct child_status {
  enum class state : std::uint8_t { waiting, starting, running, stopping, ended };

  std::string name;
  address who;
  state now = state::waiting;
  std::uint64_t restarts = 0;
  std::string what;  // of its last failure
};

[[nodiscard]] std::string_view to_string(child_status::state what) noexcept;

namespace detail {

struct look_after_children {};

}  // namespace detail

/// Starts its children in order, restarts them when they fail, and stops them in reverse order
/// before it terminates:
///
///   auto top = system.spawn<troupe::supervisor>(
///       troupe::supervision{.strategy = troupe::restart_strategy::rest_for_one},
///       troupe::child<store>("store", "data/"),
///       troupe::child<front>("front", [](const troupe::siblings& its) {
///         return front(its.get<store>("store"));
///       }));
///
/// A child is started when all children before it have started: their constructors and on_start()
/// have returned. A restarted child is the same actor with a new incarnation: handles stay valid,
/// names and links stay, and monitoring actors are not notified. The operations of the old
/// incarnation end with it: suspended handlers, requests, its own timers, its watches of others,
/// and subscriptions. The mailbox stays, with messages that arrive meanwhile, unless
/// child_spec::clear_mailbox is set. The message whose handling failed is lost, unless the class
/// lists it for redelivery: `using redelivered = troupe::messages<job>;`.
///
/// An exception from a constructor is a failure like any other. The supervisor itself fails after
/// too many restarts, when a start takes too long, and when a child cannot be stopped. It then
/// stops its children and fails, so that its own supervisor can restart it. A restarted supervisor
/// creates new children.
///
/// It lives until it is stopped, by stop() or by the end of the system. Its `on(stop)` is then
/// called as for any other actor, and it stops its children first. After stop_now() it terminates
/// at once, and its children after it, all at the same time.
///
/// Threads: its own turns on the pool; children run where their specs say. Constructors of children
///          run in the children's turns.
/// Errors:  std::invalid_argument for two children of one name, and for invalid rules.
/// Cost:    a child takes its slot, a side block and about 600 bytes. A restart takes three
///          messages.
class supervisor : public actor {
 public:
  template <std::same_as<child_spec>... Children>
  explicit supervisor(const supervision& rules, const Children&... children)
      : supervisor(rules, std::vector<child_spec>{children...}) {}
  supervisor(const supervision& rules, const std::vector<child_spec>& children);
  ~supervisor();

  void on_start();

  template <class A>
  ref<A> on(const find_child<A>& which) {
    detail::control_block* const held = find(which.name, detail::actor_type_of<A>);
    return detail::ref_access::adopt<A>(held);
  }
  std::vector<child_status> on(list_children);

  // ── Called by the runtime ──────────────────────────────────────────────────────────────────────
  void on(detail::child_note note);
  void on(const down& end);
  void on(detail::look_after_children);
  void on_told(detail::told_to_stop);

 private:
  using state = detail::child_state::state;

  [[nodiscard]] detail::control_block* find(std::string_view name, const detail::actor_type& type);
  void failed(detail::child_state& child, const detail::child_note& note);
  void escalate(std::string why);
  void step();
  [[nodiscard]] bool stop_all();
  [[nodiscard]] bool stop_for_restart();
  void start_those_due(time_point now);
  void begin(detail::child_state& child);
  void look_at_deadlines(time_point now);
  void see_to_next_call(time_point now);

  std::vector<detail::child_state> children_;
  detail::restart_pace pace_;
  ref<supervisor> stays_;  // a reference to itself, until it terminates
  time_point next_call_ = time_point::max();
  timer its_timer_;  // for look_after_children
  bool ending_ = false;
  std::string failure_;  // why it terminates; empty: it was told to stop
};

}  // namespace troupe
