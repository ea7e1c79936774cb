// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <troupe/sim/simulation.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>

#include "features.hpp"
#include "messages.hpp"

namespace troupe::random_programs {

class player;
class machine;
using walker_handle = recipient<act, slow, parcel, urgent, heavy, fragile, tick>;

enum class shape : std::uint8_t { player, machine, function };

/// The fate of a message.
enum class fate : std::uint8_t {
  none,
  handled,
  dead,           // a dead letter
  refused,        // by a limit
  dropped,        // by a limit
  ignored,        // by the state of a machine
  unsent,         // moving it threw in send()
  torn,           // moving it threw after send()
  failed,         // in a batch, and its handler was not reached because another one threw
  gone_with_end,  // its sender terminated in async_send()
  cancelled,      // its timer was cancelled, or ended with its receiver
};
[[nodiscard]] const char* to_string(fate f) noexcept;

struct letter {
  kind what = kind::other;
  fate end = fate::none;
  bool in_line = false;     // waits in async_send()
  bool has_thrown = false;  // a move of it has thrown
  bool was_taken = false;   // send() has accepted it
  int from = -1;
  int to = -1;
  int number = 0;  // counts messages of this kind between these two actors
  int timer = -1;
  int sender_object = 0;
};

/// One actor, from the oracle's point of view.
struct part {
  int index = 0;
  shape is = shape::player;
  overflow::policy policy = overflow::policy::backpressure;
  std::size_t max_messages = no_limit;
  bool is_supervised = false;
  bool is_always_restarted = false;
  bool stops_between = false;  // it was told to stop_now() between two incarnations
  bool is_target = false;      // other actors redirect to it
  int redirects_to = -1;
  bool is_charged = false;
  bool is_grouped = false;
  bool is_dispatched = false;

  address where;
  ref<player> as_player;  // held from outside; empty if not held
  ref<machine> as_machine;
  walker_handle as_function;
  weak_ref<player> weak_player;
  weak_ref<machine> weak_machine;

  int objects = 0;  // existing incarnations
  int objects_made = 0;
  int objects_ended = 0;
  int stops_run = 0;         // calls of on_stop() of the current incarnation
  bool fails_first = false;  // the constructor of its first incarnation fails
  bool has_ended = false;
  exit_reason reason = exit_reason::unknown;
  int failures = 0;

