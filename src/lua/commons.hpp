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

#include "crowds.hpp"
#include "script_metrics.hpp"
#include "shared_queues.hpp"
#include "shared_store.hpp"
#include "shared_topics.hpp"

namespace troupe::lua::detail {

/// What the applications of a community share (docs/decisions/0025-shared-state-of-applications.md).
///
/// Threads: any.
class commons : public std::enable_shared_from_this<commons> {
 public:
  /// Without a system nothing is freed by time alone.
  commons(troupe::system* on, const shared_limits& allowed);

  [[nodiscard]] shared_topics& topics() noexcept { return topics_; }
  [[nodiscard]] detail::crowds& crowds() noexcept { return crowds_; }
  [[nodiscard]] shared_queues& queues() noexcept { return queues_; }
  [[nodiscard]] script_metrics& metrics() noexcept { return metrics_; }
  [[nodiscard]] shared_store& store() noexcept { return store_; }
  /// The one that an application has for itself. It stays as long as this.
  [[nodiscard]] shared_store& store_of(const std::string& application, const store_options& bounds);

  /// To be called after something has been put into a store that will expire: it will be freed when it has.
  void expires_something();

  void published(const publication& done);

  /// Appends what all of it has and has done.
  void add_figures(std::vector<http::figure_family>& to) const;

 private:
  class keeper;
  struct sweep {};

  bool sweep_all();

  troupe::system* const system_;
  shared_topics topics_;
  detail::crowds crowds_;
  shared_queues queues_;
  script_metrics metrics_;
  shared_store store_;

  mutable mutex mutex_;  // guards what follows
  std::map<std::string, std::unique_ptr<shared_store>> stores_;
  std::uint64_t values_accepted_ = 0;
  std::uint64_t values_refused_ = 0;

  mutex keeper_mutex_;  // guards what follows; the one above is taken within it
  ref<keeper> keeper_;
  bool is_kept_ = false;  // a sweep is to come
};

}  // namespace troupe::lua::detail
