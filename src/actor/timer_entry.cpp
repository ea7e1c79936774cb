// SPDX-License-Identifier: Apache-2.0
#include "timer_entry.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <troupe/detail/memory/pages.hpp>

namespace troupe::detail {

namespace {

constexpr std::size_t chunk_bytes = large_page_bytes;

// The first place in a chunk holds a pointer to the chunk's record.
constexpr std::uint32_t entries_in_chunk = chunk_bytes / sizeof(timer_entry) - 1;

}  // namespace

struct entry_store::chunk {
  std::byte* begin;              // aligned to its size
  timer_entry* free = nullptr;   // used before; linked by next_of_actor
  std::uint32_t used = 0;        // entries that are taken
  std::uint32_t made = 0;        // entries constructed since it was vacant
  std::uint64_t generation = 0;  // no entry in it has had a higher one
  chunk* next = nullptr;         // in open_, or in vacant_
  chunk* previous = nullptr;

  [[nodiscard]] bool is_full() const noexcept {
    return free == nullptr && made == entries_in_chunk;
  }
};

entry_store::entry_store() noexcept = default;

entry_store::~entry_store() {
  for (const auto& each : chunks_) return_pages(each->begin, chunk_bytes, chunk_bytes);
}

entry_store::chunk& entry_store::of(timer_entry& one) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(&one) & ~(std::uintptr_t{chunk_bytes} - 1);
  return **reinterpret_cast<chunk**>(at);
}

timer_entry& entry_store::take() {
  chunk& from = with_room();
  timer_entry* entry;
  if (from.free != nullptr) {
    entry = std::exchange(from.free, from.free->next_of_actor);
  } else {
    entry = ::new (from.begin + ++from.made * sizeof(timer_entry)) timer_entry;
    entry->generation = (from.generation + 1) & ((std::uint64_t{1} << 48) - 1);
  }
  if (from.used++ == 0) --free_chunks_;
  if (from.is_full()) unlink(from);
  return *entry;
}

void entry_store::give_back(timer_entry& one) noexcept {
  chunk& to = of(one);
  if (to.is_full()) push_front(to);
  to.generation = std::max<std::uint64_t>(to.generation, one.generation);
  one.next_of_actor = std::exchange(to.free, &one);
  if (--to.used != 0) return;
  ++free_chunks_;
  unlink(to);
  push_back(to);
}

bool entry_store::has_used_before() const noexcept {
  return open_ != nullptr && open_->free != nullptr;
}

// Returns a chunk with room. Throws std::bad_alloc.
entry_store::chunk& entry_store::with_room() {
  if (open_ != nullptr) return *open_;
  if (vacant_ == nullptr) {
    chunks_.reserve(chunks_.size() + 1);
    auto fresh = std::make_unique<chunk>();
    fresh->begin = static_cast<std::byte*>(obtain_pages(chunk_bytes, chunk_bytes));
    // With few timers, a few small pages are enough.
    if (!chunks_.empty()) prefer_large_pages(fresh->begin, chunk_bytes);
    vacant_ = fresh.get();
    chunks_.push_back(std::move(fresh));
  }
  chunk& one = *std::exchange(vacant_, vacant_->next);
  ::new (one.begin) chunk*(&one);
  ++kept_;
  ++free_chunks_;
  push_front(one);
  return one;
}

// ── Giving back memory ────────────────────────────────────────────────────────────────────────

entry_store::chunk* entry_store::take_surplus(std::size_t stay) noexcept {
  if (free_chunks_ <= stay) return nullptr;
  chunk& one = *last_open_;
  unlink(one);
  --free_chunks_;
  --kept_;
  return &one;
}

void entry_store::discard(chunk& one) noexcept { discard_pages(one.begin, chunk_bytes); }

void entry_store::put_vacant(chunk& one) noexcept {
  one.free = nullptr;
  one.made = 0;
  one.next = std::exchange(vacant_, &one);
}

// ── The list ──────────────────────────────────────────────────────────────────────────────────

void entry_store::push_front(chunk& one) noexcept {
  one.previous = nullptr;
  one.next = std::exchange(open_, &one);
  (one.next != nullptr ? one.next->previous : last_open_) = &one;
}

void entry_store::push_back(chunk& one) noexcept {
  one.next = nullptr;
  one.previous = std::exchange(last_open_, &one);
  (one.previous != nullptr ? one.previous->next : open_) = &one;
}

void entry_store::unlink(chunk& one) noexcept {
  (one.previous != nullptr ? one.previous->next : open_) = one.next;
  (one.next != nullptr ? one.next->previous : last_open_) = one.previous;
}

}  // namespace troupe::detail
