// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <troupe/memory/depot.hpp>

namespace troupe::detail {
namespace {

void poison_free(const block_shape& shape, void* block) noexcept {
  poison(link_of(block, shape.link_offset), shape.bytes - shape.link_offset);
}

void unpoison_link(const block_shape& shape, void* block) noexcept {
  unpoison(link_of(block, shape.link_offset), sizeof(free_link));
}

}  // namespace

block_batch depot::take() {
  const std::lock_guard lock(mutex_);
  if (batches_ == nullptr) return carve();
  void* first = batches_;
  unpoison_link(shape_, first);
  const free_link* link = link_of(first, shape_.link_offset);
  const block_batch taken{first, link->count};
  batches_ = link->next_batch;
  poison_free(shape_, first);
  return taken;
}

void depot::give(block_batch batch) noexcept {
  unpoison_link(shape_, batch.first);
  free_link* link = link_of(batch.first, shape_.link_offset);
  link->count = batch.count;
  const std::lock_guard lock(mutex_);
  link->next_batch = batches_;
  batches_ = batch.first;
  poison_free(shape_, batch.first);
}

std::size_t depot::bytes() const noexcept {
  // [figure] relaxed: read by people only.
  return slab_count_.load(relaxed) * shape_.slab_bytes;
}

// Called with the mutex held, as is carve(): so both read what they alone write.
depot::slab* depot::slab_with_room() {
  // [slab] relaxed: written under this mutex.
  slab* newest = slabs_.load(relaxed);
  // [carve] relaxed: written under this mutex.
  if (newest != nullptr && newest->carved.load(relaxed) < blocks_per_slab()) return newest;
  // operator new rather than mmap, so that LeakSanitizer finds what the blocks point to. A slab is
  // linked to its depot for ever and so is no leak itself.
  void* memory = ::operator new(shape_.slab_bytes, std::align_val_t{cache_line_bytes});
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
    if (shape_.construct != nullptr) shape_.construct(block);
    ::new (link_of(block, shape_.link_offset)) free_link{next, nullptr, 0};
    poison_free(shape_, block);
    next = block;
  }
  // [carve] release: for_each_block() finds these blocks constructed.
  from->carved.store(end, release);
  return {next, end - begin};
}

}  // namespace troupe::detail
