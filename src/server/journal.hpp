// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include <troupe/http/access.hpp>
#include <troupe/lua/log.hpp>
#include <troupe/server/configuration.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::server::detail {

/// What the server, its applications and their clients' requests leave behind: lines of text, or of JSON.
///
/// Threads: any. Nothing but the constructor and reopen() throws.
/// Cost:    a line that is written: two short locks and a system call.
class journal {
 public:
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

 private:
  struct output;
  [[nodiscard]] std::shared_ptr<const output> current() const;

  mutable mutex mutex_;                   // guards the pointer
  std::shared_ptr<const output> output_;  // never null
};

}  // namespace troupe::server::detail
