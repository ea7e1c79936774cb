// SPDX-License-Identifier: Apache-2.0

#include "application_state.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "community_state.hpp"
#include "instance.hpp"

namespace troupe::lua::detail {
namespace {

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

bool is_key(std::string_view key) {
  return key.empty() || key == "path" || (key.starts_with("query:") && key.size() > 6) ||
         (key.starts_with("header:") && key.size() > 7);
}

[[noreturn]] void refuse(const std::string& application, const std::string& what) {
  throw application_error("application '" + application + "': " + what);
}

application_options checked(application_options its) {
  if (!is_name(its.name)) {
    throw application_error(
        "'" + its.name +
        "' is not a valid application name; allowed are 1 to 64 letters, digits, '-' and '_'");
  }
  if (its.instances < 1 || its.instances > 1'024) {
    refuse(its.name, "instances is " + std::to_string(its.instances) + "; allowed are 1 to 1024");
  }
  if (!is_key(its.key)) {
    refuse(its.name,
           "key is '" + its.key + "'; allowed are 'query:NAME', 'header:NAME' and 'path'");
  }
  its.limits = checked_limits(its.name, its.limits);
  return its;
}

}  // namespace

limits checked_limits(const std::string& application, const limits& its) {
  const auto at_least = [&](const char* name, auto value, auto least) {
    if (value < least) {
      refuse(application, std::string(name) + " is " + std::to_string(value) + "; the minimum is " +
                              std::to_string(least));
    }
  };
  at_least("memory_bytes", its.memory_bytes, std::size_t{256 * 1024});
  at_least("run_timeout in ms", its.run_timeout.count(), std::int64_t{1});
  at_least("mailbox_messages", its.mailbox_messages, std::size_t{1});
  at_least("mailbox_bytes", its.mailbox_bytes, std::size_t{1'024});
  at_least("upgrade_timeout in ms", its.upgrade_timeout.count(), std::int64_t{1});
  return its;
}

application_core::application_core(const community& among, application_options options)
    : options_(checked(std::move(options))),
      among_(among.its_state()),
      outgoing_(among_->system(), options_) {
  const auto first = std::make_shared<const application_version>(1U, script_folder(options_.from),
                                                                 options_.limits, options_.config);
  versions_.assign(options_.instances, first);
  for (unsigned i = 0; i < options_.instances; ++i) {
    counts_.push_back(std::make_unique<instance_counts>());
  }
}

void application_core::set_instances(std::vector<ref<instance>> all) {
  instances_ = std::move(all);
}

unsigned application_core::instance_for(const http::request& asked) const {
  if (options_.instances == 1) return 1;
  const std::string& key = options_.key;
  if (key.empty()) {
    const auto least = std::min_element(
        counts_.begin(), counts_.end(),
        [](const auto& a, const auto& b) { return a->assigned.get() < b->assigned.get(); });
    return static_cast<unsigned>(least - counts_.begin()) + 1;
  }
  if (key == "path") return instance_for(asked.target());
  if (key.starts_with("query:")) return instance_for(asked.parameter(key.substr(6)).value_or(""));
  return instance_for(asked.header(key.substr(7)));
}

unsigned application_core::instance_for(std::string_view key) const {
  return static_cast<unsigned>(std::hash<std::string_view>{}(key) % options_.instances) + 1;
}

std::shared_ptr<const application_version> application_core::version(unsigned instance) const {
  const std::lock_guard lock(mutex_);
  return versions_[instance - 1];
}

void application_core::set_version(unsigned instance,
                                   std::shared_ptr<const application_version> now) {
  counts(instance).upgrades.add();
  const std::lock_guard lock(mutex_);
  versions_[instance - 1] = std::move(now);
}

void application_core::started(const std::string& why_not) noexcept {
  if (!why_not.empty()) {
    const std::lock_guard lock(mutex_);
    if (why_not_.empty()) why_not_ = why_not;
  }
  starts_.post();
}

std::string application_core::await_starts(time_point deadline) {
  for (unsigned i = 0; i < options_.instances; ++i) {
    const bool told = starts_.wait_until(deadline) == wait_result::taken;
    const std::lock_guard lock(mutex_);
    if (!why_not_.empty()) return why_not_;
    if (!told) return "on_start did not return in time";
  }
  return {};
}

application_statistics application_core::statistics() const {
  application_statistics all;
  for (const auto& each : counts_) {
    all.clients += each->clients.get();
    all.waiting += each->waiting.get();
    all.memory_bytes += each->memory.get();
    all.clients_ever += each->clients_ever.get();
    all.messages_in += each->messages_in.get();
    all.messages_out += each->messages_out.get();
    all.calls += each->calls.get();
    all.failures += each->failures.get();
    all.out_of_time += each->out_of_time.get();
    all.out_of_memory += each->out_of_memory.get();
    all.malformed += each->malformed.get();
    all.overloaded += each->overloaded.get();
    all.connections += each->connections.get();
    all.fetched += each->fetched.get();
    all.outgoing_failures += each->outgoing_failures.get();
    all.upgrades += each->upgrades.get();
    const std::uint64_t starts = each->starts.get();
    all.restarts += starts > 0 ? starts - 1 : 0;
  }
  return all;
}

void application_core::log(severity how, unsigned which, std::string_view text) const noexcept {
  among_->log({.how = how, .application = options_.name, .instance = which, .text = text});
}

}  // namespace troupe::lua::detail
