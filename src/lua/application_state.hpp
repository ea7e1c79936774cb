// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/request.hpp>
#include <troupe/lua/application.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/semaphore.hpp>
#include <troupe/troupe.hpp>

#include "outgoing_client.hpp"
#include "version.hpp"

namespace troupe::lua::detail {

class instance;

/// A number that several threads count up; see application_statistics. Nothing depends on it.
class counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.fetch_add(n, relaxed);
  }  // [count] relaxed: a number alone
  void subtract(std::uint64_t n = 1) noexcept {
    value_.fetch_sub(n, relaxed);
  }                                                                 // [count] relaxed: as above
  void set(std::uint64_t n) noexcept { value_.store(n, relaxed); }  // [count] relaxed: as above
  /// Returns the number then.
  std::uint64_t add_one() noexcept {
    return value_.fetch_add(1, relaxed) + 1;
  }  // [count] relaxed: as above
  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(relaxed);
  }  // [count] relaxed: as above

 private:
  atomic<std::uint64_t> value_{0};
};

/// Of one instance, for all of its incarnations.
struct instance_counts {
  counter assigned;  // connections that belong to it, from the moment when it was chosen
  counter clients;
  counter waiting;
  counter memory;
  counter clients_ever;
  counter messages_in;
  counter messages_out;
  counter calls;
  counter failures;
  counter out_of_time;
  counter out_of_memory;
  counter malformed;
  counter overloaded;
  counter starts;
  counter upgrades;
  counter connections;
  counter fetched;
  counter outgoing_failures;
};

/// Errors: application_error if one of them cannot be. Returns them as they are.
[[nodiscard]] limits checked_limits(const std::string& application, const limits& its);

/// What the instances and the sessions of an application share.
///
/// Threads: any; instances are set once, before there are sessions.
class application_core {
 public:
  application_core(const community& among, application_options options);

  [[nodiscard]] const application_options& options() const noexcept { return options_; }
  /// What the next incarnation of an instance is made of. Threads: any.
  [[nodiscard]] std::shared_ptr<const application_version> version(unsigned instance) const;
  void set_version(unsigned instance, std::shared_ptr<const application_version> now);
  [[nodiscard]] const std::shared_ptr<community::state>& among() const noexcept { return among_; }
  [[nodiscard]] instance_counts& counts(unsigned instance) noexcept {
    return *counts_[instance - 1];
  }

  /// Which instance, from 1 on, has connections with this request.
  [[nodiscard]] unsigned instance_for(const http::request& asked) const;
  /// Which one has what belongs to a key.
  [[nodiscard]] unsigned instance_for(std::string_view key) const;
  [[nodiscard]] const ref<instance>& at(unsigned number) const { return instances_[number - 1]; }
  void set_instances(std::vector<ref<instance>> all);

  /// From 1 on.
  [[nodiscard]] std::uint64_t next_client() noexcept { return clients_.add_one(); }
  /// An instance says that it has started, or why not.
  void started(const std::string& why_not) noexcept;
  /// Waits until as many have said so as there are instances, or one has failed. Returns why; empty: all is well.
  [[nodiscard]] std::string await_starts(time_point deadline);

  /// What scripts connect by. Errors: as outgoing_client::get().
  [[nodiscard]] ref<http::client> client() { return outgoing_.get(); }
  void end_client() noexcept { outgoing_.end(); }

  [[nodiscard]] application_statistics statistics() const;
  void log(severity how, unsigned which, std::string_view text) const noexcept;

 private:
  const application_options options_;
  const std::shared_ptr<community::state> among_;
  std::vector<std::unique_ptr<instance_counts>> counts_;
  std::vector<ref<instance>> instances_;
  counter clients_;
  outgoing_client outgoing_;
  semaphore starts_;
  mutable mutex mutex_;                                               // guards what follows
  std::vector<std::shared_ptr<const application_version>> versions_;  // of each instance
  std::string why_not_;  // of the first that could not start
};

}  // namespace troupe::lua::detail
