// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include <troupe/base/clock.hpp>
#include <troupe/scheduler/timeline.hpp>

namespace troupe::detail {

/// Writes slices in Chrome's Trace Event Format, as an array of JSON, one event a line. Viewers also read one without its end.
///
/// Threads: one at a time.
class trace_file {
 public:
  /// Times are from `zero` on. Beyond `bytes_max`, about, slices are only counted. Throws std::system_error if the file cannot
  /// be made, and std::bad_alloc.
  trace_file(const std::string& name, std::size_t bytes_max, time_point zero);

  // These throw nothing: what cannot be written is counted as left out.

  void name_lane(unsigned lane, std::string_view name) noexcept;
  void write(unsigned lane, const timeline_slice& slice) noexcept;
  /// Only if that has changed.
  void count_running(time_point now, unsigned running) noexcept;

  void flush() noexcept;

  /// `lost`: so many slices have not come here. Nothing can be written afterwards.
  void end(time_point now, std::uint64_t lost) noexcept;

  /// The first error in writing, by errno; or 0.
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
  bool is_ending_ = false;  // what is said now is said beyond bytes_max_, too
  int failure_ = 0;
};

}  // namespace troupe::detail
