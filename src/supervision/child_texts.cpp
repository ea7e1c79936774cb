// SPDX-License-Identifier: Apache-2.0
#include "child_texts.hpp"

#include <chrono>
#include <string>

#include <troupe/actor/control_block.hpp>

namespace troupe {

std::string_view to_string(child_status::state what) noexcept {
  switch (what) {
    case child_status::state::waiting:
      return "waiting";
    case child_status::state::starting:
      return "starting";
    case child_status::state::running:
      return "running";
    case child_status::state::stopping:
      return "stopping";
    case child_status::state::ended:
      return "ended";
  }
  return "ended";
}

namespace detail {

namespace {

std::string its_child(const child_state& child) { return "its child \"" + child.spec.name() + '"'; }

std::string in_milliseconds(duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
         " ms";
}

std::string doing(const child_state& child) {
  const dispatch* const what = child.block->handling();
  return what != nullptr ? "; it is in " + std::string(what->message) : std::string();
}

child_status::state state_of(const child_state& child) noexcept {
  switch (child.now) {
    case child_state::state::between:
      return child_status::state::waiting;
    case child_state::state::starting:
      return child_status::state::starting;
    case child_state::state::running:
      return child_status::state::running;
    case child_state::state::stopping:
      return child_status::state::stopping;
    case child_state::state::gone:
      break;
  }
  return child_status::state::ended;
}

}  // namespace

child_status status_of(const child_state& child) {
  return {child.spec.name(), child.who, state_of(child), child.restarts, child.what};
}

std::string too_many_failures(const child_state& child, const child_note& last,
                              const supervision& rules) {
  return its_child(child) + " terminated again (" + std::string(to_string(last.reason)) +
         (last.text.empty() ? "" : ": ") + last.text + ") after " +
         std::to_string(rules.max_restarts) + " restarts within " + in_milliseconds(rules.within);
}

std::string has_not_started(const child_state& child) {
  return its_child(child) + " has not started within " + in_milliseconds(child.spec.start_most()) +
         doing(child);
}

std::string has_not_stopped(const child_state& child) {
  return its_child(child) + " has not stopped within " + in_milliseconds(child.spec.stop_most()) +
         (child.told_now ? " after stop_now()" : "") + doing(child);
}

}  // namespace detail
}  // namespace troupe
