// SPDX-License-Identifier: Apache-2.0

#include "shared_topics.hpp"

#include <mutex>

namespace troupe::lua::detail {

std::optional<shared_topics::topic> shared_topics::join(const std::string& name,
                                                        std::string_view application) {
  const std::lock_guard lock(mutex_);
  auto found = all_.find(name);
  if (found == all_.end()) {
    if (!made_.take(application, 1)) return std::nullopt;
    try {
      entry fresh;
      fresh.application = application;
      found = all_.emplace(name, std::move(fresh)).first;
    } catch (...) {
      made_.give_back(application, 1);
      throw;
    }
  }
  ++found->second.users;
  return found->second.its;
}

void shared_topics::leave(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(name);
  if (found == all_.end() || --found->second.users != 0) return;
  made_.give_back(found->second.application, 1);
  all_.erase(found);
}

std::optional<shared_topics::topic> shared_topics::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(name);
  if (found == all_.end()) return std::nullopt;
  return found->second.its;
}

std::size_t shared_topics::count() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

}  // namespace troupe::lua::detail
