// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <troupe/base/cache_line.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/per_thread.hpp>
#include <utility>
#include <vector>

namespace troupe::lab {

/// Blocks of one size as in Troupe's pool, but a thread's free ones are listed in an array instead of
/// being linked through their own memory (as in Bonwick and Adams, 2001). So a thread that takes a block
/// that another one freed does not have to wait for its line before it knows the next one.
///
/// Threads: any. What it has got from the system it keeps.
template <std::size_t Bytes>
class array_magazines {
 public:
  static void* take() {
    cache& mine = per_thread<cache, array_magazines>::here();
    if (mine.loaded == nullptr || mine.loaded->count == 0) [[unlikely]]
      refill(mine);
    return mine.loaded->blocks[--mine.loaded->count];
  }

  static void give(void* block) {
    cache& mine = per_thread<cache, array_magazines>::here();
    if (mine.loaded == nullptr || mine.loaded->count == batch) [[unlikely]]
      make_room(mine);
    mine.loaded->blocks[mine.loaded->count++] = block;
  }

 private:
  static constexpr std::uint32_t batch = 128;

  struct magazine {
    std::uint32_t count = 0;
    std::array<void*, batch> blocks;
  };

  struct cache {
    magazine* loaded = nullptr;
    magazine* reserve = nullptr;  // full, empty or null

    ~cache() {
      const std::lock_guard lock(depot_mutex());
      for (magazine* each : {loaded, reserve}) {
        if (each != nullptr) (each->count != 0 ? full() : empty()).push_back(each);
      }
    }
  };

  [[gnu::noinline]] static void refill(cache& mine) {
    std::swap(mine.loaded, mine.reserve);
    if (mine.loaded != nullptr && mine.loaded->count != 0) return;
    const std::lock_guard lock(depot_mutex());
    if (!full().empty()) {
      if (mine.loaded != nullptr) empty().push_back(mine.loaded);
      mine.loaded = full().back();
      full().pop_back();
      return;
    }
    if (mine.loaded == nullptr) mine.loaded = new magazine;
    auto* const slab =
        static_cast<std::byte*>(::operator new(batch* Bytes, std::align_val_t{cache_line_bytes}));
    for (std::uint32_t i = 0; i < batch; ++i) {
      mine.loaded->blocks[batch - 1 - i] = slab + std::size_t{i} * Bytes;
    }
    mine.loaded->count = batch;
  }

  [[gnu::noinline]] static void make_room(cache& mine) {
    std::swap(mine.loaded, mine.reserve);
    if (mine.loaded != nullptr && mine.loaded->count != batch) return;
    const std::lock_guard lock(depot_mutex());
    if (mine.loaded != nullptr) full().push_back(mine.loaded);
    if (empty().empty()) {
      mine.loaded = new magazine;
    } else {
      mine.loaded = empty().back();
      empty().pop_back();
    }
  }

  // Never destroyed: threads may end after everything else.
  using list = std::vector<magazine*>;
  static mutex& depot_mutex() {
    static auto* const only = new mutex;
    return *only;
  }
  static list& full() {
    static auto* const only = new list;
    return *only;
  }
  static list& empty() {
    static auto* const only = new list;
    return *only;
  }
};

}  // namespace troupe::lab
