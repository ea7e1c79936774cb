// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <troupe/memory/depot.hpp>

namespace troupe::detail {

block_batch depot::take() {
  const std::lock_guard lock(mutex_);
  return batches_.empty() ? carve() : batches_.pop(shape_);
}

void depot::give(block_batch batch) noexcept {
  batch_list::label(shape_, batch);
  const std::lock_guard lock(mutex_);
  batches_.push(shape_, batch);
}

std::size_t depot::bytes() const noexcept {
  // [figure] relaxed: read by people only.
  return slab_count_.load(relaxed) * from_.bytes;
}

// Called with the mutex held, as is carve(): so both read what they alone write.
depot::slab* depot::slab_with_room() {
  // [slab] relaxed: written under this mutex.
  slab* newest = slabs_.load(relaxed);
  // [carve] relaxed: written under this mutex.
  if (newest != nullptr && newest->carved.load(relaxed) < blocks_per_slab()) return newest;
  // operator new rather than mmap, so that LeakSanitizer finds what the blocks point to. A slab is
  // linked to its depot for ever and so is no leak itself.
  void* memory = ::operator new(from_.bytes, std::align_val_t{cache_line_bytes});
  slab* fresh = ::new (memory) slab{newest};
  // [slab] release: for_each_block() finds the header written.
  slabs_.store(fresh, release);
  // [figure] relaxed: as in bytes().
  slab_count_.fetch_add(1, relaxed);
  return fresh;
}

block_batch depot::carve() {
  slab* from = slab_with_room();
  // [carve] relaxed: written under this mutex.
  const std::uint32_t begin = from->carved.load(relaxed);
  const std::uint32_t end = std::min(begin + shape_.batch, blocks_per_slab());
  void* next = nullptr;
  for (std::uint32_t i = end; i-- > begin;) {
    void* block = from->block(i, shape_.bytes);
    from_.construct(block);
    ::new (link_of(block, shape_.link_offset)) free_link{next, nullptr, 0};
    poison_free(shape_, block);
    next = block;
  }
  // [carve] release: for_each_block() finds these blocks constructed.
  from->carved.store(end, release);
  return {next, end - begin};
}

}  // namespace troupe::detail
