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
  std::optional<encoding> rpc;  // the encoding, if it uses the protocol
};

/// The state of topic_members, and counts of its events.
struct topic_member_statistics {
  std::uint64_t topics = 0;   // current number
  std::uint64_t present = 0;  // current number
  std::uint64_t bytes = 0;    // of their metadata
  std::uint64_t refused = 0;  // because a limit was reached
  std::uint64_t dropped = 0;  // changes that a watcher was not notified of
};

/// The clients of an application, in all of its instances, by the topics that they follow or are
/// present in; and the watchers of those topics. A crowd exists while it has a follower, a present
/// client or a watcher.
///
/// Threads:   any.
/// Invariant: a watcher that was notified of a client's join, or began to watch while the client
///            was present, is notified exactly once that the client has left.
/// Cost:      a mutex. The list of followers is copied at the first request after a change.
class topic_members {
 public:
  struct bounds {
    std::size_t topics = 0;
    std::size_t present = 0;
    std::size_t bytes = 0;   // of the metadata of present clients
    unsigned percent = 100;  // of each limit, for one application
  };
  using followers = std::shared_ptr<const std::vector<follower>>;
  using attendees = std::vector<std::shared_ptr<const attendee>>;

  explicit topic_members(const bounds& allowed)
      : made_(allowed.topics, allowed.percent),
        present_(allowed.present, allowed.percent),
        bytes_(allowed.bytes, allowed.percent) {}
  topic_members(const topic_members&) = delete;
  topic_members& operator=(const topic_members&) = delete;

  /// The internal name of an application's topic.
  [[nodiscard]] static std::string name_of(std::string_view application, std::string_view topic);

  enum class joined : std::uint8_t { joined, was_in, full };
  joined join(const std::string& crowd, const follower& who);
  bool leave(const std::string& crowd, std::uint64_t client);
  [[nodiscard]] bool has(const std::string& crowd, std::uint64_t client) const;
  [[nodiscard]] std::size_t count(const std::string& crowd) const;
  /// Returns null if the topic has no followers.
  [[nodiscard]] followers all(const std::string& crowd);

  enum class tracked : std::uint8_t { joined, updated, full };
  tracked track(const std::string& crowd, attendee who);
  bool untrack(const std::string& crowd, std::uint64_t client);
  /// In the order of client ids.
  [[nodiscard]] attendees present(const std::string& crowd) const;

  /// Returns false if there are too many topics.
  bool watch(const std::string& crowd, const std::shared_ptr<presence_box>& who);
  void unwatch(const std::string& crowd, std::uint64_t box);

  [[nodiscard]] topic_member_statistics statistics() const;

 private:
  struct presence_entry {
    std::shared_ptr<const attendee> who;
    std::vector<std::uint64_t> untold;  // boxes without room for its join
  };
  struct crowd {
    std::map<std::uint64_t, follower> followers;
    topic_members::followers listed;  // null if it is outdated
    std::map<std::uint64_t, presence_entry> present;
    std::vector<std::shared_ptr<presence_box>> watching;
  };
  using table = std::unordered_map<std::string, crowd>;

  // All of these require the mutex.
  [[nodiscard]] crowd* made(const std::string& name);
  [[nodiscard]] const crowd* find(const std::string& name) const;
  void end_if_empty(table::iterator which);
  void tell(const std::string& name, crowd& its, presence_entry& of, presence_change what,
            pending_notifications& whom);

  mutable mutex mutex_;  // guards the members below
  shares made_;
  table all_;
  shares present_;
  shares bytes_;  // of the metadata of present clients
  std::uint64_t refused_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace troupe::lua::detail
