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

/// A number that several threads increment; see application_statistics. No other data depends on
/// it.
class counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.fetch_add(n, relaxed);
  }  // [count] relaxed: only a number; it orders nothing
  void subtract(std::uint64_t n = 1) noexcept {
    value_.fetch_sub(n, relaxed);
  }                                                                 // [count] relaxed: as above
  void set(std::uint64_t n) noexcept { value_.store(n, relaxed); }  // [count] relaxed: as above
  /// Returns the new number.
  std::uint64_t add_one() noexcept {
    return value_.fetch_add(1, relaxed) + 1;
  }  // [count] relaxed: as above
  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(relaxed);
  }  // [count] relaxed: as above

 private:
  atomic<std::uint64_t> value_{0};
};

/// The numbers of one instance, over all of its incarnations.
struct instance_counts {
  counter assigned;  // connections assigned to it, from the moment it was chosen
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

/// Checks the limits of an application and returns them unchanged. Errors: application_error if one
/// is invalid.
[[nodiscard]] limits checked_limits(const std::string& application, const limits& its);

/// The state that the instances and the sessions of an application share.
///
/// Threads: any. The instances are set once, before the first session exists.
class application_core {
 public:
  application_core(const community& among, application_options options);

  [[nodiscard]] const application_options& options() const noexcept { return options_; }
  /// Returns the version from which the next incarnation of an instance is made. Threads: any.
  [[nodiscard]] std::shared_ptr<const application_version> version(unsigned instance) const;
  void set_version(unsigned instance, std::shared_ptr<const application_version> now);
  [[nodiscard]] const std::shared_ptr<community::state>& among() const noexcept { return among_; }
  [[nodiscard]] instance_counts& counts(unsigned instance) noexcept {
    return *counts_[instance - 1];
  }

  /// Returns the instance to which a connection with this request belongs, counted from 1.
  [[nodiscard]] unsigned instance_for(const http::request& asked) const;
  /// Returns the instance that is responsible for a key.
  [[nodiscard]] unsigned instance_for(std::string_view key) const;
  [[nodiscard]] const ref<instance>& at(unsigned number) const { return instances_[number - 1]; }
  void set_instances(std::vector<ref<instance>> all);

  /// Returns ids that begin at 1.
  [[nodiscard]] std::uint64_t next_client() noexcept { return clients_.add_one(); }
  /// An instance reports that it has started, or why it could not.
  void started(const std::string& why_not) noexcept;
  /// Waits until every instance has started or one has failed. Returns the reason of the failure;
  /// empty if all have started.
  [[nodiscard]] std::string await_starts(time_point deadline);

  /// Returns the client through which scripts make outgoing connections. Errors: as
  /// outgoing_client::get().
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
  mutable mutex mutex_;                                               // guards the members below
  std::vector<std::shared_ptr<const application_version>> versions_;  // by instance
  std::string why_not_;  // reason of the first instance that could not start
};

}  // namespace troupe::lua::detail