  int constructors_to_fail = 0;
  bool on_stop_is_to_fail = false;
  bool is_locked = false;    // a machine that defers messages
  int exclusive = 0;         // number of exclusive handlers that are running or suspended
  int behind_exclusive = 0;  // 1: an exclusive handler has ended; 2: the first message after it has
                             // been handled too
  std::vector<int> holds;
  feature_set active;
};

struct watch_entry {
  int by = -1;
  int of = -1;
  int by_object = 0;
  bool by_address = false;
  bool is_closed = false;
  int downs = 0;
  troupe::monitor monitor;
};

struct link_entry {
  int one = -1;
  int other = -1;
  bool is_open = true;
  int must_end = -1;  // this actor or its incarnation must end
  int after = 0;      // number of its incarnations that had ended before
  int told = 0;
};

struct timer_entry {
  timer handle;
  int from = -1;
  int to = -1;
  bool repeats = false;
  bool is_cancelled = false;
  bool is_over = false;  // it has fired, or ended with its actor
  int since_cancelled = 0;
  time_point due;
};

/// A value in a channel.
class bead {
 public:
  explicit bead(int number) noexcept;
  bead(bead&& other) noexcept;
  bead(const bead&) = delete;
  bead& operator=(bead&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~bead();
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

/// The events of one run, and its required properties.
///
/// Threads: only that of the simulation.
class world {
 public:
  explicit world(sim::simulation& in);
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world();
  [[nodiscard]] static world& here() noexcept;

  // ── Actors ──────────────────────────────────────────────────────────────────────────────────
  part& add_part(shape is);
  [[nodiscard]] part& at(int index) { return parts_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] std::deque<part>& parts() noexcept { return parts_; }
  [[nodiscard]] part* find(const address& who) noexcept;
  void object_made(int index, const address& where);  // throws on_purpose
  void object_started(int index);
  void object_stops(int index);  // throws on_purpose
  void object_ends(int index);
  void ended(const address& who, exit_reason why);

  void happens(part& p, feature f) noexcept { p.active.happens(f, seen); }
  void happens(int index, feature f) noexcept {
    if (index >= 0) happens(at(index), f);
  }
  /// Records the features that are active whenever an actor handles a message.
  void handles(part& p);

  // ── Messages ────────────────────────────────────────────────────────────────────────────────
  template <class M>
  [[nodiscard]] static kind kind_of() noexcept;
  [[nodiscard]] kind kind_named(std::string_view type);
  [[nodiscard]] int new_letter(kind what, int from, int to);
  [[nodiscard]] letter& letter_at(int id) { return letters_[static_cast<std::size_t>(id)]; }
  void handled(part& by, const token& id);
  void sent(int id, delivery said);
  void copied(int& id);
  void destroyed(int id) noexcept;
  void expect(kind what, fate end) noexcept {
    if (end == fate::ignored && std::exchange(is_undecided_, false)) return;
    ++expected_[static_cast<std::size_t>(what)][static_cast<std::size_t>(end)];
  }
  void published(kind what, const publication& became);
  void heard(part& by, kind what, int publisher, int number);
  /// The message was not handled.
  void lost(kind what) noexcept { ++heard_[static_cast<std::size_t>(what)]; }
  /// Records that a value of a channel was received, which may happen once.
  void received(int bead);

  // ── The oracle ──────────────────────────────────────────────────────────────────────────────
  /// Reports a broken property. Only the first one is kept.
  void broken(const std::string& what);
  void require(bool holds, const char* what) {
    if (!holds) broken(what);
  }
  [[nodiscard]] const std::string& complaint() const noexcept { return broken_; }
  void throw_if_broken() const;
  void log(const std::string& line);

  void watched(int by, int of, bool by_address, const troupe::monitor& which);
  void unwatched(int by, const std::function<bool(const troupe::monitor&)>& unwatch);
  void told(int by, const down& d);
  void linked(int one, int other, bool by_address);
  void unlinked(int one, int other);
  void told(int by, const link_down& d);
  void fired(int timer, int to);
  void cancel(int timer, int by);

  void settled();   // checks that nothing is left to do
  void finished();  // checks the state after the end of the system

  sim::simulation& sim;
  pairs seen;
  bool verbose = false;
  troupe::system* system = nullptr;
  std::vector<budget> budgets;
  std::optional<topic<note>> notes;
  std::optional<topic<chirp>> chirps;
  std::vector<std::pair<int, subscription>> subscriptions;
  std::vector<channel<bead>> channels;
  std::vector<timer_entry> timers;
  std::map<std::string, int, std::less<>> holders;  // holders of names
  std::map<std::string, std::vector<int>, std::less<>> told_of_names;

  // Counted here, for comparison with the system's statistics.
  std::uint64_t dead_letters = 0;
  std::uint64_t refused = 0;
  std::uint64_t dropped = 0;
  std::uint64_t redirected = 0;
  std::uint64_t pauses = 0;
  std::uint64_t wait_cycles = 0;
  std::uint64_t failures = 0;
  std::uint64_t requests_not_taken = 0;
  std::uint64_t replies_let_go = 0;

  std::uint64_t asked = 0;
  std::uint64_t results = 0;
  std::uint64_t given_up = 0;
  std::int64_t asking = 0;

  std::int64_t beads = 0;
  int beads_made = 0;
  int topic_numbers = 0;
  bool has_retained = false;  // for the topic of notes
  std::uint64_t supervisors = 0;
  std::uint64_t handlers = 0;  // handlers that have run
  std::uint64_t objects_made = 0;

 private:
  [[nodiscard]] std::string describe(const letter& one) const;
  void check_reachable();
  [[nodiscard]] bool is_locked(int index) noexcept;
  void end_subscriptions(part& p);

  std::deque<part> parts_;
  std::deque<letter> letters_;
  std::int64_t tokens_ = 0;
  // The message destroyed last was ignored, or was in the queue of a handler that ended.
  bool is_undecided_ = false;
  std::string broken_;
  std::vector<std::pair<const void*, kind>> kinds_;
  std::array<std::array<std::int64_t, 16>, kinds> expected_{};
  std::array<std::int64_t, kinds> published_{};
  std::array<std::int64_t, kinds> heard_{};
  std::unordered_map<std::uint64_t, int> numbers_;  // last number given, by sender, receiver and
                                                    // kind
  std::unordered_map<std::uint64_t, int> last_;     // last number handled
  std::vector<bool> received_;
  std::vector<watch_entry> watches_;
  std::vector<link_entry> links_;
};

/// A state of an actor during the lifetime of this object. It is in the frame of a handler, which
/// may end together with the incarnation.
class lasting {
 public:
  lasting(int whose, feature what) : whose_(whose), what_(what) {
    world& w = world::here();
    w.at(whose_).active.begins(what_, w.seen);
  }
  lasting(const lasting&) = delete;
  lasting& operator=(const lasting&) = delete;
  ~lasting() { world::here().at(whose_).active.ends(what_, !is_over_); }
  void over() noexcept { is_over_ = true; }

 private:
  const int whose_;
  const feature what_;
  bool is_over_ = false;
};

/// A request, which must get exactly one result.
class pending {
 public:
  /// `calls_back`: the result goes to a callback, which is also notified of the termination of its
  /// own actor.
  pending(int by, int of, duration limit, int value, bool calls_back = false);
  pending(pending&& other) noexcept;
  pending(const pending&) = delete;
  pending& operator=(const pending&) = delete;
  ~pending();
  void result(const ask_result<int>& got);
  /// There is no result, because waiting for it was refused.
  void none() noexcept;

 private:
  int by_;
  int of_;
  int value_;
  time_point until_;
  bool calls_back_;
  int ended_before_ = 0;
  int failures_before_ = 0;
  int own_failures_before_ = 0;
  std::uint64_t not_taken_before_ = 0;
  std::uint64_t let_go_before_ = 0;
  bool is_open_ = true;
};

template <class M>
kind world::kind_of() noexcept {
  if constexpr (std::is_same_v<M, parcel>) return kind::parcel;
  if constexpr (std::is_same_v<M, urgent>) return kind::urgent;
  if constexpr (std::is_same_v<M, heavy>) return kind::heavy;
  if constexpr (std::is_same_v<M, limited>) return kind::limited;
  if constexpr (std::is_same_v<M, fragile>) return kind::fragile;
  if constexpr (std::is_same_v<M, item>) return kind::item;
  if constexpr (std::is_same_v<M, tick>) return kind::tick;
  return kind::other;
}

}  // namespace troupe::random_programs
