// SPDX-License-Identifier: Apache-2.0

#include "instance_memberships.hpp"

#include <new>
#include <optional>
#include <utility>

#include "program_host.hpp"

namespace troupe::lua::detail {

instance_memberships::instance_memberships(std::shared_ptr<shared_state> all,
                                           const std::string& application, unsigned instance,
                                           const store_options& store, notifier telling,
                                           subscribing how)
    : all_(std::move(all)),
      application_(application),
      instance_(instance),
      store_(all_->store_of(application, store)),
      telling_(std::move(telling)),
      subscribe_(std::move(how)) {}

instance_memberships::~instance_memberships() {
  while (!places_.empty()) {
    try {
      gone(places_.begin()->first);
    } catch (const std::bad_alloc&) {
      // The client has left; watchers may not be notified.
    }
  }
  for (const auto& [topic, its] : subscriptions_) {
    its.its.unsubscribe();
    all_->topics().leave(topic);
  }
}

// ── Clients ───────────────────────────────────────────────────────────────────────────────────

instance_memberships::place* instance_memberships::place_of(std::string_view topic,
                                                            std::uint64_t client) {
  places& its = places_[client];
  if (const auto found = its.find(topic); found != its.end()) return &found->second;
  if (its.size() >= topics_max) return nullptr;
  return &its[std::string(topic)];
}

// Removes entries that are empty.
void instance_memberships::tidy(std::string_view topic, std::uint64_t client) {
  const auto its = places_.find(client);
  if (its == places_.end()) return;
  const auto found = its->second.find(topic);
  if (found != its->second.end() && !found->second.follows && !found->second.is_present) {
    its->second.erase(found);
  }
  if (its->second.empty()) places_.erase(its);
}

instance_memberships::outcome instance_memberships::join(std::string_view topic,
                                                         const client& who) {
  place* const its = place_of(topic, who.id);
  if (its == nullptr) return outcome::too_many;
  follower fresh{.client = who.id, .socket = who.socket, .rpc = {}};
  if (who.rpc) fresh.rpc = who.rpc->as;
  const topic_members::joined did = all_->topic_members().join(crowd(topic), fresh);
  if (did != topic_members::joined::full) its->follows = true;
  tidy(topic, who.id);
  if (did == topic_members::joined::full) return outcome::full;
  return did == topic_members::joined::joined ? outcome::done : outcome::was_so;
}

bool instance_memberships::leave(std::string_view topic, std::uint64_t client) {
  const auto its = places_.find(client);
  if (its == places_.end()) return false;
  const auto found = its->second.find(topic);
  if (found == its->second.end() || !found->second.follows) return false;
  found->second.follows = false;
  tidy(topic, client);
  return all_->topic_members().leave(crowd(topic), client);
}

instance_memberships::outcome instance_memberships::track(std::string_view topic,
                                                          std::uint64_t client, std::string meta) {
  place* const its = place_of(topic, client);
  if (its == nullptr) return outcome::too_many;
  const topic_members::tracked did = all_->topic_members().track(
      crowd(topic), {.client = client, .instance = instance_, .meta = std::move(meta)});
  if (did != topic_members::tracked::full) its->is_present = true;
  tidy(topic, client);
  if (did == topic_members::tracked::full) return outcome::full;
  return did == topic_members::tracked::joined ? outcome::done : outcome::was_so;
}

bool instance_memberships::untrack(std::string_view topic, std::uint64_t client) {
  const auto its = places_.find(client);
  if (its == places_.end()) return false;
  const auto found = its->second.find(topic);
  if (found == its->second.end() || !found->second.is_present) return false;
  found->second.is_present = false;
  tidy(topic, client);
  return all_->topic_members().untrack(crowd(topic), client);
}

void instance_memberships::gone(std::uint64_t client) {
  auto its = places_.extract(client);
  if (!its) return;
  for (const auto& [topic, is] : its.mapped()) {
    const std::string name = crowd(topic);
    if (is.follows) all_->topic_members().leave(name, client);
    if (is.is_present) all_->topic_members().untrack(name, client);
  }
}

// ── Values ────────────────────────────────────────────────────────────────────────────────────

bool instance_memberships::subscribe(const std::string& topic) {
  if (const auto found = subscriptions_.find(topic); found != subscriptions_.end()) {
    ++found->second.times;
    return true;
  }
  const std::optional<shared_topics::topic> its = all_->topics().join(topic, application_);
  if (!its) return false;
  subscriptions_[topic] = {subscribe_(*its), 1};
  return true;
}

void instance_memberships::unsubscribe(const std::string& topic) {
  const auto found = subscriptions_.find(topic);
  if (found == subscriptions_.end() || --found->second.times != 0) return;
  found->second.its.unsubscribe();
  subscriptions_.erase(found);
  all_->topics().leave(topic);
}

std::size_t instance_memberships::publish(std::string_view topic, std::string value) {
  const std::optional<shared_topics::topic> its = all_->topics().find(topic);
  if (!its) return 0;
  const publication done =
      its->publish(topic_value{.topic = std::string(topic), .value = std::move(value)});
  all_->published(done);
  return done.reached();
}

}  // namespace troupe::lua::detail
