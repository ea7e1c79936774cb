// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string_view>
#include <troupe/troupe.hpp>

struct call {
  int floor;
};
struct emergency {};
struct all_clear {};
struct close_down {};

/// Moves from floor to floor, one call at a time.
class elevator : public troupe::state_machine<elevator> {
 public:
  /// `floor_time`: the time from one floor to the next.
  explicit elevator(troupe::duration floor_time) : floor_time_(floor_time) {}

  // ── States ─────────────────────────────────────────────────────────────────────────────────────
  struct in_service : state {};
  struct idle : in<in_service> {};
  struct moving : in<in_service> {
    using defers = troupe::messages<call, close_down>;
  };
  struct open : in<in_service> {
    using defers = troupe::messages<call, close_down>;
  };
  struct halted : state {
    using unhandled = deferred;
  };
  using states = troupe::states<in_service, idle, moving, open, halted>;
  using messages = troupe::messages<call, emergency, all_clear, close_down>;

  // ── Handlers ───────────────────────────────────────────────────────────────────────────────────
  to<moving, open> on(idle, call m);
  void on(idle, close_down) { stop(); }

  [[nodiscard]] troupe::duration limit(moving) const { return floor_time_; }
  to<moving, open> on(moving, time_limit);

  static constexpr troupe::duration limit(open) { return std::chrono::milliseconds(20); }
  to<idle> on(open, time_limit) { return {}; }

  to<halted> on(in_service, emergency) { return {}; }
  to<history<in_service>> on(halted, all_clear) { return {}; }

  void on_enter(open);
  void on_exit(open);
  void on_enter(halted);
  void on_exit(halted);
  void on_unhandled(std::string_view in_state, std::string_view message);

 private:
  const troupe::duration floor_time_;
  int floor_ = 0;
  int goal_ = 0;
};
