// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <troupe/detail/memory/depot.hpp>

namespace troupe::detail {

std::size_t depot::take(std::span<void*> to) {
  block_batch got{};
  {
    const std::lock_guard lock(mutex_);
    if (batches_.empty()) return carve(to);
    got = batches_.pop(shape_);
  }
  unpack(shape_, got, to);
  return got.count;
}

void depot::give(std::span<void* const> blocks) noexcept {
  const block_batch batch = pack(shape_, blocks);
  const std::lock_guard lock(mutex_);
  batches_.push(shape_, batch);
}

std::size_t depot::bytes() const noexcept {
  // [figure] relaxed: for display only.
  return slab_count_.load(relaxed) * from_.bytes;
}

// Requires the mutex, as does carve(); both read only data that is written under it.
depot::slab* depot::slab_with_room() {
  // [slab] relaxed: written under this mutex.
  slab* newest = slabs_.load(relaxed);
  // [carve] relaxed: written under this mutex.
  if (newest != nullptr && newest->carved.load(relaxed) < blocks_per_slab()) return newest;
  // operator new rather than mmap, so that LeakSanitizer finds memory that the blocks point to. A
  // slab stays linked to its depot forever, so it is not a leak itself.
  void* memory = ::operator new(from_.bytes, std::align_val_t{cache_line_bytes});
  slab* fresh = ::new (memory) slab{newest};
  // [slab] release: for_each_block() sees the initialized header.
  slabs_.store(fresh, release);
  // [figure] relaxed: as in bytes().
  slab_count_.fetch_add(1, relaxed);
  return fresh;
}

std::size_t depot::carve(std::span<void*> to) {
  slab* from = slab_with_room();
  // [carve] relaxed: written under this mutex.
  const std::uint32_t begin = from->carved.load(relaxed);
  const std::uint32_t end = std::min(begin + shape_.batch, blocks_per_slab());
  const std::size_t count = end - begin;
  for (std::size_t i = 0; i < count; ++i) {
    void* const block = from->block(end - 1 - static_cast<std::uint32_t>(i), shape_.bytes);
    from_.construct(block);
    poison_free(shape_, block);
    to[i] = block;  // the last one in the array is used first
  }
  // [carve] release: for_each_block() sees these blocks constructed.
  from->carved.store(end, release);
  return count;
}

}  // namespace troupe::detail
