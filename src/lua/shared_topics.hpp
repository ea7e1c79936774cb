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

namespace troupe::lua::detail {

/// A value that was published, in CBOR.
struct topic_value {
  std::string topic;
  std::string value;

  [[nodiscard]] std::size_t owned_bytes() const noexcept {
    return topic.capacity() + value.capacity();
  }
};

/// What applications publish and subscribe to by names. A topic is there while somebody is subscribed to it.
///
/// Threads: any.
/// Cost:    a mutex.
class shared_topics {
 public:
  using topic = troupe::topic<topic_value>;

  explicit shared_topics(std::size_t most) : most_(most) {}
  shared_topics(const shared_topics&) = delete;
  shared_topics& operator=(const shared_topics&) = delete;

  /// For one more subscriber, who calls leave() in the end. Nothing: there are too many.
  [[nodiscard]] std::optional<topic> join(const std::string& name);
  void leave(std::string_view name);

  /// Nothing: nobody is subscribed.
  [[nodiscard]] std::optional<topic> find(std::string_view name) const;

  [[nodiscard]] std::size_t count() const;

 private:
  struct entry {
    topic its;
    std::size_t users = 0;
  };

  const std::size_t most_;
  mutable mutex mutex_;  // guards what follows
  std::map<std::string, entry, std::less<>> all_;
};

}  // namespace troupe::lua::detail
