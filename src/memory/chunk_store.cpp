// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <new>
#include <troupe/base/assert.hpp>
#include <troupe/memory/chunk_store.hpp>
#include <troupe/memory/pages.hpp>
#include <utility>

namespace troupe::detail {

namespace {

/// One bit for each chunk of a slab.
class chunk_set {
 public:
  [[nodiscard]] bool has(std::uint32_t chunk) const noexcept {
    return (words_[chunk / 64] >> (chunk % 64) & 1) != 0;
  }
  void add(std::uint32_t chunk) noexcept { words_[chunk / 64] |= bit(chunk); }
  void remove(std::uint32_t chunk) noexcept { words_[chunk / 64] &= ~bit(chunk); }
  [[nodiscard]] bool empty() const noexcept {
    std::uint64_t any = 0;
    for (const std::uint64_t word : words_) any |= word;
    return any == 0;
  }
  /// The first chunk of the set. Requires that the set is not empty.
  [[nodiscard]] std::uint32_t first() const noexcept {
    std::uint32_t word = 0;
    while (words_[word] == 0) ++word;
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
  }

 private:
  static std::uint64_t bit(std::uint32_t chunk) noexcept { return std::uint64_t{1} << chunk % 64; }

  std::array<std::uint64_t, chunk_store::chunks_max / 64> words_{};
};

}  // namespace

/// The head of a slab.
struct chunk_store::slab {
  enum class place : std::uint8_t { nowhere, vacant, partial };

  struct chunk {
    std::uint16_t first = 0;  // free block: offset in the chunk, in units of its alignment
    std::uint16_t count = 0;  // of free blocks; linked by free_link::next
  };

