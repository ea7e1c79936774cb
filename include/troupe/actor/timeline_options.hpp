// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <troupe/base/clock.hpp>

namespace troupe {

/// Records what every thread that gives turns did, and when: which actor and message it ran, that it searched for work, was
/// parked, had lost its worker. The file is a trace for https://ui.perfetto.dev and chrome://tracing. Beside it, with `.txt`
/// behind its name, is a table of what was hot when the system has ended.
///
/// A slice is made each `interval`: what is handled when that comes gives it its name. So short handlers have names by
/// chance, as with a sampling profiler; one that lasts for longer has a slice that ends when it does and begins up to an
/// interval too early. After a wake-up the first messages are looked at one by one. Waiting is recorded as it is; one of
/// less than a 50th of the interval is within a slice, which goes on.
///
/// Without options the environment's TROUPE_TRACE names the file, for any program; a second system of the same process gets
/// that name with `-2` before its extension.
///
/// Threads: one more, `troupe/timeline`, and its system's constructor and destructor open and close the file.
/// Errors:  the system's constructor throws std::system_error if the file cannot be made. If it cannot be written later,
///          what is missing is counted, and told on stderr at the end.
/// Cost:    off, nothing. On, two or three per cent, most of it for the timer of each interval; 230 KB for each thread;
///          about 200 bytes of the file for each slice.
struct timeline_options {
  std::string file = {};  // empty: none
  duration interval = std::chrono::milliseconds(1);
  std::size_t bytes_max = 256 * 1024 * 1024;  // of the file. The table has what did not fit, too
};

}  // namespace troupe
