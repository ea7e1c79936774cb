// SPDX-License-Identifier: Apache-2.0

#include "topic_members.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace troupe::lua::detail {

// An application's name does not contain this character.
std::string topic_members::name_of(std::string_view application, std::string_view topic) {
  std::string name;
  name.reserve(application.size() + 1 + topic.size());
  name.append(application).append(1, '/').append(topic);
  return name;
}

namespace {

std::string_view application_of(std::string_view name) { return name.substr(0, name.find('/')); }

}  // namespace

// Returns null if there are too many topics.
topic_members::crowd* topic_members::made(const std::string& name) {
  const auto found = all_.find(name);
  if (found != all_.end()) return &found->second;
  if (!made_.take(application_of(name), 1)) {
    ++refused_;
    return nullptr;
  }
  try {
    return &all_[name];
  } catch (...) {
    made_.give_back(application_of(name), 1);
    throw;
  }
}

const topic_members::crowd* topic_members::find(const std::string& name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

void topic_members::end_if_empty(table::iterator which) {
  const crowd& its = which->second;
  if (!its.followers.empty() || !its.present.empty() || !its.watching.empty()) return;
  made_.give_back(application_of(which->first), 1);
  all_.erase(which);
}

// ── Following ─────────────────────────────────────────────────────────────────────────────────

topic_members::joined topic_members::join(const std::string& name, const follower& who) {
  const std::lock_guard lock(mutex_);
  crowd* const its = made(name);
  if (its == nullptr) return joined::full;
  if (!its->followers.emplace(who.client, who).second) return joined::was_in;
  its->listed.reset();
  return joined::joined;
}

bool topic_members::leave(const std::string& name, std::uint64_t client) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(name);
  if (found == all_.end() || found->second.followers.erase(client) == 0) return false;
  found->second.listed.reset();
  end_if_empty(found);
  return true;
}

bool topic_members::has(const std::string& name, std::uint64_t client) const {
  const std::lock_guard lock(mutex_);
  const crowd* const its = find(name);
  return its != nullptr && its->followers.contains(client);
}

std::size_t topic_members::count(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const crowd* const its = find(name);
  return its == nullptr ? 0 : its->followers.size();
}

topic_members::followers topic_members::all(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(name);
  if (found == all_.end() || found->second.followers.empty()) return nullptr;
  crowd& its = found->second;
  if (!its.listed) {
    auto fresh = std::make_shared<std::vector<follower>>();
    fresh->reserve(its.followers.size());
    for (const auto& [client, each] : its.followers) fresh->push_back(each);
    its.listed = std::move(fresh);
  }
  return its.listed;
}

// ── Presence ──────────────────────────────────────────────────────────────────────────────────

topic_members::tracked topic_members::track(const std::string& name, attendee who) {
  const std::uint64_t client = who.client;
  const auto fresh = std::make_shared<const attendee>(std::move(who));
  const std::size_t bytes = fresh->meta.size();
  pending_notifications whom;
  tracked did = tracked::updated;
  {
    const std::lock_guard lock(mutex_);
    const crowd* const there = find(name);
    const auto before =
        there == nullptr ? decltype(there->present.find(client)){} : there->present.find(client);
    const bool is_new = there == nullptr || before == there->present.end();
    const std::size_t freed = is_new ? 0 : before->second.who->meta.size();
    const std::string_view application = application_of(name);
    const std::size_t more = bytes - std::min(bytes, freed);
    const bool has_place = !is_new || present_.take(application, 1);
    const bool has_bytes = has_place && bytes_.take(application, more);
    const auto undo = [&] {
      if (is_new && has_place) present_.give_back(application, 1);
      if (has_bytes) bytes_.give_back(application, more);
    };
    crowd* its = nullptr;
    presence_entry* entry = nullptr;
    try {
      if (has_bytes) its = made(name);
      if (its != nullptr) entry = &its->present[client];
    } catch (...) {
      undo();
      throw;
    }
    if (entry == nullptr) {
      if (!has_bytes) ++refused_;
      undo();
      return tracked::full;
    }
    entry->who = fresh;
    bytes_.give_back(application, freed - std::min(bytes, freed));
    if (is_new) did = tracked::joined;
    tell(name, *its, *entry, is_new ? presence_change::joined : presence_change::updated, whom);
  }
  whom.tell();
  return did;
}

bool topic_members::untrack(const std::string& name, std::uint64_t client) {
  pending_notifications whom;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(name);
    if (found == all_.end()) return false;
    auto gone = found->second.present.extract(client);
    if (!gone) return false;
    present_.give_back(application_of(name), 1);
    bytes_.give_back(application_of(name), gone.mapped().who->meta.size());
    tell(name, found->second, gone.mapped(), presence_change::left, whom);
    end_if_empty(found);
  }
  whom.tell();
  return true;
}

topic_members::attendees topic_members::present(const std::string& name) const {
  attendees all;
  const std::lock_guard lock(mutex_);
  if (const crowd* const its = find(name)) {
    all.reserve(its->present.size());
    for (const auto& [client, each] : its->present) all.push_back(each.who);
  }
  return all;
}

void topic_members::tell(const std::string& name, crowd& its, presence_entry& of,
                         presence_change what, pending_notifications& whom) {
  const std::string topic = name.substr(name.find('/') + 1);
  for (const auto& box : its.watching) {
    if (std::find(of.untold.begin(), of.untold.end(), box->id()) != of.untold.end()) {
      ++dropped_;
      continue;
    }
    if (what == presence_change::joined) of.untold.reserve(of.untold.size() + 1);
    if (box->put({topic, what, of.who}, whom)) continue;
    ++dropped_;
    if (what == presence_change::joined) of.untold.push_back(box->id());
  }
}

bool topic_members::watch(const std::string& name, const std::shared_ptr<presence_box>& who) {
  const std::lock_guard lock(mutex_);
  crowd* const its = made(name);
  if (its != nullptr) its->watching.push_back(who);
  return its != nullptr;
}

void topic_members::unwatch(const std::string& name, std::uint64_t box) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(name);
  if (found == all_.end()) return;
  std::erase_if(found->second.watching, [&](const auto& each) { return each->id() == box; });
  for (auto& [client, each] : found->second.present) std::erase(each.untold, box);
  end_if_empty(found);
}

topic_member_statistics topic_members::statistics() const {
  const std::lock_guard lock(mutex_);
  return {.topics = all_.size(),
          .present = present_.used(),
          .bytes = bytes_.used(),
          .refused = refused_,
          .dropped = dropped_};
}

}  // namespace troupe::lua::detail
