// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <troupe/http/figures.hpp>
#include <troupe/lua/shared.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/troupe.hpp>

#include "script_metrics.hpp"
#include "shared_queues.hpp"
#include "shared_store.hpp"
#include "shared_topics.hpp"
#include "topic_members.hpp"

namespace troupe::lua::detail {

/// The state that the applications of a community share
/// (docs/decisions/0025-shared-state-of-applications.md).
///
/// Threads: any.
class shared_state : public std::enable_shared_from_this<shared_state> {
 public:
  /// Without a system, no timer frees expired entries.
  shared_state(troupe::system* on, const shared_limits& allowed);

  [[nodiscard]] shared_topics& topics() noexcept { return topics_; }
  [[nodiscard]] detail::topic_members& topic_members() noexcept { return topic_members_; }
  [[nodiscard]] shared_queues& queues() noexcept { return queues_; }
  [[nodiscard]] script_metrics& metrics() noexcept { return metrics_; }
  [[nodiscard]] shared_store& store() noexcept { return store_; }
  /// Returns the application's own store. It lives as long as this object.
  [[nodiscard]] shared_store& store_of(const std::string& application, const store_options& bounds);

  /// To be called after an entry with an expiry time was put into a store. Schedules a sweep that
  /// frees it.
  void expires_something();

  void published(const publication& done);

  /// Appends the figures of all shared state.
  void add_figures(std::vector<http::figure_family>& to) const;

 private:
  class keeper;
  struct sweep {};

  bool sweep_all();

  troupe::system* const system_;
  shared_topics topics_;
  detail::topic_members topic_members_;
  shared_queues queues_;
  script_metrics metrics_;
  shared_store store_;

  mutable mutex mutex_;  // guards the members below
  std::map<std::string, std::unique_ptr<shared_store>> stores_;
  std::uint64_t values_accepted_ = 0;
  std::uint64_t values_refused_ = 0;

  mutex keeper_mutex_;  // guards the members below; mutex_ may be taken while it is held
  ref<keeper> keeper_;
  bool is_kept_ = false;  // a sweep is scheduled
};

}  // namespace troupe::lua::detail
