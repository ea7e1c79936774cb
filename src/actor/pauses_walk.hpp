// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

#include "pauses.hpp"

namespace troupe::detail {

/// State that all systems of the process share, because actors of one system wait for those of
/// another.
struct waits_of_all {
  [[nodiscard]] static waits_of_all& here() noexcept;

  mutex guard;  // the mutex of the pauses
  // [suspended] Suspended actors, and exclusive handlers that stand in a line.
  atomic<std::uint64_t> suspended{0};
  std::uint64_t blocking_in_line = 0;  // under the mutex
};

/// Follows what actors wait for: see pauses. Used under the mutex. Must be destroyed without it,
/// because the destructor releases the actors that the walk has held.
class pauses::walk {
 public:
  walk() = default;
  walk(const walk&) = delete;
  walk& operator=(const walk&) = delete;
  ~walk();

  /// Whether `from` is `target`, or waits for it directly or through others. Also true if there is
  /// no memory to find out.
  [[nodiscard]] bool leads_to(control_block& from, const control_block& target) noexcept;
  /// Whether `at` waits for itself, directly or through others.
  [[nodiscard]] bool leads_back_to(control_block& at) noexcept;
  /// A suspended actor on the path that was found; null: none.
  [[nodiscard]] control_block* somebody_suspended() const noexcept;

 private:
  struct step {
    control_block* at;
    std::size_t from;  // the step before
  };
  void add(control_block* to, std::size_t from);
  [[nodiscard]] bool follow(control_block& from, const control_block& target, bool back);

  std::vector<step> steps_;
  std::unordered_set<const control_block*> seen_;
  std::vector<control_block*> held_;
  std::size_t found_ = 0;
};

}  // namespace troupe::detail
