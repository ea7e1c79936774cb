// SPDX-License-Identifier: Apache-2.0
#include "timer_entry.hpp"

#include <algorithm>

#include <troupe/memory/pages.hpp>

namespace troupe::detail {

namespace {

constexpr std::size_t least = 256;
constexpr std::size_t most = large_page_bytes / sizeof(timer_entry);

}  // namespace

entry_store::~entry_store() {
  for (const chunk& each : chunks_) {
    ::operator delete(each.first, alignment(each.count));
  }
}

timer_entry& entry_store::fresh() {
  if (left_ == 0) add();
  const chunk& last = chunks_.back();
  return *::new (last.first + (last.count - left_--)) timer_entry;
}

std::align_val_t entry_store::alignment(std::size_t count) noexcept {
  return std::align_val_t{count == most ? large_page_bytes : alignof(timer_entry)};
}

void entry_store::add() {
  const std::size_t count = chunks_.empty() ? least : std::min(2 * chunks_.back().count, most);
  chunks_.reserve(chunks_.size() + 1);
  void* const begin = ::operator new(count * sizeof(timer_entry), alignment(count));
  if (count == most) prefer_large_pages(begin, large_page_bytes);
  chunks_.push_back({static_cast<timer_entry*>(begin), count});
  left_ = count;
}

}  // namespace troupe::detail
