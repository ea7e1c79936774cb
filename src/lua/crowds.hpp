// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <troupe/http/websocket.hpp>
#include <troupe/sync/mutex.hpp>

#include "presence.hpp"
#include "shares.hpp"
#include "value_codec.hpp"

namespace troupe::lua::detail {

/// A client that follows a topic.
struct follower {
  std::uint64_t client = 0;
  http::websocket socket;
  std::optional<encoding> rpc;  // what it talks, if that is the protocol
};

/// What crowds have, and what they have done.
struct crowd_statistics {
  std::uint64_t topics = 0;   // at the moment
  std::uint64_t present = 0;  // at the moment
  std::uint64_t bytes = 0;    // of what is said about these
  std::uint64_t refused = 0;  // for want of room
  std::uint64_t dropped = 0;  // changes that somebody who watches has not been told of
};

/// Clients of an application by the topics that they follow or are present in, whatever their instance; and who watches
/// that. A crowd is there while it has one of these.
///
/// Threads:   any.
/// Invariant: who has been told that somebody has joined, or has begun to watch when he was there, is told once
///            that he has left.
/// Cost:      a mutex. The list of those who follow is copied when it is asked for, for the first time after a change.
class crowds {
 public:
  struct bounds {
    std::size_t topics = 0;
    std::size_t present = 0;
    std::size_t bytes = 0;   // of what is said about them
    unsigned percent = 100;  // of each, what one application may have
  };
  using followers = std::shared_ptr<const std::vector<follower>>;
  using attendees = std::vector<std::shared_ptr<const attendee>>;

  explicit crowds(const bounds& allowed)
      : made_(allowed.topics, allowed.percent),
        present_(allowed.present, allowed.percent),
        bytes_(allowed.bytes, allowed.percent) {}
  crowds(const crowds&) = delete;
  crowds& operator=(const crowds&) = delete;

  /// Of a topic of an application.
  [[nodiscard]] static std::string name_of(std::string_view application, std::string_view topic);

  enum class joined : std::uint8_t { joined, was_in, full };
  joined join(const std::string& crowd, const follower& who);
  bool leave(const std::string& crowd, std::uint64_t client);
  [[nodiscard]] bool has(const std::string& crowd, std::uint64_t client) const;
  [[nodiscard]] std::size_t count(const std::string& crowd) const;
  /// Null: nobody follows it.
  [[nodiscard]] followers all(const std::string& crowd);

  enum class tracked : std::uint8_t { joined, updated, full };
  tracked track(const std::string& crowd, attendee who);
  bool untrack(const std::string& crowd, std::uint64_t client);
  /// In the order of their numbers.
  [[nodiscard]] attendees present(const std::string& crowd) const;

  /// False: there are too many topics.
  bool watch(const std::string& crowd, const std::shared_ptr<presence_box>& who);
  void unwatch(const std::string& crowd, std::uint64_t box);

  [[nodiscard]] crowd_statistics statistics() const;

 private:
  struct presence_entry {
    std::shared_ptr<const attendee> who;
    std::vector<std::uint64_t> untold;  // boxes that had no room for its coming
  };
  struct crowd {
    std::map<std::uint64_t, follower> followers;
    crowds::followers listed;  // null if it has changed
    std::map<std::uint64_t, presence_entry> present;
    std::vector<std::shared_ptr<presence_box>> watching;
  };
  using table = std::unordered_map<std::string, crowd>;

  // All with the mutex.
  [[nodiscard]] crowd* made(const std::string& name);
  [[nodiscard]] const crowd* find(const std::string& name) const;
  void end_if_empty(table::iterator which);
  void tell(const std::string& name, crowd& its, presence_entry& of, presence_change what,
            to_be_told& whom);

  mutable mutex mutex_;  // guards what follows
  shares made_;
  table all_;
  shares present_;
  shares bytes_;  // of what is said about these
  std::uint64_t refused_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace troupe::lua::detail