  slab* previous = nullptr;  // in the list of slabs with room
  slab* next = nullptr;      // in the list of slabs with room
  slab* next_emptied = nullptr;
  bool is_emptied = false;  // it is in the list of emptied slabs
  place filed = place::nowhere;
  std::uint32_t vacant_chunks = 0;
  std::uint32_t whole_chunks = 0;  // all of their blocks are free
  chunk_set vacant;
  chunk_set partial;  // at least one block is free, but the chunk is not vacant
  std::array<chunk, chunks_max> chunks{};
};
static_assert(sizeof(chunk_store::slab) <= page_bytes);

// ── Places ────────────────────────────────────────────────────────────────────────────────────

chunk_store::slab& chunk_store::slab_of(void* block) const noexcept {
  auto* const at = static_cast<std::byte*>(block);
  const auto offset = reinterpret_cast<std::uintptr_t>(block) & (layout_.slab_bytes - 1);
  return *std::launder(reinterpret_cast<slab*>(at - offset));
}

void* chunk_store::chunk_begin(slab& in, std::uint32_t chunk) const noexcept {
  return reinterpret_cast<std::byte*>(&in) + layout_.head_bytes +
         std::size_t{chunk} * layout_.chunk_bytes;
}

chunk_store::slab& chunk_store::slab_with_room() {
  if (front_ != nullptr) return *front_;
  void* const memory = obtain_pages(layout_.slab_bytes, layout_.slab_bytes);
  slab& fresh = *::new (memory) slab;
  poison(static_cast<std::byte*>(memory) + layout_.head_bytes,
         layout_.slab_bytes - layout_.head_bytes);
  for (std::uint32_t i = 0; i < layout_.chunks; ++i) fresh.vacant.add(i);
  fresh.vacant_chunks = layout_.chunks;
  ++slabs_;
  file(fresh);
  return fresh;
}

// Puts a slab where take() looks for it in the list. Must be called whenever one of its sets
// becomes empty or non-empty.
void chunk_store::file(slab& s) noexcept {
  const auto belongs = !s.partial.empty()  ? slab::place::partial
                       : !s.vacant.empty() ? slab::place::vacant
                                           : slab::place::nowhere;
  if (s.filed == belongs) return;
  unfile(s);
  s.filed = belongs;
  if (belongs == slab::place::partial) {
    s.next = std::exchange(front_, &s);
    (s.next != nullptr ? s.next->previous : back_) = &s;
  } else if (belongs == slab::place::vacant) {
    s.previous = std::exchange(back_, &s);
    (s.previous != nullptr ? s.previous->next : front_) = &s;
  }
}

void chunk_store::unfile(slab& s) noexcept {
  if (s.filed == slab::place::nowhere) return;
  (s.previous != nullptr ? s.previous->next : front_) = s.next;
  (s.next != nullptr ? s.next->previous : back_) = s.previous;
  s.previous = s.next = nullptr;
  s.filed = slab::place::nowhere;
}

// ── Blocks ────────────────────────────────────────────────────────────────────────────────────

// Takes the first blocks of a vacant chunk; the other blocks become free blocks of the store.
std::size_t chunk_store::take_vacant(slab& from, std::span<void*> to) noexcept {
  const std::uint32_t chunk = from.vacant.first();
  auto* const begin = static_cast<std::byte*>(chunk_begin(from, chunk));
  const auto at = [&](std::size_t i) { return begin + i * shape_.bytes; };
  const std::size_t count = std::min<std::size_t>(to.size(), layout_.blocks);
  for (std::size_t i = 0; i < count; ++i) to[i] = at(i);
  from.vacant.remove(chunk);
  --from.vacant_chunks;
  ++touched_;
  if (count == layout_.blocks) return count;
  void* next = nullptr;
  for (std::size_t i = layout_.blocks; i-- > count; next = at(i)) {
    unpoison_free(shape_, at(i));
    ::new (body_of(shape_, at(i))) free_link{next};
    poison_free(shape_, at(i));
  }
  from.chunks[chunk] = {static_cast<std::uint16_t>(count * shape_.bytes / block_alignment),
                        static_cast<std::uint16_t>(layout_.blocks - count)};
  from.partial.add(chunk);
  at_home_ += layout_.blocks - count;
  return count;
}

std::size_t chunk_store::take_partial(slab& from, std::span<void*> to) noexcept {
  const std::uint32_t chunk = from.partial.first();
  std::size_t count = 0;
  while (count < to.size() && from.partial.has(chunk)) to[count++] = pop(from, chunk);
  return count;
}

void* chunk_store::pop(slab& from, std::uint32_t chunk) noexcept {
  slab::chunk& in = from.chunks[chunk];
  auto* const begin = static_cast<std::byte*>(chunk_begin(from, chunk));
  void* const block = begin + std::size_t{in.first} * block_alignment;
  if (in.count == layout_.blocks) --from.whole_chunks;
  --at_home_;
  if (--in.count == 0) {
    from.partial.remove(chunk);
  } else {
    unpoison_free(shape_, block);
    auto* const next = static_cast<std::byte*>(link_of(block).next);
    poison_free(shape_, block);
    in.first = static_cast<std::uint16_t>(static_cast<std::size_t>(next - begin) / block_alignment);
  }
  return block;
}

void chunk_store::push(slab& to, void* block) noexcept {
  const auto offset = static_cast<std::uint32_t>(static_cast<std::byte*>(block) -
                                                 reinterpret_cast<std::byte*>(&to)) -
                      layout_.head_bytes;
  const std::uint32_t chunk = offset / layout_.chunk_bytes;
  slab::chunk& in = to.chunks[chunk];
  TROUPE_ASSERT(in.count < layout_.blocks && !to.vacant.has(chunk),
                "a block was freed twice, or its chunk is vacant");
  auto* const begin = static_cast<std::byte*>(chunk_begin(to, chunk));
  unpoison_free(shape_, block);
  ::new (body_of(shape_, block))
      free_link{in.count == 0 ? nullptr : begin + std::size_t{in.first} * block_alignment};
  poison_free(shape_, block);
  in.first = static_cast<std::uint16_t>(offset % layout_.chunk_bytes / block_alignment);
  ++at_home_;
  if (++in.count == 1) to.partial.add(chunk);
  if (in.count < layout_.blocks) return;
  ++to.whole_chunks;
  if (to.is_emptied) return;
  to.is_emptied = true;
  to.next_emptied = std::exchange(emptied_, &to);
}

std::size_t chunk_store::take(std::span<void*> to) {
  const std::span<void*> batch = to.first(shape_.batch);
  std::size_t count = 0;
  do {
    slab& from = slab_with_room();
    const std::span<void*> rest = batch.subspan(count);
    count += from.partial.empty() ? take_vacant(from, rest) : take_partial(from, rest);
    file(from);
  } while (count < batch.size() && front_ != nullptr);
  std::reverse(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void chunk_store::bring_home(std::span<void* const> blocks) noexcept {
  for (void* const block : blocks) {
    slab& home = slab_of(block);
    push(home, block);
    if (home.filed != slab::place::partial) file(home);
  }
}

// ── Pages ─────────────────────────────────────────────────────────────────────────────────────

chunk_store::vacancy chunk_store::begin_vacating() noexcept {
  while (emptied_ != nullptr) {
    slab& s = *emptied_;
    const bool is_all = s.whole_chunks + s.vacant_chunks == layout_.chunks;
    if (is_all || s.whole_chunks == 0) {
      emptied_ = std::exchange(s.next_emptied, nullptr);
      s.is_emptied = false;
    }
    if (is_all) {
      unfile(s);
      --slabs_;
      touched_ -= s.whole_chunks;
      at_home_ -= std::size_t{s.whole_chunks} * layout_.blocks;
      return {&s, 0, layout_.chunks, true};
    }
    if (s.whole_chunks == 0) continue;
    const auto is_whole = [&](std::uint32_t chunk) {
      return chunk < layout_.chunks && s.chunks[chunk].count == layout_.blocks;
    };
    std::uint32_t begin = 0;
    while (!is_whole(begin)) ++begin;
    std::uint32_t end = begin;
    for (; is_whole(end); ++end) {
      s.chunks[end] = {};
      s.partial.remove(end);
    }
    s.whole_chunks -= end - begin;
    at_home_ -= std::size_t{end - begin} * layout_.blocks;
    file(s);
    return {&s, begin, end - begin, false};
  }
  return {};
}

void chunk_store::release(const vacancy& these) const noexcept {
  if (these.is_all) {
    return_pages(these.where, layout_.slab_bytes, layout_.slab_bytes);
  } else {
    discard_pages(chunk_begin(*these.where, these.begin),
                  std::size_t{these.count} * layout_.chunk_bytes);
  }
}

void chunk_store::end_vacating(const vacancy& these) noexcept {
  if (these.is_all) return;
  slab& s = *these.where;
  for (std::uint32_t i = these.begin; i < these.begin + these.count; ++i) s.vacant.add(i);
  s.vacant_chunks += these.count;
  touched_ -= these.count;
  file(s);
}

}  // namespace troupe::detail
