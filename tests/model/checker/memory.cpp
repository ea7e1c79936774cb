// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <algorithm>

namespace troupe::model {

void memory::reset() {
  by_address_.clear();
  locations_used_ = 0;
  stores_used_ = 0;
  plain_by_address_.clear();
  plain_used_ = 0;
  ordered_.clear();
  reaches_.clear();
  hash_ = 0;
}

// ── Objects ───────────────────────────────────────────────────────────────────────────────────

location* memory::find(const void* at) noexcept {
  const auto it = by_address_.find(at);
  return it == by_address_.end() ? nullptr : it->second;
}

location& memory::make(const void* at, std::size_t bytes, bits initial, std::uint64_t name,
                       moment by, bool known_to_all) {
  if (locations_used_ == locations_.size()) locations_.emplace_back();
  location& fresh = locations_[locations_used_];
  fresh.at = at;
  fresh.bytes = bytes;
  fresh.name = name;
  fresh.number = static_cast<std::uint32_t>(++locations_used_);
  fresh.born = by;
  fresh.is_freed = false;
  fresh.wakes = {};
  fresh.order.clear();
  for (auto& each : fresh.reads) each.clear();
  fresh.seq_cst.clear();
  fresh.order_hash = 0;
  if (known_to_all) fresh.born.stamp = 0;

  if (stores_used_ == stores_.size()) stores_.emplace_back();
  store& first = stores_[stores_used_++];
  first = store{};
  first.value = initial;
  first.made = fresh.born;
  first.identity = name;
  fresh.order.push_back(&first);
  rehash(fresh);
  by_address_[at] = &fresh;
  return fresh;
}

plain_cell* memory::find_plain(const void* at) noexcept {
  const auto it = plain_by_address_.find(at);
  return it == plain_by_address_.end() ? nullptr : it->second;
}

plain_cell& memory::make_plain(const void* at, source_line born) {
  if (plain_used_ == plain_.size()) plain_.emplace_back();
  plain_cell& fresh = plain_[plain_used_++];
  fresh = plain_cell{};
  fresh.born = born;
  plain_by_address_[at] = &fresh;
  return fresh;
}

const plain_cell* memory::free(const void* begin, std::size_t bytes, moment by,
                               const vector_clock& clock, const moment** other) {
  const auto* const first = static_cast<const char*>(begin);
  const auto is_inside = [&](const void* at) {
    const auto* const p = static_cast<const char*>(at);
    return p >= first && p < first + bytes;
  };
  for (auto& [at, what] : by_address_) {
    if (!is_inside(at) || what->is_freed) continue;
    what->is_freed = true;
    what->freed = by;
  }
  const plain_cell* used = nullptr;
  for (auto& [at, cell] : plain_by_address_) {
    if (!is_inside(at) || cell->is_freed) continue;
    cell->is_freed = true;
    cell->freed = by;
    if (cell->is_written && !clock.covers(cell->written.thread, cell->written.stamp)) {
      used = cell;
      *other = &cell->written;
    }
    for (const moment& read : cell->read) {
      if (!clock.covers(read.thread, read.stamp)) {
        used = cell;
        *other = &read;
      }
    }
  }
  return used;
}

const location* memory::find_unordered(const void* begin, std::size_t bytes,
                                       const vector_clock& clock) const {
  const auto* const first = static_cast<const char*>(begin);
  for (const auto& [at, what] : by_address_) {
    const auto* const p = static_cast<const char*>(at);
    if (p < first || p >= first + bytes || what->is_freed) continue;
    for (const store* each : what->order) {
      if (!clock.covers(each->made.thread, each->made.stamp)) return what;
    }
    for (std::size_t t = 0; t < threads_max; ++t) {
      const auto& reads = what->reads[t];
      if (reads.empty()) continue;
      if (!clock.covers(static_cast<thread_index>(t), reads.back().stamp)) return what;
    }
  }
  return nullptr;
}

// ── What may happen ───────────────────────────────────────────────────────────────────────────

std::uint32_t memory::floor(const location& at, const vector_clock& clock) noexcept {
  std::uint32_t lowest = 0;
  for (auto s = at.order.rbegin(); s != at.order.rend(); ++s) {
    if (!clock.covers((*s)->made.thread, (*s)->made.stamp)) continue;
    lowest = (*s)->position;
    break;
  }
  for (std::size_t t = 0; t < threads_max; ++t) {
    for (auto r = at.reads[t].rbegin(); r != at.reads[t].rend(); ++r) {
      if (!clock.covers(static_cast<thread_index>(t), r->stamp)) continue;
      lowest = std::max(lowest, r->from->position);
      break;
    }
  }
  return lowest;
}

bool memory::permits(const location& at, const vector_clock& clock, const store* read,
                     const store* behind) {
  const std::uint32_t lowest = read != nullptr ? 4 * read->position + 1 : 4 * behind->position + 2;
  const std::uint32_t highest =
      behind != nullptr ? 4 * behind->position + 2 : 4 * read->position + 1;
  find_neighbours(at, clock, lowest, highest, scratch_);
  const std::size_t count = words();
  for (std::size_t i = 0; i < ordered_.size(); ++i) {
    if ((scratch_.after[i / 64] >> (i % 64) & 1) == 0) continue;
    if ((scratch_.before[i / 64] >> (i % 64) & 1) != 0) return false;
    for (std::size_t w = 0; w < count; ++w) {
      if ((reaches_[i][w] & scratch_.before[w]) != 0) return false;
    }
  }
  return true;
}

// Before it in S is what happens before it; on both sides, what the modification order says.
void memory::find_neighbours(const location& at, const vector_clock& clock, std::uint32_t lowest,
                             std::uint32_t highest, neighbours& found) const {
  const std::size_t count = words();
  std::fill_n(found.before.begin(), count, 0);
  std::fill_n(found.after.begin(), count, 0);
  for (std::size_t i = 0; i < ordered_.size(); ++i) {
    const ordered& other = ordered_[i];
    if (clock.covers(other.by.thread, other.by.stamp)) {
      found.before[i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }
  for (const std::uint32_t i : at.seq_cst) {
    const ordered& other = ordered_[i];
    if (other.lowest() < highest) found.before[i / 64] |= std::uint64_t{1} << (i % 64);
    if (lowest < other.highest()) found.after[i / 64] |= std::uint64_t{1} << (i % 64);
  }
}

// ── What happens ──────────────────────────────────────────────────────────────────────────────

void memory::note_read(location& at, moment by, const store& from) {
  at.reads[by.thread].push_back({by.stamp, &from});
}

store& memory::insert(location& at, const store& behind, bits value, moment by,
                      std::uint64_t identity, bool is_rmw) {
  if (stores_used_ == stores_.size()) stores_.emplace_back();
  store& fresh = stores_[stores_used_++];
  fresh = store{};
  fresh.value = value;
  fresh.made = by;
  fresh.identity = identity;
  fresh.is_rmw = is_rmw;
  at.order.insert(at.order.begin() + behind.position + 1, &fresh);
  for (std::size_t p = behind.position + 1; p < at.order.size(); ++p) {
    at.order[p]->position = static_cast<std::uint32_t>(p);
  }
  rehash(at);
  return fresh;
}

void memory::note_seq_cst(location& at, moment by, const vector_clock& clock, const store* read,
                          const store* written) {
  const auto index = static_cast<std::uint32_t>(ordered_.size());
  const ordered fresh{by, &at, read, written};
  find_neighbours(at, clock, fresh.lowest(), fresh.highest(), scratch_);
  ordered_.push_back(fresh);
  at.seq_cst.push_back(index);
  reaches_.emplace_back();
  const std::size_t count = words();
  set& mine = reaches_[index];
  std::fill_n(mine.begin(), count, 0);
  for (std::size_t i = 0; i < index; ++i) {
    if ((scratch_.after[i / 64] >> (i % 64) & 1) == 0) continue;
    mine[i / 64] |= std::uint64_t{1} << (i % 64);
    for (std::size_t w = 0; w < count; ++w) mine[w] |= reaches_[i][w];
  }
  for (std::size_t i = 0; i < index; ++i) {
    const bool is_before = (scratch_.before[i / 64] >> (i % 64) & 1) != 0;
    bool leads_before = false;
    for (std::size_t w = 0; w < count; ++w) {
      leads_before = leads_before || (reaches_[i][w] & scratch_.before[w]) != 0;
    }
    if (!is_before && !leads_before) continue;
    for (std::size_t w = 0; w < count; ++w) reaches_[i][w] |= mine[w];
    reaches_[i][index / 64] |= std::uint64_t{1} << (index % 64);
  }
}

void memory::rehash(location& at) noexcept {
  hash_ -= at.order_hash;
  std::uint64_t hash = at.name;
  for (const store* each : at.order) hash = mix(hash, each->identity);
  at.order_hash = hash;
  hash_ += hash;
}

}  // namespace troupe::model
