// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/memory/batch.hpp>
#include <troupe/detail/memory/chunk_store.hpp>
#include <troupe/detail/memory/surplus.hpp>
#include <troupe/detail/sync/mutex.hpp>

namespace troupe::detail {

/// The blocks of one size class that no thread holds, for blocks whose memory is returned to the
/// system when it is no longer needed. The batches are in three lists:
///
///     give() ──► recent ──look()──► settled ──look()──► surplus ──give_back_some()──► home
///
/// take() empties the lists from left to right, and only then takes blocks from home. So a settled
/// batch has not been needed since the last look(), and only such batches are returned.
///
/// Threads:   any; look() and give_back_some() one at a time.
/// Cost:      one mutex for a whole batch.
/// Errors:    take() throws std::bad_alloc.
class [[gnu::visibility("default")]] alignas(cache_line_bytes) page_depot {
 public:
  /// `surplus` is raised when at least about `bytes_min` could be returned to the system. Less than
  /// that may stay forever.
  constexpr page_depot(const block_shape& shape, const chunk_layout& layout, std::size_t bytes_min,
                       surplus_signal& surplus) noexcept
      : shape_(shape),
        chunk_bytes_(layout.chunk_bytes),
        bytes_min_(bytes_min),
        tell_(surplus),
        home_(shape, layout) {}
  page_depot(const page_depot&) = delete;
  page_depot& operator=(const page_depot&) = delete;

  /// Writes between one block and a batch to `to`, which has room for a batch, and returns the
  /// number. The blocks given last are taken first.
  [[nodiscard]] std::size_t take(std::span<void*> to);
  /// Returns at most a batch of blocks.
  void give(std::span<void* const> blocks) noexcept;

  /// Moves the lists on. Returns true if another call after a while is worthwhile.
  [[nodiscard]] bool look() noexcept;

  /// Does a part of the work that look() has found: a batch, or a slab. Returns false if there was
  /// no work.
  [[nodiscard]] bool give_back_some() noexcept;

  const block_shape& shape() const noexcept { return shape_; }

  struct usage {
    std::size_t resident;    // bytes not returned to the system
    std::size_t free;        // of these, bytes that no thread holds
    std::size_t given_back;  // total since the start
  };
  [[nodiscard]] usage used() const noexcept;

 private:
  [[nodiscard]] bool is_worth_a_look(std::size_t blocks) const noexcept;

  const block_shape shape_;
  const std::size_t chunk_bytes_;
  const std::size_t bytes_min_;
  surplus_signal& tell_;
  mutable mutex mutex_;  // guards what follows
  batch_list recent_;
  batch_list settled_;
  batch_list surplus_;
  bool told_ = false;  // since the last look()
  std::size_t given_back_ = 0;
  chunk_store home_;
};

}  // namespace troupe::detail
