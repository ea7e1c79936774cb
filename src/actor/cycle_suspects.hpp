// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <troupe/message/address.hpp>

#include "unreachable_actors.hpp"

namespace troupe::detail {

class control_block;
class runtime;

/// Finds actors that may be referenced only by other actors that list their references, as far as
/// this can be seen while at most one actor at a time is frozen. Each actor is frozen alone, while
/// it lists its references. The result may be wrong about actors that are used meanwhile. An actor
/// that is unreachable and idle is always in it, because nothing about it changes.
///
/// Threads: one.
/// Cost:    that of frozen_actors, in slices: the calling thread yields its core in between.
class cycle_suspects {
 public:
  explicit cycle_suspects(runtime& home) noexcept : home_(home) {}
  cycle_suspects(const cycle_suspects&) = delete;
  cycle_suspects& operator=(const cycle_suspects&) = delete;

  /// Returns the suspects, ordered by address. Throws std::bad_alloc.
  [[nodiscard]] std::vector<const control_block*> find();

 private:
  struct node {
    address where;
    const control_block* block;
    std::uint32_t references = 0;  // to it
    std::uint32_t listed = 0;      // how many of these come from other suspects' lists
    // its first edge in edges_; its edges end where the next node's begin
    std::uint32_t first = 0;
    bool is_idle = false;  // it has listed its references and had nothing to do
    bool lives = false;
  };

  void list_references_of(node& one, listed_references& found);
  void add_edges(const listed_references& found);
  void let_live(std::size_t one) noexcept;

  runtime& home_;
  std::vector<node> nodes_;           // by the address of the block
  std::vector<std::uint32_t> edges_;  // indexes of the referenced nodes
  std::vector<std::uint32_t> open_;   // living nodes whose references are still to be followed
};

}  // namespace troupe::detail
