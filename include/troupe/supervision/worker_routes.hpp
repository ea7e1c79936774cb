// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/sync/atomic.hpp>

// The type-independent part of a router: how it chooses among its workers.

namespace troupe::detail {

/// Workers in a fixed order. Terminated workers are skipped, and so are routers without living
/// workers.
///
/// Threads: any.
class worker_routes : public routes {
 public:
  /// Takes a reference to each worker.
  explicit worker_routes(std::vector<control_block*> workers) noexcept;
  worker_routes(const worker_routes&) = delete;
  worker_routes& operator=(const worker_routes&) = delete;
  virtual ~worker_routes();

  [[nodiscard]] const std::vector<control_block*>& all() const noexcept { return workers_; }
  [[nodiscard]] std::size_t living() const noexcept;
  [[nodiscard]] bool any_is_left() const noexcept override;
  [[nodiscard]] std::uint32_t least_load() const noexcept override;

 protected:
  /// The first living worker, searched from `at` on; null if no worker is left.
  [[nodiscard]] control_block* living_from(std::size_t at) const noexcept;
  [[nodiscard]] control_block* by_key(std::size_t hash) const noexcept;
  /// Returns a number that grows by one with each call.
  [[nodiscard]] std::size_t next() const noexcept {
    return next_.fetch_add(1, relaxed);  // [route] relaxed: publishes no other data
  }

 private:
  const std::vector<control_block*> workers_;
  mutable atomic<std::size_t> next_{0};
};

class in_turns final : public worker_routes {
 public:
  using worker_routes::worker_routes;
  control_block* choose(const envelope& message) const noexcept override;
};

class to_the_least_loaded final : public worker_routes {
 public:
  using worker_routes::worker_routes;
  control_block* choose(const envelope& message) const noexcept override;
};

/// Throws std::invalid_argument if there are no workers, or if their classes differ.
void check_workers(std::size_t count, bool are_alike);

/// A control block that routes its messages by these routes; returned with a reference.
[[nodiscard]] control_block* spawn_router(system& in, std::shared_ptr<const routes> by);

}  // namespace troupe::detail
