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

  /// `percent`: what one application may have made.
  explicit shared_topics(std::size_t most, unsigned percent = 100) : made_(most, percent) {}
  shared_topics(const shared_topics&) = delete;
  shared_topics& operator=(const shared_topics&) = delete;

  /// For one more subscriber, who calls leave() in the end. Nothing: there are too many.
  [[nodiscard]] std::optional<topic> join(const std::string& name,
                                          std::string_view application = {});
  void leave(std::string_view name);

  /// Nothing: nobody is subscribed.
  [[nodiscard]] std::optional<topic> find(std::string_view name) const;

  [[nodiscard]] std::size_t count() const;

 private:
  struct entry {
    topic its;
    std::string application = {};  // that has made it
    std::size_t users = 0;
  };

  mutable mutex mutex_;  // guards what follows
  shares made_;
  std::map<std::string, entry, std::less<>> all_;
};

}  // namespace troupe::lua::detail
