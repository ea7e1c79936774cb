// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include <troupe/base/clock.hpp>
#include <troupe/detail/scheduler/timeline.hpp>

namespace troupe::detail {

/// Writes slices in Chrome's Trace Event Format: a JSON array with one event per line. Viewers also
/// accept an array without its end.
///
/// Threads: one at a time.
class trace_file {
 public:
  /// Times are relative to `zero`. Beyond about `bytes_max` bytes, slices are only counted. Throws
  /// std::system_error if the file cannot be created, and std::bad_alloc.
  trace_file(const std::string& name, std::size_t bytes_max, time_point zero);

  // These do not throw: what cannot be written is counted as left out.

  void name_lane(unsigned lane, std::string_view name) noexcept;
  void write(unsigned lane, const timeline_slice& slice) noexcept;
  /// Writes the number only if it has changed.
  void count_running(time_point now, unsigned running) noexcept;

  void flush() noexcept;

  /// Ends the file. `lost`: the number of slices that did not arrive here. Nothing can be written
  /// afterwards.
  void end(time_point now, std::uint64_t lost) noexcept;

  /// The errno of the first write error; 0: none.
  [[nodiscard]] int failure() const noexcept { return failure_; }

 private:
  template <class Add>
  bool event(Add&& add) noexcept;
  void number(std::uint64_t value);
  void text(std::string_view raw);
  void time(time_point at);
  void microseconds(duration d);

  struct closes {
    void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
  };

  const std::size_t bytes_max_;
  const time_point zero_;
  std::unique_ptr<std::FILE, closes> file_;
  std::string buffer_;
  std::size_t bytes_ = 0;
  std::uint64_t left_out_ = 0;
  unsigned running_ = static_cast<unsigned>(-1);
  bool is_ending_ = false;  // final events are written even beyond bytes_max_
  int failure_ = 0;
};

}  // namespace troupe::detail
