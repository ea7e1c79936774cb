// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <algorithm>
#include <array>
#include <troupe/sync/thread.hpp>

namespace troupe {
inline namespace TROUPE_SYNC_NAMESPACE {

void name_this_thread(std::string_view name) noexcept {
  std::array<char, 16> text{};
  std::copy_n(name.begin(), std::min(name.size(), text.size() - 1), text.begin());
  ::pthread_setname_np(::pthread_self(), text.data());
}

}  // namespace TROUPE_SYNC_NAMESPACE
}  // namespace troupe
