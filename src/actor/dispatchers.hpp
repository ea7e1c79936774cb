// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/actor/dispatcher.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/statistics.hpp>
#include <troupe/detail/scheduler/worker_pool.hpp>

namespace troupe::detail {

class runtime;

/// The worker pools of a system: its default one and the named ones.
///
/// Threads: open(), stop() and close() from the owner; the rest from any thread in between.
class dispatchers {
 public:
  explicit dispatchers(runtime& home) noexcept : home_(home) {}

  /// Starts the pools; the first one is the system's default. Throws std::invalid_argument for
  /// options that are invalid or that the system does not allow, and std::system_error.
  void open(std::vector<dispatcher_options> all, std::int64_t settles_at);
  /// For simulations, instead of open(): only names exist. Throws std::invalid_argument for the
  /// same options as open().
  void simulate(const std::vector<dispatcher_options>& all);
  /// Afterwards there are no threads, and no listener is notified.
  void stop() noexcept;
  void close() noexcept;

  [[nodiscard]] worker_pool& first() const noexcept { return *first_; }
  /// Throws std::invalid_argument with the names that exist.
  [[nodiscard]] worker_pool& named(std::string_view name) const;
  /// The same check, in a simulation.
  void check(std::string_view name) const;

  template <class Look>
  void for_each_activity(Look&& look) const {
    for (const auto& each : all_) {
      if (each->pool != nullptr) each->pool->for_each_activity(look);
    }
  }
  void add_to(troupe::statistics& s) const;

 private:
  struct dispatcher final : pool_listener {
    dispatcher(runtime& of, std::string its) : home(of), name(std::move(its)) {}
    void grew(const stuck_turn& why) noexcept override;
    void could_not_grow(const stuck_turn& why) noexcept override;
    void shrank(unsigned threads) noexcept override;
    void tell(pool_event::kind what, unsigned threads, const stuck_turn* why) const noexcept;
    [[nodiscard]] dispatcher_statistics statistics() const;

    runtime& home;
    const std::string name;
    std::unique_ptr<worker_pool> pool;  // null: in a simulation
  };

  [[nodiscard]] dispatcher* find(std::string_view name) const noexcept;
  [[nodiscard]] std::string names() const;
  void open(dispatcher_options options, std::int64_t settles_at);
  [[nodiscard]] std::unique_ptr<dispatcher> fresh(const dispatcher_options& options);

  runtime& home_;
  worker_pool* first_ = nullptr;
  std::vector<std::unique_ptr<dispatcher>> all_;
};

}  // namespace troupe::detail
