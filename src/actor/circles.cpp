// SPDX-License-Identifier: Apache-2.0
#include "circles.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include <troupe/actor/control_block.hpp>

namespace troupe::detail {

namespace {

std::string name_of(const address& who) {
  control_block* const held = control_block::hold(who);
  if (held == nullptr) return to_string(who);
  std::string name(held->name());
  held->let_go();
  return name;
}

}  // namespace

// What there is no memory for is not known: then a circle is not named.
void circles::begin(const address& who, const address& waits_for) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    waits_for_.insert_or_assign(who, waits_for);
  } catch (...) {
  }
}

void circles::end(const address& who) noexcept {
  const std::lock_guard lock(mutex_);
  waits_for_.erase(who);
}

void circles::clear() noexcept {
  const std::lock_guard lock(mutex_);
  waits_for_.clear();
}

std::unique_ptr<std::string> circles::find(const address& from) noexcept {
  try {
    std::vector<address> chain{from};
    {
      const std::lock_guard lock(mutex_);
      for (;;) {
        const auto next = waits_for_.find(chain.back());
        if (next == waits_for_.end()) return nullptr;
        const auto seen = std::find(chain.begin(), chain.end(), next->second);
        if (seen != chain.end()) {
          chain.erase(chain.begin(), seen);
          break;
        }
        chain.push_back(next->second);
      }
    }
    auto text = std::make_unique<std::string>(name_of(chain.front()));
    for (std::size_t i = 1; i <= chain.size(); ++i) {
      *text += i == 1 ? " waits for " : ", which waits for ";
      *text += name_of(chain[i % chain.size()]);
    }
    return text;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace troupe::detail
