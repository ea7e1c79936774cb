// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <troupe/actor/timeline_options.hpp>
#include <troupe/scheduler/timeline.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/thread.hpp>

#include "time_profile.hpp"
#include "trace_file.hpp"

namespace troupe::detail {

/// The thread that collects the slices of all other threads and writes them.
///
/// Threads: created and destroyed by its owner; lanes() from any.
class timeline_recorder {
 public:
  /// Uses the given options, or else the environment; null if nothing is to be recorded. Throws
  /// std::system_error.
  [[nodiscard]] static std::unique_ptr<timeline_recorder> make(timeline_options options);

  /// Throws std::system_error.
  explicit timeline_recorder(const timeline_options& options);
  timeline_recorder(const timeline_recorder&) = delete;
  timeline_recorder& operator=(const timeline_recorder&) = delete;

  /// All lanes must be closed.
  ~timeline_recorder();

  [[nodiscard]] timeline& lanes() noexcept { return lanes_; }

 private:
  struct written {
    timeline_slice last;  // not written yet: it may continue
    bool has_last = false;
    bool is_regular = false;  // it was cut off by a tick
    std::uint64_t lost = 0;
  };

  void run() noexcept;
  void drain() noexcept;
  void look_at(timeline_lane& lane, bool is_closed);
  void take(unsigned lane, written& before, const timeline_slice& next);
  void write_last(unsigned lane, written& before);
  [[nodiscard]] bool is_regular(const timeline_slice& slice) const noexcept;
  [[nodiscard]] bool goes_on(const timeline_slice& before,
                             const timeline_slice& next) const noexcept;
  void report() noexcept;

  const std::string file_name_;
  const duration interval_;
  timeline lanes_;
  trace_file file_;
  time_profile hot_;
  std::map<unsigned, written> written_;
  std::uint64_t lost_ = 0;
  unsigned running_ = 0;
  atomic<bool> stopping_{false};
  parker parker_;
  thread thread_;
};

}  // namespace troupe::detail
