// SPDX-License-Identifier: Apache-2.0

// How another version takes over in an instance.

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "instance.hpp"

namespace troupe::lua::detail {

void instance::on(detail::prepare&& m, reply<upgraded> owed) {
  if (programs_.retired() >= succession::retired_max) {
    owed.set_value(upgraded{
        "handlers of " + std::to_string(succession::retired_max) +
        " earlier versions are still waiting; they fail after upgrade_timeout at the latest"});
    return;
  }
  try {
    auto next = std::unique_ptr<program>(new program(*this, std::move(m.version), *this));
    if (next->kind() != current().kind()) {
      owed.set_value(upgraded{"the kind of the application has changed, which requires a restart"});
      return;
    }
    programs_.prepare(std::move(next), std::move(owed));
  } catch (const std::exception& e) {
    owed.set_value(upgraded{e.what()});
  }
  handled();
}

upgraded instance::on(const detail::take_over& m) {
  if (clock::now() > m.until) {
    programs_.abandon("the upgrade was not prepared in time");
    handled();
    return {"the instance was busy for longer than upgrade_timeout"};
  }
  const unsigned before = current().its_version()->number;
  upgraded result{programs_.take_over()};
  if (result.why_not.empty()) {
    memory_failures_ = 0;
    core_->set_version(number_, current().its_version());
    self(this).send_after(current().its_version()->limits.upgrade_timeout, overdue{before});
    run();
  }
  handled();
  return result;
}

void instance::on(const detail::abandon&) {
  programs_.abandon("the upgrade has been abandoned");
  handled();
}

void instance::on(const overdue& m) {
  programs_.overdue(m.version);
  handled();
}

}  // namespace troupe::lua::detail
