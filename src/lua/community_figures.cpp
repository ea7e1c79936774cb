// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "application_state.hpp"
#include "community_state.hpp"
#include "figure_list.hpp"

namespace troupe::lua {
namespace {

using detail::figure_list;
using http::figure_type;
using counted = std::pair<std::string, application_statistics>;

void add_applications(figure_list& to, const std::vector<counted>& all) {
  using one = application_statistics;
  const auto add = [&](const char* name, const char* help, figure_type type,
                       std::uint64_t one::*which) {
    auto family = to.add(name, help, type);
    for (const auto& [application, its] : all) {
      family.add(its.*which, {{"application", application}});
    }
  };
  add("troupe_application_clients", "Clients of an application.", figure_type::gauge,
      &one::clients);
  add("troupe_application_waiting", "Suspended handlers of an application.", figure_type::gauge,
      &one::waiting);
  add("troupe_application_memory_bytes", "Bytes used by the Lua states of an application.",
      figure_type::gauge, &one::memory_bytes);
  add("troupe_application_clients_total", "Clients connected to an application since its start.",
      figure_type::counter, &one::clients_ever);
  {
    auto messages =
        to.add("troupe_application_messages_total",
               "Messages from and to the clients of an application.", figure_type::counter);
    for (const auto& [application, its] : all) {
      messages.add(its.messages_in, {{"application", application}, {"direction", "in"}});
      messages.add(its.messages_out, {{"application", application}, {"direction", "out"}});
    }
  }
  add("troupe_application_calls_total",
      "Calls to an application from other applications and actors.", figure_type::counter,
      &one::calls);
  {
    auto failures =
        to.add("troupe_application_failures_total",
               "Handlers that failed because of an error or a limit.", figure_type::counter);
    for (const auto& [application, its] : all) {
      // A failure that is counted meanwhile may be in one number and not yet in the other.
      const std::uint64_t limits = its.out_of_time + its.out_of_memory;
      const std::uint64_t errors = its.failures - std::min(its.failures, limits);
      failures.add(errors, {{"application", application}, {"reason", "error"}});
      failures.add(its.out_of_time, {{"application", application}, {"reason", "run_timeout"}});
      failures.add(its.out_of_memory, {{"application", application}, {"reason", "memory"}});
    }
  }
  add("troupe_application_malformed_total", "Messages that violate the protocol.",
      figure_type::counter, &one::malformed);
  add("troupe_application_overloaded_total", "Messages refused because of a limit.",
      figure_type::counter, &one::overloaded);
  add("troupe_application_restarts_total", "Restarts of instances of an application.",
      figure_type::counter, &one::restarts);
  add("troupe_application_upgrades_total", "Instances upgraded to another version.",
      figure_type::counter, &one::upgrades);
  add("troupe_application_connections", "Open outgoing WebSockets of an application.",
      figure_type::gauge, &one::connections);
  add("troupe_application_fetched_total", "Outgoing HTTP requests of an application.",
      figure_type::counter, &one::fetched);
  add("troupe_application_outgoing_failures_total",
      "Failed outgoing requests and connections of an application.", figure_type::counter,
      &one::outgoing_failures);
}

}  // namespace

void community::state::show(std::weak_ptr<const detail::application_core> which) {
  const std::lock_guard lock(mutex_);
  std::erase_if(shown_, [](const auto& each) { return each.expired(); });
  shown_.push_back(std::move(which));
}

std::vector<http::figure_family> community::state::figures() const {
  std::vector<std::shared_ptr<const detail::application_core>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& each : shown_) {
      if (auto its = each.lock()) all.push_back(std::move(its));
    }
  }
  std::vector<counted> applications;
  for (const auto& each : all) {
    applications.emplace_back(each->options().name, each->statistics());
  }
  std::vector<http::figure_family> made;
  figure_list list(made);
  add_applications(list, applications);
  shared_->add_figures(made);
  return made;
}

}  // namespace troupe::lua
