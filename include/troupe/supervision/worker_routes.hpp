// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/overload.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/sync/atomic.hpp>

// How a router chooses among its workers, without their types.

namespace troupe::detail {

/// Workers in a fixed order; who has ended is passed over, and so is a router that has none left.
///
/// Threads: any.
class worker_routes : public routes {
 public:
  /// Takes a reference to each.
  explicit worker_routes(std::vector<control_block*> workers) noexcept;
  worker_routes(const worker_routes&) = delete;
  worker_routes& operator=(const worker_routes&) = delete;
  virtual ~worker_routes();

  [[nodiscard]] const std::vector<control_block*>& all() const noexcept { return workers_; }
  [[nodiscard]] std::size_t living() const noexcept;
  [[nodiscard]] bool any_is_left() const noexcept override;
  [[nodiscard]] std::uint32_t least_load() const noexcept override;

 protected:
  /// The first one that has not ended, from there on; null: none.
  [[nodiscard]] control_block* living_from(std::size_t at) const noexcept;
  [[nodiscard]] control_block* by_key(std::size_t hash) const noexcept;
  /// One more with each call.
  [[nodiscard]] std::size_t next() const noexcept {
    return next_.fetch_add(1, relaxed);  // [route] relaxed: hands nothing over
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

/// Throws std::invalid_argument if there are none, or they are not alike.
void check_workers(std::size_t count, bool are_alike);

/// A block whose messages go by these, with a reference.
[[nodiscard]] control_block* spawn_router(system& in, std::shared_ptr<const routes> by);

}  // namespace troupe::detail
