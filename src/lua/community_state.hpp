// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/lua/application.hpp>
#include <troupe/lua/call.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/troupe.hpp>

#include "shared_state.hpp"

namespace troupe::lua {

namespace detail {
class application_core;
}

/// The registry of names that messages can be sent to, and the state that applications share.
///
/// Threads: any.
class community::state {
 public:
  /// Finds the responder for a key.
  using finder = std::function<call_target(std::string_view key)>;

  state(troupe::system& on, log_sink log, const shared_limits& allowed)
      : system_(on),
        log_(std::move(log)),
        shared_(std::make_shared<detail::shared_state>(&on, allowed)) {}

  [[nodiscard]] troupe::system& system() const noexcept { return system_; }
  void log(const log_line& line) const noexcept {
    if (log_) log_(line);
  }

  [[nodiscard]] const std::shared_ptr<detail::shared_state>& shared() const noexcept {
    return shared_;
  }

  /// Includes the statistics of an application in the figures as long as it exists.
  void show(std::weak_ptr<const detail::application_core> which);
  [[nodiscard]] std::vector<http::figure_family> figures() const;

  /// Returns false if the name is taken.
  [[nodiscard]] bool add(const std::string& name, finder find);
  void remove(const std::string& name);
  /// Errors: std::invalid_argument if the name is not registered.
  [[nodiscard]] call_target find(const std::string& name, std::string_view key) const;

 private:
  troupe::system& system_;
  const log_sink log_;
  const std::shared_ptr<detail::shared_state> shared_;
  mutable mutex mutex_;  // guards the members below
  std::map<std::string, finder, std::less<>> known_;
  std::vector<std::weak_ptr<const detail::application_core>> shown_;
};

}  // namespace troupe::lua
