// SPDX-License-Identifier: Apache-2.0
#include "name_registry.hpp"

#include <stdexcept>
#include <string>

#include "actor/runtime.hpp"
#include "base/accounts.hpp"

namespace troupe::detail {

void name_entry::ended() noexcept { of.release(*this); }
void name_waiter::ended() noexcept { of.release(*this); }

void name_waiter::tell(const address& holder) noexcept {
  notice.content->who = holder;
  envelope& message = *std::exchange(notice.message, nullptr);
  if (!block.try_deliver(message)) message.how->discard(message);
}

// All actors of the system have terminated and no thread uses its names any more: so the tables are
// empty, and no mutex is needed.
name_registry::~name_registry() {
  if (unsettled_account == nullptr) return;
  std::size_t names = 0;
  std::size_t awaited = 0;
  for (const part& each : parts_) {
    names += each.names.size();
    awaited += each.waiting.size();
  }
  expect_settled("names of a system", static_cast<std::int64_t>(names));
  expect_settled("names that are waited for", static_cast<std::int64_t>(awaited));
}

void name_registry::check_home(control_block& of) const {
  if (of.home().owner() == &system_) return;
  throw std::logic_error("the actor " + std::string(of.name()) +
                         " belongs to another system than this troupe::registry");
}

void name_registry::release(name_entry& ended) noexcept {
  const std::unique_ptr<name_entry> own(&ended);
  part& its = part_of(ended.name);
  const std::lock_guard lock(its.guard);
  if (ended.in_table) its.names.erase(ended.name);
}

void name_registry::release(name_waiter& ended) noexcept {
  const std::unique_ptr<name_waiter> own(&ended);
  const std::string& name = ended.notice.content->name;
  part& its = part_of(name);
  const std::lock_guard lock(its.guard);
  if (!ended.in_table) return;
  const auto at = its.waiting.find(name);
  at->second.erase(ended.key);
  if (at->second.empty()) its.waiting.erase(at);
}

}  // namespace troupe::detail
