// SPDX-License-Identifier: Apache-2.0

#include <stdexcept>
#include <utility>

#include "community_state.hpp"

namespace troupe::lua {

community::community(troupe::system& on, log_sink log, const shared_limits& allowed)
    : state_(std::make_shared<state>(on, std::move(log), allowed)) {}

std::vector<http::figure_family> community::figures() const { return state_->figures(); }

void community::add_target(const std::string& name, call_target to) {
  if (!state_->add(name, [its = std::move(to)](std::string_view) { return its; })) {
    throw std::invalid_argument("the name '" + name + "' is taken by an application or an actor");
  }
}

bool community::state::add(const std::string& name, finder find) {
  const std::lock_guard lock(mutex_);
  return known_.emplace(name, std::move(find)).second;
}

void community::state::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  known_.erase(name);
}

call_target community::state::find(const std::string& name, std::string_view key) const {
  finder its;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(name);
    if (found == known_.end()) {
      throw std::invalid_argument("no application or actor is named '" + name + "'");
    }
    its = found->second;
  }
  return its(key);
}

}  // namespace troupe::lua
