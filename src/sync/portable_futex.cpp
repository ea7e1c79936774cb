// SPDX-License-Identifier: Apache-2.0
// Futexes built from the standard library, for systems without futexes, or to test this
// implementation (TROUPE_PORTABLE_WAIT).
#if !defined(__linux__) || defined(TROUPE_PORTABLE_WAIT)

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/sync/futex.hpp>
#include <troupe/detail/sync/per_process.hpp>

#include "wait_in_simulation.hpp"

namespace troupe {
inline namespace native {
namespace {

/// The threads that wait on words with the same hash sleep in one bucket.
///
/// A wake-up wakes all of them: a wait may return without a reason, and the other threads check
/// their words and sleep again.
struct alignas(cache_line_bytes) bucket {
  std::mutex guard;
  std::condition_variable changed;
};

struct buckets {
  static constexpr unsigned bits = 8;

  bucket& of(const void* word) noexcept {
    // Multiplied by 2^64 / φ (Knuth), so that neighbouring words get different buckets.
    const auto place =
        reinterpret_cast<std::uintptr_t>(word) * std::uint64_t{0x9e37'79b9'7f4a'7c15};
    return all[place >> (64 - bits)];
  }

  std::array<bucket, 1u << bits> all;
};

bucket& bucket_of(const void* word) noexcept { return per_process<buckets>::here().of(word); }

}  // namespace

// A thread that has changed the word then takes the guard in order to wake. So either this thread
// sees the change, or it is asleep by then and is woken.
void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  if (detail::wait_in_simulation(word, expected, time_point::max())) return;
  bucket& in = bucket_of(&word);
  std::unique_lock lock(in.guard);
  // [futex] relaxed: the guard orders it.
  if (word.load(relaxed) == expected) in.changed.wait(lock);
}

bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                      time_point deadline) noexcept {
  if (detail::wait_in_simulation(word, expected, deadline)) return clock::now() >= deadline;
  bucket& in = bucket_of(&word);
  std::unique_lock lock(in.guard);
  // [futex] relaxed: as in futex_wait().
  if (word.load(relaxed) != expected) return false;
  return in.changed.wait_until(lock, deadline) == std::cv_status::timeout;
}

void futex_wake(const atomic<std::uint32_t>& word, std::uint32_t) noexcept {
  bucket& in = bucket_of(&word);
  { const std::lock_guard lock(in.guard); }
  in.changed.notify_all();
}

}  // namespace native
}  // namespace troupe

#endif
