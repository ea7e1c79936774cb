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

/// The programs of one instance: the current one, which handles events; the next one, which is
/// started and tested beside it; and earlier ones, as long as their handlers wait.
///
///   prepare() ─▶ on_start ─▶ self_test ─▶ ready ─take_over()─▶ current ─take_over()─▶ retired
///                   └─────────────┴──── an error, abandon() ──▶ gone
///   retired ──nothing waits, overdue()──▶ gone
///
/// Threads:   the instance's turns.
/// Invariant: there is a current program until clear(). No program is destroyed while one of them
///            runs: tidy() does that, between two messages.
class succession {
 public:
  /// The number of earlier versions whose handlers may still wait. At that number, no further
  /// version is prepared.
  static constexpr std::size_t retired_max = 4;

  explicit succession(std::unique_ptr<program> first) : current_(std::move(first)) {}
  ~succession() { clear(); }
  succession(const succession&) = delete;
  succession& operator=(const succession&) = delete;

  [[nodiscard]] program& current() const noexcept { return *current_; }
  [[nodiscard]] bool is_over() const noexcept { return current_ == nullptr; }
  [[nodiscard]] std::size_t retired() const noexcept { return retired_.size(); }

  /// A timer or a wait is due. A program that is gone is not notified. A timer of the next program
  /// fires when that becomes the current one.
  void due(std::uint64_t what);
  /// As program::answered().
  void answered(std::uint64_t what, bool ok, const std::string& value);
  /// Something shared has changed: see notifier. Only the current program is notified of presence.
  void told(std::uint64_t what);
  void forget(std::uint64_t client);
  /// As tasks::resume().
  void resume(std::uint64_t what, pushing push);
  /// Returns the program that owns the connection; null if it is gone.
  [[nodiscard]] program* with_connection(std::uint64_t id) const noexcept;

  /// Starts the program that is to take over; `owed` receives the result of its checks. Discards a
  /// program that was prepared before.
  void prepare(std::unique_ptr<program> next, reply<upgraded> owed);
  void abandon(const std::string& why);
  /// To be called between two messages. Makes the prepared program the current one. Returns the
  /// reason of a failure; empty if it succeeded.
  [[nodiscard]] std::string take_over();
  /// Fails the handlers that still wait in this version.
  void overdue(unsigned version);

  /// To be called after each message.
  void tidy();
  /// Fails all suspended handlers, and cancels the timers.
  void wind_up(const std::string& why);
  /// Destroys all programs. The endings of suspended handlers are destroyed.
  void clear() noexcept;

  [[nodiscard]] std::size_t memory() const noexcept;
  [[nodiscard]] std::size_t waiting() const noexcept;
  [[nodiscard]] std::size_t connections() const noexcept;

 private:
  enum class step : std::uint8_t { starting, testing, ready, failed };
  /// The state of a handler of the next program. The handler may end after that program was
  /// discarded.
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
