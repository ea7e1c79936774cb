// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <mutex>
#include <troupe/detail/memory/page_depot.hpp>
#include <utility>

namespace troupe::detail {

std::size_t page_depot::take(std::span<void*> to) {
  block_batch got{};
  {
    const std::lock_guard lock(mutex_);
    batch_list* const from = !recent_.empty()    ? &recent_
                             : !settled_.empty() ? &settled_
                                                 : &surplus_;
    if (from->empty()) return home_.take(to);
    got = from->pop(shape_);
  }
  unpack(shape_, got, to);
  return got.count;
}

void page_depot::give(std::span<void* const> blocks) noexcept {
  const block_batch batch = pack(shape_, blocks);
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    recent_.push(shape_, batch);
    if (!told_) {
      tell = told_ = is_worth_a_look(recent_.blocks() + settled_.blocks() + surplus_.blocks());
    }
  }
  if (tell) tell_.raise();
}

// `blocks` free blocks are outside of the store. In the best case each of them completes a chunk;
// but no more can be gained than these blocks and the free ones in the store.
bool page_depot::is_worth_a_look(std::size_t blocks) const noexcept {
  return std::min(blocks * chunk_bytes_, (blocks + home_.blocks_at_home()) * shape_.bytes) >=
         bytes_min_;
}

bool page_depot::look() noexcept {
  const std::lock_guard lock(mutex_);
  told_ = false;
  if (surplus_.empty()) {
    surplus_ = std::exchange(settled_, std::exchange(recent_, {}));
  }
  return is_worth_a_look(settled_.blocks());
}

bool page_depot::give_back_some() noexcept {
  chunk_store::vacancy pages;
  {
    const std::lock_guard lock(mutex_);
    if (!surplus_.empty()) {
      const block_batch batch = surplus_.pop(shape_);
      std::array<void*, batch_max> blocks;
      unpack(shape_, batch, blocks);
      home_.bring_home({blocks.data(), batch.count});
      return true;
    }
    const std::size_t before = home_.resident();
    pages = home_.begin_vacating();
    if (pages.where == nullptr) return false;
    given_back_ += before - home_.resident();
  }
  home_.release(pages);  // one or two system calls, without the lock
  const std::lock_guard lock(mutex_);
  const std::size_t before = home_.resident();
  home_.end_vacating(pages);
  given_back_ += before - home_.resident();
  return true;
}

page_depot::usage page_depot::used() const noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t blocks =
      recent_.blocks() + settled_.blocks() + surplus_.blocks() + home_.blocks_at_home();
  return {home_.resident(), blocks * shape_.bytes, given_back_};
}

}  // namespace troupe::detail
