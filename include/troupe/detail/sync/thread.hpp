// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe {
inline namespace native {

using thread = std::thread;
using jthread = std::jthread;
using thread_id = std::thread::id;

[[nodiscard]] inline thread_id this_thread_id() noexcept { return std::this_thread::get_id(); }

/// Names the calling thread for debuggers, top and perf. The kernel keeps the first 15 bytes.
void name_this_thread(std::string_view name) noexcept;

/// Starts a thread with a name. It blocks all signals that another thread could take, so a
/// program's signal handlers run on its own threads, not on a worker that may be about to end.
/// Signals that a thread causes itself (SIGSEGV, SIGABRT, …) still arrive, and so does SIGPROF.
///
/// Errors: std::system_error if no thread can be created.
[[nodiscard]] thread start_thread(std::string name, std::function<void()> body);

}  // namespace native
}  // namespace troupe
