// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/sync/asymmetric.hpp>

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define TROUPE_TOOL_KNOWS_NO_PROCESS_BARRIER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TROUPE_TOOL_KNOWS_NO_PROCESS_BARRIER
#endif
#endif

namespace troupe {
inline namespace native {
namespace {

bool can_have_process_barrier() noexcept {
#if defined(__linux__) && !defined(TROUPE_TOOL_KNOWS_NO_PROCESS_BARRIER)
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

}  // namespace

atomic<bool> has_process_barrier{false};

void prepare_heavy_barrier() noexcept {
  // [barrier] relaxed: threads that use it start afterwards, or use it already.
  if (!has_process_barrier.load(relaxed))
    has_process_barrier.store(can_have_process_barrier(), relaxed);
}

bool process_barrier() noexcept {
  return has_process_barrier.load(relaxed) && heavy_barrier();  // [barrier]
}

bool heavy_barrier() noexcept {
  if (!has_process_barrier.load(relaxed)) return true;  // [barrier]
#if defined(__linux__)
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return true;
#endif
}

}  // namespace native
}  // namespace troupe
