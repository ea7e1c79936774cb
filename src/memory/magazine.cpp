// SPDX-License-Identifier: Apache-2.0
#include <troupe/base/assert.hpp>
#include <troupe/memory/depot.hpp>
#include <troupe/memory/magazine.hpp>
#include <troupe/memory/page_depot.hpp>
#include <troupe/sync/per_thread.hpp>
#include <utility>

namespace troupe::detail {
namespace {

// Closes the caches of a thread when it ends. Apart from them, because a thread_local with a
// destructor has a guard, which would stand in the way of every allocation.
struct closer {
  any_thread_cache* first = nullptr;

  ~closer();
};

struct closer_tag;
bool& closer_is_gone() noexcept { return per_thread<bool, closer_tag>::here(); }

closer::~closer() {
  closer_is_gone() = true;
  for (any_thread_cache* each = first; each != nullptr; each = each->next) each->close(*each);
}

void* unlink_first(const block_shape& shape, void*& list) noexcept {
  void* block = list;
  unpoison(block, shape.bytes);
  list = link_of(block, shape.link_offset)->next;
  return block;
}

}  // namespace

void any_thread_cache::open(void (*closing)(any_thread_cache&) noexcept) noexcept {
  TROUPE_ASSERT(state == phase::unused, "thread_cache: opened twice");
  if (closer_is_gone()) {
    state = phase::closed;
    return;
  }
  close = closing;
  next = std::exchange(per_thread<closer>::here().first, this);
  state = phase::open;
}

template <class Depot>
void thread_cache<Depot>::open(Depot* all) noexcept {
  depots = all;
  any_thread_cache::open(
      [](any_thread_cache& cache) noexcept { static_cast<thread_cache&>(cache).hand_all_over(); });
}

template <class Depot>
void thread_cache<Depot>::hand_all_over() noexcept {
  state = phase::closed;
  for (std::size_t index = 0; index < magazines.size(); ++index) {
    magazine& mine = magazines[index];
    if (mine.loaded == nullptr && mine.reserve == nullptr) {
      mine.room = 0;
      continue;
    }
    Depot& home = depots[index];
    const std::uint32_t batch = home.shape().batch;
    if (mine.reserve != nullptr) home.give({mine.reserve, batch});
    if (mine.loaded != nullptr) home.give({mine.loaded, batch - mine.room});
    mine = magazine{};
  }
}

template <class Depot>
void* thread_cache<Depot>::refill(Depot* from, std::size_t index) {
  if (state == phase::unused) open(from);
  magazine& mine = magazines[index];
  const block_shape& shape = from[index].shape();
  if (mine.reserve != nullptr) {
    mine.loaded = std::exchange(mine.reserve, nullptr);
    mine.room = 1;
    return unlink_first(shape, mine.loaded);
  }
  block_batch got = from[index].take();
  void* block = unlink_first(shape, got.first);
  --got.count;
  if (state == phase::open) {
    mine.loaded = got.first;
    mine.room = shape.batch - got.count;
  } else if (got.count > 0) {
    from[index].give(got);
  }
  return block;
}

template <class Depot>
void thread_cache<Depot>::overflow(Depot* to, std::size_t index, void* block) noexcept {
  if (state == phase::unused) open(to);
  magazine& mine = magazines[index];
  const block_shape& shape = to[index].shape();
  if (state == phase::closed) {
    ::new (link_of(block, shape.link_offset)) free_link{nullptr, nullptr, 1};
    to[index].give({block, 1});
    return;
  }
  if (mine.loaded != nullptr) {
    if (mine.reserve != nullptr) to[index].give({mine.reserve, shape.batch});
    mine.reserve = std::exchange(mine.loaded, nullptr);
  }
  mine.room = shape.batch;
  give(to, index, shape, block);
}

template struct thread_cache<depot>;
template struct thread_cache<page_depot>;

}  // namespace troupe::detail
