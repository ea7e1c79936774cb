// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>
#include <span>
#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/base/thread_host.hpp>
#include <troupe/detail/memory/depot.hpp>
#include <troupe/detail/memory/magazine.hpp>
#include <troupe/detail/memory/page_depot.hpp>
#include <troupe/detail/sync/per_thread.hpp>
#include <utility>

namespace troupe::detail {
namespace {

// Closes the caches of a thread when the thread ends. It is separate from the caches because a
// thread_local with a destructor has a guard, which would slow down every allocation.
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
void thread_cache<Depot>::ask_host(Depot* all, bool does) noexcept {
  if (state == phase::unused) open(all);
  if (does && state == phase::open) {
    hand_all_over();
    state = phase::asking;
  } else if (!does && state == phase::asking) {
    state = phase::open;
  }
}

template <class Depot>
void thread_cache<Depot>::hand_all_over() noexcept {
  state = phase::closed;
  for (std::size_t index = 0; index < magazines.size(); ++index) {
    const magazine mine = std::exchange(magazines[index], magazine{});
    std::span<void*> blocks(mine.begin, mine.next);
    while (!blocks.empty()) {
      const std::size_t some = std::min<std::size_t>(blocks.size(), depots[index].shape().batch);
      depots[index].give(blocks.first(some));
      blocks = blocks.subspan(some);
    }
    ::operator delete(mine.begin);
  }
}

// Makes sure that the magazine has its array. Returns false if there is no memory for it.
template <class Depot>
bool thread_cache<Depot>::has_array(magazine& mine, const block_shape& shape) noexcept {
  if (mine.begin != nullptr) return true;
  const std::size_t room = 2 * std::size_t{shape.batch};
  void** array = nullptr;
  try {
    array = static_cast<void**>(::operator new(room * sizeof(void*)));
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (mine.begin == nullptr) {
    mine = {array, array, array + room};
  } else {  // a new-handler has freed a block
    ::operator delete(array);
  }
  return true;
}

template <class Depot>
void* thread_cache<Depot>::refill(Depot* from, std::size_t index) {
  if (state == phase::unused) open(from);
  magazine& mine = magazines[index];
  Depot& home = from[index];
  if (state == phase::open && has_array(mine, home.shape())) {
    // A new-handler that the depot runs may free blocks into this thread's cache. Those blocks are
    // lost, with no other harm.
    const std::size_t count = home.take({mine.begin, home.shape().batch});
    mine.next = mine.begin + count;
    return take(from, index, home.shape());
  }
  if (state == phase::asking) {
    thread_host* const host = thread_host::here();
    if (host != nullptr && host->allocation_fails()) throw std::bad_alloc();
  }
  std::array<void*, batch_max> got;
  const std::size_t count = home.take(got);
  if (count > 1) home.give(std::span(got).subspan(1, count - 1));
  unpoison(got[0], home.shape().bytes);
  return got[0];
}

template <class Depot>
void thread_cache<Depot>::overflow(Depot* to, std::size_t index, void* block) noexcept {
  if (state == phase::unused) open(to);
  magazine& mine = magazines[index];
  Depot& home = to[index];
  if (state != phase::open || !has_array(mine, home.shape())) return home.give({&block, 1});
  if (mine.next == mine.end) {
    // Returns the older half: blocks that were freed last may still be in the processor's cache.
    void** const half = mine.begin + home.shape().batch;
    home.give({mine.begin, half});
    mine.next = std::copy(half, mine.end, mine.begin);
  }
  *mine.next++ = block;
}

template struct thread_cache<depot>;
template struct thread_cache<page_depot>;

}  // namespace troupe::detail
