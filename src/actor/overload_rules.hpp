// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <troupe/actor/events.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/spawn_options.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "base/accounts.hpp"

namespace troupe::detail {

class drop_ring;

/// The bytes of a group of mailboxes that share a budget.
///
/// Threads: any. Exact, except for bytes that have been handled and not yet reported.
class shared_budget {
 public:
  explicit shared_budget(std::size_t limit) noexcept : limit_(limit) {}
  shared_budget(const shared_budget&) = delete;
  shared_budget& operator=(const shared_budget&) = delete;
  ~shared_budget() { expect_settled("the budget of a group", static_cast<std::int64_t>(used())); }

  /// False if that would exceed the limit; then nothing is charged.
  [[nodiscard]] bool charge(std::size_t bytes) noexcept;
  void release(std::size_t bytes) noexcept {
    used_.fetch_sub(bytes, relaxed);  // [budget] relaxed: publishes no other data
  }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(relaxed); }  // [budget]

 private:
  const std::size_t limit_;
  atomic<std::size_t> used_{0};
};

/// The limits of an actor that has its own, and what happens beyond them.
struct overload_rules : sending_rules {
  overflow::policy policy = overflow::policy::backpressure;
  actor_type type{};  // that of the class, with these rules
  std::shared_ptr<shared_budget> budget;
  std::shared_ptr<const redirection> target;
  std::unique_ptr<drop_ring> ring;               // of drop_oldest
  std::shared_ptr<const detail::routes> routes;  // of a router

  overload_rules();
  ~overload_rules();
};

// An actor's own rules are always complete overload_rules.
inline const overload_rules* control_block::own_rules() const noexcept {
  return static_cast<const overload_rules*>(type_->rules);
}

inline bool control_block::has_backpressure() const noexcept {
  const overload_rules* const own = own_rules();
  return own == nullptr || own->policy == overflow::policy::backpressure;
}

/// The rules for sending to an actor: neither `messages` nor `bytes` is exceeded. Throws
/// std::invalid_argument, with the allowed values.
[[nodiscard]] sending_rules make_rules(std::size_t messages, std::size_t bytes,
                                       overflow::policy policy);

/// For the spawn of one actor; null if everything is as in the system.
[[nodiscard]] std::unique_ptr<const overload_rules> make_rules(const spawn_options& options,
                                                               const actor_type& type,
                                                               std::size_t messages,
                                                               std::size_t bytes, bool looked_at);

/// Counts what limits have done.
///
/// Threads: any.
class overload_tally {
 public:
  void add(overload_event::kind what) noexcept {
    counts_[static_cast<std::size_t>(what)].fetch_add(1, relaxed);  // [counter]
  }
  void clear() noexcept {
    for (auto& each : counts_) each.store(0, relaxed);  // [counter]
  }
  [[nodiscard]] overload_counts now() const noexcept {
    const auto of = [this](overload_event::kind what) {
      return counts_[static_cast<std::size_t>(what)].load(relaxed);  // [counter]
    };
    using kind = overload_event::kind;
    return {of(kind::refused), of(kind::dropped),         of(kind::redirected),
            of(kind::paused),  of(kind::pause_timed_out), of(kind::wait_cycle)};
  }

 private:
  std::array<atomic<std::uint64_t>, 8> counts_{};
};

}  // namespace troupe::detail
