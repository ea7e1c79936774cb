// SPDX-License-Identifier: Apache-2.0
// Plain memory that is watched for data races, and blocks that are watched from new to delete.
#include <cstdlib>
#include <utility>

#include "execution.hpp"

namespace troupe::model {

void execution::plain_born(const void* at, source_line where) {
  memory_.make_plain(at, where);
  plain_write(at, where);
}

plain_cell& execution::plain(const void* at, source_line where) {
  plain_cell* cell = memory_.find_plain(at);
  if (cell == nullptr) {
    if (const block* in = find_block(at); in != nullptr && in->is_freed) {
      abandon("use after free: memory that was freed by " + describe(in->freed));
    }
    cell = &memory_.make_plain(at, where);
  }
  if (cell->is_freed) {
    if (traced_) tell(where, "uses ", name_at(cell->born), ", which was freed");
    abandon("use after free: memory that was freed by " + describe(cell->freed));
  }
  return *cell;
}

void execution::plain_read(const void* at, source_line where) {
  plain_cell& cell = plain(at, where);
  if (traced_) tell(where, "reads ", name_at(cell.born));
  if (cell.is_written && !me().clock.covers(cell.written.thread, cell.written.stamp)) {
    race("reads", cell, "writes", cell.written);
  }
  cell.read[current_] = tick(where);
}

void execution::plain_write(const void* at, source_line where) {
  plain_cell& cell = plain(at, where);
  if (traced_) tell(where, "writes ", name_at(cell.born));
  if (cell.is_written && !me().clock.covers(cell.written.thread, cell.written.stamp)) {
    race("writes", cell, "writes", cell.written);
  }
  for (const moment& read : cell.read) {
    if (!me().clock.covers(read.thread, read.stamp)) race("writes", cell, "reads", read);
  }
  cell.is_written = true;
  cell.written = tick(where);
  cell.read = {};
}

void execution::race(const char* mine, const plain_cell& cell, const char* theirs,
                     const moment& other) {
  abandon("data race: " + describe_thread(current_) + " " + mine + " «" + name_at(cell.born) +
          "» (" + to_string(cell.born) + "), " + describe_thread(other.thread) + " " + theirs +
          " it, and neither happens before the other");
}

// ── Allocated memory ──────────────────────────────────────────────────────────────────────────

void execution::allocated(void* at, std::size_t bytes) {
  block_at_[at] = blocks_.size();
  blocks_.push_back({static_cast<std::byte*>(at),
                     bytes,
                     static_cast<std::uint32_t>(blocks_.size() + 1),
                     tick(me().where),
                     false,
                     {}});
}

bool execution::released(void* at) {
  const auto it = block_at_.find(at);
  if (it == block_at_.end()) return false;
  block& it_is = blocks_[it->second];
  if (it_is.is_freed) {
    if (traced_) tell(me().where, "gives block ", it_is.number, " back again");
    abandon("double free: a block that was freed by " + describe(it_is.freed));
  }
  it_is.is_freed = true;
  it_is.freed = tick(me().where);
  forget(at, it_is.bytes, it_is.freed);
  return true;
}

void execution::forget(const void* begin, std::size_t bytes, moment now) {
  if (const location* const shared = memory_.find_unordered(begin, bytes, me().clock)) {
    abandon("data race: " + describe_thread(current_) + " gives back " + describe(*shared) +
            ", which another thread uses, and neither happens before the other");
  }
  const moment* other = nullptr;
  const plain_cell* const used = memory_.free(begin, bytes, now, me().clock, &other);
  if (used != nullptr) race("gives back", *used, "uses", *other);
}

execution::block* execution::find_block(const void* inside_of) noexcept {
  const auto* const p = static_cast<const std::byte*>(inside_of);
  for (block& each : blocks_) {
    if (p >= each.begin && p < each.begin + each.bytes) return &each;
  }
  return nullptr;
}

void execution::leaked(std::string what) {
  if (!failure_) failure_ = failure{"leak: " + std::move(what), {}};
}

void execution::check_leaks() {
  for (const block& each : blocks_) {
    if (each.is_freed) continue;
    failure_ = failure{"leak: a block of " + std::to_string(each.bytes) +
                           " bytes is never freed; it was allocated by " + describe(each.made),
                       {}};
    return;
  }
}

void execution::free_blocks() {
  for (const block& each : blocks_) std::free(each.begin);
  blocks_.clear();
  block_at_.clear();
}

}  // namespace troupe::model
