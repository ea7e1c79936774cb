// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/http/access.hpp>
#include <troupe/lua/log.hpp>
#include <troupe/server/configuration.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

#include "line_queue.hpp"
#include "line_quota.hpp"

namespace troupe::server::detail {

/// Writes the log of the server and its applications, and the access log, as lines of text or JSON.
///
/// A line of the server or an application is written when write() returns. Lines of the access log
/// come from the loops of the HTTP server, so a thread of the journal writes them soon after. Their
/// number per second is limited, and so are the bytes that wait. Lines beyond these limits are
/// dropped and counted.
///
/// Threads: any. Only the constructor and reopen() throw.
/// Cost:    two short locks and a system call for a line that is written at once.
class journal {
 public:
  /// The maximum of bytes in lines that wait to be written.
  static constexpr std::size_t waiting_bytes_max = 1024 * 1024;

  /// Errors: std::runtime_error if the file cannot be opened.
  explicit journal(const log_options& how);
  ~journal();

  /// Uses these options from now on, and opens the file again. Errors: as for the constructor;
  /// nothing is changed then.
  void reopen(const log_options& how);

  /// Returns false if such a line would be dropped, so that its text need not be created.
  [[nodiscard]] bool writes(lua::severity how) const noexcept;

  void write(const lua::log_line& line) noexcept;
  void write(const http::access& line) noexcept;
  /// Writes a line of the server itself.
  void write(lua::severity how, std::string_view text) noexcept;

  /// Waits until all lines of the access log so far are written.
  void settle();
  /// The number of lines of the access log that were dropped.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    return left_out_.load(relaxed);  // [count] relaxed: a number alone
  }

 private:
  struct output;
  struct waiting_line {
    std::shared_ptr<const output> to;
    std::chrono::system_clock::time_point at;
    std::string text;

    [[nodiscard]] std::size_t bytes() const noexcept {
      return sizeof(waiting_line) + text.capacity();
    }
  };
  void leave_out() noexcept {
    left_out_.fetch_add(1, relaxed);  // [count] relaxed: as above
  }
  void say_what_is_left_out(const std::shared_ptr<const output>& to, time_point now);
  static void write_all(std::vector<waiting_line>& lines);
  [[nodiscard]] std::shared_ptr<const output> current() const;

  mutable mutex mutex_;                   // guards the pointer
  std::shared_ptr<const output> output_;  // never null
  atomic<std::uint64_t> left_out_{0};
  line_quota sayings_{1, std::chrono::seconds(1)};  // for the notice about dropped lines
  atomic<std::uint64_t> said_left_out_{0};
  line_queue<waiting_line> queue_{waiting_bytes_max, write_all};
};

}  // namespace troupe::server::detail
