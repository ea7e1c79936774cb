// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <troupe/troupe.hpp>

#include "messages.hpp"
#include "world.hpp"

namespace troupe::random_programs {

/// One operation of a program. The simplest one does nothing.
enum class operation : std::uint8_t {
  nothing,
  // By an actor, immediately, or from outside.
  send_parcels,
  send_urgent,
  send_heavy,
  send_limited,
  send_fragile,
  send_items,
  stop,
  stop_now,
  add_name,
  remove_name,
  find_name,
  tell_name,
  subscribe,
  unsubscribe,
  publish,
  arm_timer,
  arm_ticks,
  cancel_timer,
  ask_and_get,
  send_to_channel,
  receive_from_channel,
  lock,
  spawn,
  // By an actor, immediately.
  fail,
  fail_constructor,
  fail_on_stop,
  watch,
  watch_address,
  unwatch,
  link,
  unlink,
  ask_then,
  hold,
  let_go,
  reply_now,
  drop_reply,
  change_state,
  // By an actor, in a handler that is a coroutine.
  sleep,
  ask,
  send_ready,
  next_of_channel,
  send_ready_to_channel,
  select,
  await_end,
  await_name,
  // From outside.
  advance,
  run,
  collect,
  drop_reference,
  close_channel,
  count
};
inline constexpr auto operation_count = static_cast<std::size_t>(operation::count);
[[nodiscard]] const char* to_string(operation what) noexcept;

[[nodiscard]] constexpr bool is_from_outside(operation what) noexcept {
  return what <= operation::spawn || what >= operation::advance;
}
[[nodiscard]] constexpr bool is_at_once(operation what) noexcept {
  return what <= operation::change_state;
}
[[nodiscard]] constexpr bool is_slow(operation what) noexcept {
  return what >= operation::sleep && what <= operation::await_name;
}

/// A reference that an actor holds, and lists for the search for cycles.
struct held {
  std::vector<ref<player>> players;
  std::vector<ref<machine>> machines;
};

class player : public actor {
 public:
  static constexpr bool is_actor = true;
  using message_limits = troupe::message_limits<at_most<limited, 2>>;
  static constexpr std::size_t batch_max = 4;

  explicit player(int index);
  ~player();
  void on_start();
  void on_stop();
  void references(reference_visitor& visit) const;

  void on(parcel m);
  void on(const urgent& m);
  void on(heavy&& m);
  void on(limited m);
  void on(fragile m);
  void on(std::span<item> all);
  void on(const tick& m);
  void on(const note& m);
  void on(chirp m);
  void on(act a);
  task<> on(slow a);
  exclusive_task<> on(alone a);
  int on(question q);
  task<int> on(slow_question q);
  void on(later_question q, reply<int> owed);
  void on(const down& d);
  void on(const name_registered& n);

  // Used by the operations.
  using actor::link;
  using actor::system;
  using actor::unlink;
  using actor::unwatch;
  using actor::watch;
  [[nodiscard]] int index() const noexcept { return index_; }
  held holds;
  std::vector<std::pair<int, reply<int>>> owed;

 private:
  const int index_;
};

class machine : public state_machine<machine> {
 public:
  static constexpr bool is_actor = true;
  using message_limits = troupe::message_limits<at_most<limited, 2>>;
  static constexpr std::size_t max_deferred = 3;

  struct open : state {};
  struct locked : state {
    using defers = troupe::messages<parcel, urgent, limited>;
  };
  struct bolted : in<locked> {};
  using states = troupe::states<open, locked, bolted>;
  using messages = troupe::messages<parcel, urgent, heavy, limited, fragile, tick, note, chirp, act,
                                    slow, alone, question, slow_question, later_question, link_down,
                                    down, name_registered, flip>;

  explicit machine(int index);
  ~machine();
  void on_stop();
  void references(reference_visitor& visit) const;

  void on_enter(open);
  void on_enter(locked);
  static constexpr duration limit(locked) { return std::chrono::milliseconds(3); }
  to<locked> on(open, flip);
  to<open> on(locked, flip);
  to<open> on(locked, time_limit);
  void on_unhandled(std::string_view state, std::string_view message);

  void on(open, parcel m);
  void on(open, const urgent& m);
  void on(heavy&& m);
  void on(open, limited m);
  void on(fragile m);
  void on(const tick& m);
  void on(const note& m);
  void on(chirp m);
  void on(act a);
  task<> on(slow a);
  exclusive_task<> on(alone a);
  int on(question q);
  task<int> on(slow_question q);
  void on(later_question q, reply<int> owed);
  void on(const link_down& d);
  void on(const down& d);
  void on(const name_registered& n);

  using actor::link;
  using actor::system;
  using actor::unlink;
  using actor::unwatch;
  using actor::watch;
  [[nodiscard]] int index() const noexcept { return index_; }
  held holds;
  std::vector<std::pair<int, reply<int>>> owed;

 private:
  const int index_;
};

/// Spawns an actor that is a function.
[[nodiscard]] walker_handle spawn_walker(troupe::system& in, const spawn_options& options,
                                         int index);

/// Executes an operation from outside, on this thread.
void do_outside(order what);

}  // namespace troupe::random_programs
