// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/system.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/actor/incarnations.hpp>

#include "runtime.hpp"

namespace troupe {

system::system(system_options options)
    : shutdown_deadline_(options.shutdown_deadline),
      on_hang_(options.on_hang),
      runtime_(&detail::runtime::open(*this, std::move(options))) {}

system::~system() {
  shutdown_report report = shutdown(shutdown_deadline_);
  while (!report.complete()) {
    std::fprintf(stderr, "troupe: the system cannot end, these actors are still there:\n%s",
                 to_string(report).c_str());
    if (on_hang_ == hang_policy::terminate) std::terminate();
    report = shutdown(duration::max());
  }
  runtime_->close();
}

shutdown_report system::shutdown(duration deadline) { return runtime_->shutdown(deadline); }

statistics system::statistics() const { return runtime_->statistics(); }

std::vector<system::overloaded_actor> system::overloaded_actors() const {
  return runtime_->overloaded_actors();
}

std::size_t system::collect_cycles() { return runtime_->cycles().collect(); }

std::vector<system::suspect> system::unreachable_suspects() {
  return runtime_->cycles().suspects();
}

std::string to_string(const shutdown_report& report) {
  std::string text;
  for (const shutdown_report::straggler& each : report.stragglers) {
    text += "  " + each.name + " (" + to_string(each.who) + "): " + each.doing + "\n";
  }
  return text;
}

std::string_view to_string(delivery what) noexcept {
  switch (what) {
    case delivery::accepted:
      return "accepted";
    case delivery::paused:
      return "paused";
    case delivery::refused:
      return "refused";
    case delivery::dropped:
      return "dropped";
  }
  return "refused";
}

std::string_view to_string(ask_error error) noexcept {
  switch (error) {
    case ask_error::timeout:
      return "timeout";
    case ask_error::stopped:
      return "stopped";
    case ask_error::refused:
      return "refused";
    case ask_error::failed:
      return "failed";
    case ask_error::unanswered:
      return "unanswered";
  }
  return "unanswered";
}

std::string_view to_string(exit_reason reason) noexcept {
  switch (reason) {
    case exit_reason::unknown:
      return "unknown";
    case exit_reason::stopped:
      return "stopped";
    case exit_reason::stopped_now:
      return "stopped_now";
    case exit_reason::unreachable:
      return "unreachable";
    case exit_reason::failed:
      return "failed";
    case exit_reason::link_broken:
      return "link_broken";
  }
  return "unknown";
}

namespace detail {

spawning::spawning(runtime& home, const actor_type& type, const spawn_options* options)
    : block_(&home.make_actor(type, options, nullptr)), scope_(*block_) {}

spawning::~spawning() {
  if (block_ == nullptr) return;
  block_->abandon();
  block_->let_go();
}

control_block* spawning::finish() {
  control_block* const block = std::exchange(block_, nullptr);
  block->started();
  if (block->home().stopping()) {
    try {
      block->stop();
    } catch (...) {
      block->let_go();  // no memory even for that: it ends as unreachable
      throw;
    }
  }
  return block;
}

exit_reason join(control_block& block) {
  (void)join_until(block, time_point::max());
  return block.reason();
}

std::optional<exit_reason> join_until(control_block& block, time_point deadline) {
  const bool forever = deadline == time_point::max();
  runtime& home = block.home();
  if (this_turn().running != nullptr) {
    const std::string who(this_turn().running->name());
    if (this_turn().running == &block) {
      throw std::logic_error(who + " would wait in join() for its own end: use stop()");
    }
    if (!this_turn().running->runs_on().may_block()) {
      throw std::logic_error("join() in a handler of " + who +
                             " would hold up the thread that it shares: use watch()");
    }
  } else if (bound_executor* const mine = home.pump_of_this_thread();
             mine != nullptr && &block.runs_on() == mine) {
    const auto ended = [&] { return block.in_life() == phase::ended; };
    if (!mine->run_until(ended, forever ? nullptr : &deadline)) return {};
    return block.reason();
  }
  if (!block.wait_for_end(forever ? nullptr : &deadline)) return {};
  return block.reason();
}

}  // namespace detail
}  // namespace troupe
