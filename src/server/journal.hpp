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

/// What the server, its applications and their clients' requests leave behind: lines of text, or of JSON.
///
/// A line of server or applications is written when write() returns. Lines of the access log are
/// written soon after, by a thread of the journal's, since it is loops of the HTTP server that say
/// them. There may be a number of these in a second, and a number of bytes that wait; what is
/// beyond that is left out and counted.
///
/// Threads: any. Nothing but the constructor and reopen() throws.
/// Cost:    a line that is written at once: two short locks and a system call.
class journal {
 public:
  /// Bytes of lines that wait to be written.
  static constexpr std::size_t waiting_bytes_max = 1024 * 1024;

  /// Errors: std::runtime_error if the file cannot be opened.
  explicit journal(const log_options& how);
  ~journal();

  /// From now on so, the file opened anew. Errors: as the constructor's, with nothing changed.
  void reopen(const log_options& how);

  /// False if such a line would be left out, so that its text need not be made.
  [[nodiscard]] bool writes(lua::severity how) const noexcept;

  void write(const lua::log_line& line) noexcept;
  void write(const http::access& line) noexcept;
  /// A line of the server's own.
  void write(lua::severity how, std::string_view text) noexcept;

  /// Waits until the access log is written as far as it has come.
  void settle();
  /// Lines of the access log that were left out.
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
  line_quota sayings_{1, std::chrono::seconds(1)};  // of what is left out
  atomic<std::uint64_t> said_left_out_{0};
  line_queue<waiting_line> queue_{waiting_bytes_max, write_all};
};

}  // namespace troupe::server::detail
