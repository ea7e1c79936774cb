// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <troupe/troupe.hpp>

#include "messages.hpp"
#include "program.hpp"

namespace troupe::lua::detail {

/// The programs of one instance: the one that handles what comes; the one that is to take over, which is started and
/// tested beside it; and earlier ones, for as long as handlers of theirs wait.
///
///   prepare() ─▶ on_start ─▶ self_test ─▶ ready ─take_over()─▶ current ─take_over()─▶ retired ─▶ gone
///                   └─────────────┴──── an error, abandon() ──▶ gone                  nothing waits, overdue()
///
/// Threads:   the instance's turns.
/// Invariant: there is a current one until clear(). No program is destroyed while one runs: that is done by tidy(),
///            between two messages.
class succession {
 public:
  /// Earlier versions whose handlers still wait. With so many, another one is not prepared.
  static constexpr std::size_t retired_max = 4;

  explicit succession(std::unique_ptr<program> first) : current_(std::move(first)) {}
  ~succession() { clear(); }
  succession(const succession&) = delete;
  succession& operator=(const succession&) = delete;

  [[nodiscard]] program& current() const noexcept { return *current_; }
  [[nodiscard]] bool is_over() const noexcept { return current_ == nullptr; }
  [[nodiscard]] std::size_t retired() const noexcept { return retired_.size(); }

  /// A timer, or a wait, is due. One that has gone is not told; a timer of one that is not current yet rings when it is.
  void due(std::uint64_t what);
  /// As program::answered().
  void answered(std::uint64_t what, bool ok, const std::string& value);
  /// Of what applications share: see teller. Who comes and goes is only told to the current one.
  void told(std::uint64_t what);
  void forget(std::uint64_t client);
  /// As tasks::resume().
  void resume(std::uint64_t what, pushing push);
  /// Whose connection it is; null: nobody's any more.
  [[nodiscard]] program* with_connection(std::uint64_t id) const noexcept;

  /// Starts one that is to take over; `owed` hears of how its checks have ended. One that was prepared before is abandoned.
  void prepare(std::unique_ptr<program> next, reply<upgraded> owed);
  void abandon(const std::string& why);
  /// Between two messages. Returns why not; empty: the one that was prepared is current now.
  [[nodiscard]] std::string take_over();
  /// What still waits in this version fails.
  void overdue(unsigned version);

  /// After each message.
  void tidy();
  /// Ends all handlers that wait, and the timers.
  void wind_up(const std::string& why);
  /// Destroys all of them. What waits is told of the end.
  void clear() noexcept;

  [[nodiscard]] std::size_t memory() const noexcept;
  [[nodiscard]] std::size_t waiting() const noexcept;
  [[nodiscard]] std::size_t connections() const noexcept;

 private:
  enum class step : std::uint8_t { starting, testing, ready, failed };
  /// How far a handler of the next one has come; it may end after that one has been abandoned.
  struct progress {
    step at = step::starting;
    bool ended = false;
    std::string why_not;
  };
  class checking;

  void check(handler which);
  void go_on();

  [[nodiscard]] program* find(std::uint64_t what) const noexcept;
  template <class F>
  void each(F&& what) const {
    if (current_) what(*current_);
    if (next_) what(*next_);
    for (const auto& one : retired_) what(*one);
  }

  std::unique_ptr<program> current_;
  std::vector<std::unique_ptr<program>> retired_;
  std::unique_ptr<program> next_;
  std::shared_ptr<progress> progress_;  // of next_
  reply<upgraded> owed_;
  std::vector<std::uint64_t> early_;                // timers of next_ that are due
  std::vector<std::unique_ptr<program>> finished_;  // for tidy()
};

}  // namespace troupe::lua::detail
