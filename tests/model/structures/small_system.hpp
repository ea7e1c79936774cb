// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/check.hpp>
#include <cstdint>
#include <string>
#include <troupe/troupe.hpp>

#include "base/accounts.hpp"

// Common definitions of the checks of whole systems.

namespace troupe {

/// Actors, groups of mailboxes and systems check their counts when they terminate, in every body.
inline const bool accounts_are_checked = [] {
  detail::unsettled_account = [](const char* account, std::int64_t left) {
    model::require(false, std::string(account) + ": " + std::to_string(left) + " left");
  };
  return true;
}();

/// A system whose destruction waits forever for its actors, because any other deadline may pass at
/// any time. Its workers are not watched: replacing_test.cpp checks that for a pool alone.
inline system_options small(unsigned workers = 1) {
  system_options options;
  options.workers = workers;
  options.blocking_threshold = duration::zero();
  options.shutdown_deadline = duration::max();
  return options;
}

struct add {
  int by;
};

/// The work of an actor, for inspection by code that is ordered after it.
struct record {
  model::plain<int> sum{0};
  model::plain<int> ends{0};
};

class counter : public actor {
 public:
  explicit counter(record& done) : done_(done) {}
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;
  ~counter() { done_.ends = done_.ends + 1; }
  void on(add m) { done_.sum = done_.sum + m.by; }

 private:
  record& done_;
};

}  // namespace troupe
