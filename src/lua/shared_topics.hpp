// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <troupe/supervision/topic.hpp>
#include <troupe/sync/mutex.hpp>

#include "shares.hpp"

namespace troupe::lua::detail {

/// A published value, in CBOR.
struct topic_value {
  std::string topic;
  std::string value;

  [[nodiscard]] std::size_t owned_bytes() const noexcept {
    return topic.capacity() + value.capacity();
  }
};

/// The named topics to which applications publish and subscribe. A topic exists while it has a
/// subscriber.
///
/// Threads: any.
/// Cost:    a mutex.
class shared_topics {
 public:
  using topic = troupe::topic<topic_value>;

  /// `percent` is the share of the topics that one application may have created.
  explicit shared_topics(std::size_t most, unsigned percent = 100) : made_(most, percent) {}
  shared_topics(const shared_topics&) = delete;
  shared_topics& operator=(const shared_topics&) = delete;

  /// Adds a subscriber, which calls leave() at its end. Returns nothing if there are too many
  /// topics.
  [[nodiscard]] std::optional<topic> join(const std::string& name,
                                          std::string_view application = {});
  void leave(std::string_view name);

  /// Returns nothing if there are no subscribers.
  [[nodiscard]] std::optional<topic> find(std::string_view name) const;

  [[nodiscard]] std::size_t count() const;

 private:
  struct entry {
    topic its;
    std::string application = {};  // the application that created it
    std::size_t users = 0;
  };

  mutable mutex mutex_;  // guards the members below
  shares made_;
  std::map<std::string, entry, std::less<>> all_;
};

}  // namespace troupe::lua::detail
