// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/system.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/detail/actor/incarnations.hpp>

#include "blocking_pools.hpp"
#include "runtime.hpp"

namespace troupe {

system::system(system_options options)
    : shutdown_deadline_(options.shutdown_deadline),
      hang_deadline_(options.hang_deadline),
      on_hang_(options.on_hang),
      runtime_(&detail::runtime::open(*this, std::move(options))) {}

// Shuts the system down. False, with a message on stderr, if the deadline passes or there is no
// memory to find out.
bool system::ends_within(duration deadline, const char* which, bool discards) noexcept {
  try {
    const shutdown_report report = discards ? shutdown_now(deadline) : shutdown(deadline);
    if (discards) {
      std::fprintf(stderr, "troupe: %llu messages were discarded\n",
                   static_cast<unsigned long long>(report.discarded));
    }
    if (report.complete()) return true;
    std::fprintf(stderr, "troupe: %s has passed; %s:\n%s", which,
                 discards ? "the system waits for these actors to terminate"
                          : "the messages of these actors are discarded",
                 to_string(report).c_str());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "troupe: the system has not shut down within its %s; there is no memory to list "
                 "the remaining actors\n",
                 which);
  }
  return false;
}

system::~system() {
  if (runtime_->is_forked()) return;  // its threads are the parent's
  if (!ends_within(shutdown_deadline_, "shutdown_deadline", false)) {
    bool is_over = ends_within(hang_deadline_, "hang_deadline", true);
    while (!is_over) {
      if (on_hang_ == hang_policy::terminate) std::terminate();
      is_over = ends_within(duration::max(), "hang_deadline", true);
    }
  }
  runtime_->close();
}

shutdown_report system::shutdown(duration deadline) {
  return runtime_->shutdown(deadline, detail::backlog::handled);
}

shutdown_report system::shutdown_now(duration deadline) {
  return runtime_->shutdown(deadline, detail::backlog::discarded);
}

bool system::is_stopping() const noexcept { return runtime_->stopping(); }

void system::join_all() { (void)join_all_until(time_point::max()); }

bool system::join_all_until(time_point deadline) { return runtime_->join_all(deadline); }

statistics system::statistics() const {
  runtime_->check_threads("statistics are not available");
  troupe::statistics all = runtime_->statistics();
  all.blocking_pools = detail::statistics_of_blocking_pools(*runtime_->owner());
  return all;
}

std::vector<system::overloaded_actor> system::overloaded_actors() const {
  runtime_->check_threads("nothing can be counted");
  return runtime_->overloaded_actors();
}

std::size_t system::collect_cycles() {
  runtime_->check_threads("no actor can terminate");
  return runtime_->cycles().collect();
}

std::vector<system::suspect> system::unreachable_suspects() {
  runtime_->check_threads("no actor can be looked at");
  return runtime_->cycles().suspects();
}

std::string to_string(const shutdown_report& report) {
  std::string text;
  for (const shutdown_report::straggler& each : report.stragglers) {
    text += "  " + each.name + " (" + to_string(each.who) + "): " + each.doing;
    if (each.waiting != 0)
      text += "; at most " + std::to_string(each.waiting) + " messages waiting";
    text += "\n";
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
    : is_refused_(home.stopping()),
      block_(is_refused_ ? &home.make_ended(type, options)
                         : &home.make_actor(type, options, nullptr)),
      scope_(*block_) {}

spawning::~spawning() {
  if (block_ == nullptr) return;
  block_->abandon(exit_reason::failed);
  block_->let_go();
}

control_block* spawning::finish() {
  control_block* const block = std::exchange(block_, nullptr);
  if (is_refused_) return block;
  block->started();
  if (block->home().stopping()) {
    try {
      block->stop();
    } catch (...) {
      block->let_go();  // no memory even for that: it terminates as unreachable
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
  if (block.in_life() != phase::ended) home.check_threads("no actor can terminate");
  if (this_turn().running != nullptr) {
    const std::string who(this_turn().running->name());
    if (this_turn().running == &block) {
      throw std::logic_error(who + " would wait in join() for its own termination: use stop()");
    }
    if (!this_turn().running->runs_on().may_block()) {
      throw std::logic_error("join() in a handler of " + who +
                             " would block a thread that it shares with other actors: use watch()");
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
