// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <troupe/lua/application.hpp>
#include <troupe/lua/call.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/troupe.hpp>

namespace troupe::lua {

/// Who can be sent to by name, and what applications share.
///
/// Threads: any.
class community::state {
 public:
  /// Finds, by a key, who answers.
  using finder = std::function<call_target(std::string_view key)>;

  state(troupe::system& on, log_sink log) : system_(on), log_(std::move(log)) {}

  [[nodiscard]] troupe::system& system() const noexcept { return system_; }
  void log(const log_line& line) const noexcept {
    if (log_) log_(line);
  }

  /// False if the name is taken.
  [[nodiscard]] bool add(const std::string& name, finder find);
  void remove(const std::string& name);
  /// Errors: std::invalid_argument if nobody has the name.
  [[nodiscard]] call_target find(const std::string& name, std::string_view key) const;

 private:
  troupe::system& system_;
  const log_sink log_;
  mutable mutex mutex_;  // guards what follows
  std::map<std::string, finder, std::less<>> known_;
};

}  // namespace troupe::lua
