// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <troupe/supervision/topic.hpp>

#include "notifier.hpp"
#include "shared_state.hpp"

namespace troupe::lua::detail {

struct client;

/// The part of one instance in the shared state. The places of a client are removed with the
/// client, and all of this with the instance.
///
/// Threads: the instance's turns.
class instance_memberships {
 public:
  /// The number of topics that one client may follow or be present in.
  static constexpr std::size_t topics_max = 1'000;
  /// The size of the metadata of one present client.
  static constexpr std::size_t meta_bytes_max = 4'096;

  using subscribing = std::function<subscription(const shared_topics::topic&)>;

  instance_memberships(std::shared_ptr<shared_state> all, const std::string& application,
                       unsigned instance, const store_options& store, notifier telling,
                       subscribing how);
  instance_memberships(const instance_memberships&) = delete;
  instance_memberships& operator=(const instance_memberships&) = delete;
  ~instance_memberships();

  [[nodiscard]] shared_state& all() noexcept { return *all_; }
  [[nodiscard]] shared_store& store() noexcept { return store_; }
  [[nodiscard]] const std::string& application() const noexcept { return application_; }
  [[nodiscard]] const notifier& telling() const noexcept { return telling_; }
  [[nodiscard]] std::string crowd(std::string_view topic) const {
    return topic_members::name_of(application_, topic);
  }

  // ── Clients ─────────────────────────────────────────────────────────────────────────────────
  enum class outcome : std::uint8_t { done, was_so, full, too_many };
  outcome join(std::string_view topic, const client& who);
  bool leave(std::string_view topic, std::uint64_t client);
  outcome track(std::string_view topic, std::uint64_t client, std::string meta);
  bool untrack(std::string_view topic, std::uint64_t client);
  /// Removes the client from all topics.
  void gone(std::uint64_t client);

  // ── Values ──────────────────────────────────────────────────────────────────────────────────
  /// Returns false if there are too many topics. unsubscribe() must be called once for each
  /// subscribe().
  bool subscribe(const std::string& topic);
  void unsubscribe(const std::string& topic);
  /// Returns the number of instances that it reached.
  std::size_t publish(std::string_view topic, std::string value);

 private:
  struct place {
    bool follows = false;
    bool is_present = false;
  };
  using places = std::map<std::string, place, std::less<>>;

  // Returns null if the client is in too many topics.
  place* place_of(std::string_view topic, std::uint64_t client);
  void tidy(std::string_view topic, std::uint64_t client);

  const std::shared_ptr<shared_state> all_;
  const std::string application_;
  const unsigned instance_;
  shared_store& store_;
  const notifier telling_;
  const subscribing subscribe_;
  std::unordered_map<std::uint64_t, places> places_;
  struct subscribed {
    subscription its;
    std::size_t times = 0;
  };
  std::map<std::string, subscribed> subscriptions_;
};

}  // namespace troupe::lua::detail
