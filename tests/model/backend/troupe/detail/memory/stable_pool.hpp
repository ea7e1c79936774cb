// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/engine.hpp>
#include <checker/sync.hpp>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

// The interface of include/troupe/detail/memory/stable_pool.hpp, created anew in each execution.
// The memory of a free slot after the Header and the kept bytes counts as given back. A slot that
// is not given back is a leak.

namespace troupe {

template <class Header, std::size_t kept_bytes = 0>
class stable_pool {
 public:
  static constexpr std::size_t bytes_max = 1024;

  [[nodiscard]] static Header* take(std::size_t bytes) {
    slots& all = per_process<slots>::here();
    const std::lock_guard lock(all.guard);
    std::vector<void*>& free = all.free[bytes];
    if (!free.empty()) {
      void* const again = free.back();
      free.pop_back();
      ++all.taken;
      return static_cast<Header*>(again);
    }
    void* const fresh = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (fresh == nullptr) throw std::bad_alloc();
    all.made.push_back(fresh);
    ++all.taken;
    return ::new (fresh) Header;
  }

  static void give_back(Header* slot, std::size_t bytes) noexcept {
    slots& all = per_process<slots>::here();
    const std::lock_guard lock(all.guard);
    model::detail::given_back(reinterpret_cast<std::byte*>(slot + 1) + kept_bytes,
                              bytes - sizeof(Header) - kept_bytes);
    all.free[bytes].push_back(slot);
    --all.taken;
  }

  template <class Function>
  static void for_each_slot(Function&& fn) {
    slots& all = per_process<slots>::here();
    std::vector<void*> those;
    {
      const std::lock_guard lock(all.guard);
      those = all.made;
    }
    for (void* each : those) fn(*static_cast<Header*>(each));
  }

  [[nodiscard]] static std::size_t bytes() noexcept { return 0; }

 private:
  struct slots {
    slots() = default;
    slots(const slots&) = delete;
    slots& operator=(const slots&) = delete;
    ~slots() {
      if (taken != 0) model::detail::leaked("a slot of a stable_pool is never freed");
      for (void* each : made) std::free(each);
    }

    mutex guard;
    std::map<std::size_t, std::vector<void*>> free;
    std::vector<void*> made;
    std::size_t taken = 0;
  };
};

}  // namespace troupe
