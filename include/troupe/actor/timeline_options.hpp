// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <troupe/base/clock.hpp>

namespace troupe {

/// Records the activity of every thread that runs turns: which actor and message it ran, and when
/// it searched for work, was parked, or had lost its worker. The file is a trace for
/// https://ui.perfetto.dev and chrome://tracing. When the system has ended, a table of the hot
/// spots is written to a file of the same name with `.txt` appended.
///
/// A slice is recorded each `interval`, with the name of the message that is being handled at that
/// time. Short handlers are therefore sampled, as by a sampling profiler. A handler longer than the
/// interval has a slice that ends with the handler, and begins up to one interval too early. After
/// a wake-up, the first messages are recorded one by one. Waiting is recorded exactly; a wait of
/// less than a 50th of the interval does not interrupt the slice that it is in.
///
/// If `file` is empty, the environment variable TROUPE_TRACE names the file, for any program. A
/// second system of the same process adds `-2` to the name, before the extension.
///
/// Threads: one more thread, `troupe/timeline`; the system's constructor and destructor open and
///          close the file.
/// Errors:  the system's constructor throws std::system_error if the file cannot be made. If it
///          cannot be written later, the missing data is counted, and reported on stderr at the
///          end.
/// Cost:    none when disabled. When enabled, two or three per cent, most of it for the timer of
///          each interval; 230 KB for each thread; about 200 bytes of the file for each slice.
struct timeline_options {
  std::string file = {};  // empty: no timeline
  duration interval = std::chrono::milliseconds(1);
  // of the file; the table also has the data beyond this
  std::size_t bytes_max = 256 * 1024 * 1024;
};

}  // namespace troupe
