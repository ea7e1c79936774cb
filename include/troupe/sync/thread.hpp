// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <thread>
#include <troupe/sync/atomic.hpp>

namespace troupe {
inline namespace TROUPE_SYNC_NAMESPACE {

using thread = std::thread;
using jthread = std::jthread;

/// Names the calling thread for debuggers, top and perf. The kernel keeps the first 15 bytes.
void name_this_thread(std::string_view name) noexcept;

}  // namespace TROUPE_SYNC_NAMESPACE
}  // namespace troupe
