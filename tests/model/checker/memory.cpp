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
  precede_.clear();
  for (auto& each : of_thread_) each.clear();
  hash_ = 0;
}

// ── Objects ───────────────────────────────────────────────────────────────────────────────────

location* memory::find(const void* at) noexcept { return by_address_.find(at); }

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
  by_address_.put(at, fresh);
  return fresh;
}

plain_cell* memory::find_plain(const void* at) noexcept { return plain_by_address_.find(at); }

plain_cell& memory::make_plain(const void* at, source_line born) {
  if (plain_used_ == plain_.size()) plain_.emplace_back();
  plain_cell& fresh = plain_[plain_used_++];
  fresh = plain_cell{};
  fresh.born = born;
  plain_by_address_.put(at, fresh);
  return fresh;
}

const plain_cell* memory::free(const void* begin, std::size_t bytes, moment by,
                               const vector_clock& clock, const moment** other) {
  by_address_.take(begin, bytes, [&](location& what) {
    what.is_freed = true;
    what.freed = by;
  });
  const plain_cell* used = nullptr;
  plain_by_address_.take(begin, bytes, [&](plain_cell& cell) {
    cell.is_freed = true;
    cell.freed = by;
    if (cell.is_written && !clock.covers(cell.written.thread, cell.written.stamp)) {
      used = &cell;
      *other = &cell.written;
    }
    for (const moment& read : cell.read) {
      if (!clock.covers(read.thread, read.stamp)) {
        used = &cell;
        *other = &read;
      }
    }
  });
  return used;
}

const location* memory::find_unordered(const void* begin, std::size_t bytes,
                                       const vector_clock& clock) const {
  const location* found = nullptr;
  by_address_.for_each(begin, bytes, [&](const location& what) {
    for (const store* each : what.order) {
      if (!clock.covers(each->made.thread, each->made.stamp)) found = &what;
    }
    for (std::size_t t = 0; t < threads_max; ++t) {
      const auto& reads = what.reads[t];
      if (reads.empty()) continue;
      if (!clock.covers(static_cast<thread_index>(t), reads.back().stamp)) found = &what;
    }
    return found != nullptr;
  });
  return found;
}

// ── Possible outcomes ─────────────────────────────────────────────────────────────────────────

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
  for (std::size_t w = 0; w < words(); ++w) {
    if ((scratch_.before[w] & scratch_.after[w]) != 0) return false;
  }
  return true;
}

// In S it comes after the operations that happen before it. The modification order restricts it on
// both sides.
void memory::find_neighbours(const location& at, const vector_clock& clock, std::uint32_t lowest,
                             std::uint32_t highest, neighbours& found) const {
  const std::size_t count = words();
  std::fill_n(found.before.begin(), count, 0);
  std::fill_n(found.after.begin(), count, 0);
  const auto add_with_all_before = [&](std::uint32_t i) {
    for (std::size_t w = 0; w < count; ++w) found.before[w] |= precede_[i][w];
    add(found.before, i);
  };
  // The last known operation of each thread suffices: the thread's earlier operations precede it.
  for (std::size_t t = 0; t < threads_max; ++t) {
    const auto& own = of_thread_[t];
    const auto unknown = std::upper_bound(
        own.begin(), own.end(), clock.at[t],
        [&](std::uint32_t stamp, std::uint32_t i) { return stamp < ordered_[i].by.stamp; });
    if (unknown != own.begin()) add_with_all_before(*std::prev(unknown));
  }
  for (const std::uint32_t i : at.seq_cst) {
    const ordered& other = ordered_[i];
    if (other.lowest() < highest && !contains(found.before, i)) add_with_all_before(i);
    if (lowest < other.highest()) add(found.after, i);
  }
}

// ── Effects ───────────────────────────────────────────────────────────────────────────────────

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
  const std::size_t count = words();  // without the new operation
  find_neighbours(at, clock, fresh.lowest(), fresh.highest(), scratch_);
  ordered_.push_back(fresh);
  of_thread_[by.thread].push_back(index);
  at.seq_cst.push_back(index);
  precede_.push_back({});
  std::copy_n(scratch_.before.begin(), count, precede_[index].begin());
  if (std::all_of(scratch_.after.begin(),
                  scratch_.after.begin() + static_cast<std::ptrdiff_t>(count),
                  [](std::uint64_t word) { return word == 0; })) {
    return;  // the operation is the last of all, as most are
  }
  for (std::uint32_t i = 0; i < index; ++i) {
    bool comes_after = contains(scratch_.after, i);
    for (std::size_t w = 0; w < count && !comes_after; ++w) {
      comes_after = (precede_[i][w] & scratch_.after[w]) != 0;
    }
    if (!comes_after) continue;
    for (std::size_t w = 0; w < count; ++w) precede_[i][w] |= precede_[index][w];
    add(precede_[i], index);
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
