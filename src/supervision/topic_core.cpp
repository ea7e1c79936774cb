// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/supervision/topic_core.hpp>

#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <troupe/detail/actor/extension.hpp>
#include <troupe/detail/sync/per_process.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/topic.hpp>

#include "actor/forked.hpp"
#include "actor/overload_rules.hpp"
#include "actor/runtime.hpp"
#include "base/accounts.hpp"

namespace troupe {

bool subscription::unsubscribe() const noexcept {
  const auto one = one_.lock();
  return one != nullptr && one->unsubscribe();
}

subscription::operator bool() const noexcept {
  const auto one = one_.lock();
  return one != nullptr && one->active.load(relaxed);  // [subscriber]
}

namespace detail {

void count(publication& done, delivery what) noexcept {
  switch (what) {
    case delivery::accepted:
      ++done.accepted;
      break;
    case delivery::paused:
      ++done.paused;
      break;
    case delivery::refused:
      ++done.refused;
      break;
    case delivery::dropped:
      ++done.dropped;
      break;
  }
}

// ── Named topics ──────────────────────────────────────────────────────────────────────────────

namespace {

constexpr const char* no_topic = "a troupe::topic cannot be used";

struct topic_key {
  std::string name;
  type_identity type;
  friend bool operator==(const topic_key&, const topic_key&) = default;
};
struct topic_hash {
  std::size_t operator()(const topic_key& key) const noexcept {
    return std::hash<std::string>{}(key.name) ^ key.type.hash();
  }
};

// A topic may outlive its system, and so may this table.
struct topic_table {
  mutex guard;
  std::unordered_map<topic_key, std::weak_ptr<topic_core>, topic_hash> topics;
  // Those of the system's actors that are in a list. [counter] relaxed: read after the last actor.
  atomic<std::int64_t> subscriptions{0};
};

struct topic_registry final : system_extension {
  explicit topic_registry(system&) : table(std::make_shared<topic_table>()) {}
  ~topic_registry() override {
    // The end of a subscriber ends its subscriptions.
    expect_settled("subscriptions to topics", table->subscriptions.load(relaxed));  // [counter]
  }
  const std::shared_ptr<topic_table> table;
};

// A topic that removes itself from the table when its last owner releases it.
class named_topic final : public topic_core {
 public:
  named_topic(const std::shared_ptr<topic_table>& table, topic_key key)
      : table_(table), key_(std::move(key)) {}
  ~named_topic() override {
    const auto table = table_.lock();
    if (table == nullptr || is_forked_child()) return;
    const std::lock_guard lock(table->guard);
    const auto at = table->topics.find(key_);
    // A new topic of this name may exist already.
    if (at != table->topics.end() && at->second.expired()) table->topics.erase(at);
  }

 private:
  const std::weak_ptr<topic_table> table_;
  const topic_key key_;
};

// The number of subscriptions of the actor's system; null unless a test counts them. The actor has
// not passed the end of its subscriptions yet, so its system exists.
std::shared_ptr<atomic<std::int64_t>> count_of(control_block& subscribed) noexcept {
  if (unsettled_account == nullptr) return nullptr;
  try {
    const auto& table = extension_of<topic_registry>(*subscribed.home().owner()).table;
    return {table, &table->subscriptions};
  } catch (...) {
    return nullptr;  // no memory: this one is not counted
  }
}

// Returns true if the actor redirects its messages to another class. The table of that class holds
// only messages that are not shared, so the subscriber takes copies.
bool redirects_elsewhere(const control_block& actor) noexcept {
  const auto* const own = static_cast<const overload_rules*>(actor.type().rules);
  return own != nullptr && own->target != nullptr && own->target->table != nullptr;
}

}  // namespace

std::shared_ptr<topic_core> topic_core::named(system& of, std::string_view name,
                                              const message_identity& type) {
  if (name.empty() || name.size() > registry::bytes_max) {
    throw std::invalid_argument("troupe: the name of a topic has " + std::to_string(name.size()) +
                                " bytes; it must have between 1 and " +
                                std::to_string(registry::bytes_max));
  }
  check_not_forked(no_topic);
  const auto& table = extension_of<topic_registry>(of).table;
  topic_key key{std::string(name), type.type};
  const auto fresh = std::make_shared<named_topic>(table, key);
  const std::lock_guard lock(table->guard);
  std::weak_ptr<topic_core>& place = table->topics[std::move(key)];
  if (auto there = place.lock()) return there;
  place = fresh;
  return fresh;
}

// ── Subscribers ───────────────────────────────────────────────────────────────────────────────

subscriber::subscriber(control_block& actor, const subscriber_type& type) noexcept
    : who(actor.where()),
      how(type),
      takes_copies(type.shared == nullptr || redirects_elsewhere(actor)),
      block_(actor) {}

const subscriber_type& subscriber_type_of_recipient(const dispatch& copied) {
  struct record {
    explicit record(const dispatch& of) : retained(of), type{&of, nullptr, &retained} {
      retained.weight = 0;  // as promised_shared_dispatch_of
      retained.bytes = 0;
      retained.owned = nullptr;
      retained.most = 0;
    }
    dispatch retained;
    const subscriber_type type;
  };
  struct all_records {
    mutex guard;
    std::unordered_map<const dispatch*, std::unique_ptr<const record>> known;
  };
  all_records& all = per_process<all_records>::here();
  const std::lock_guard lock(all.guard);
  std::unique_ptr<const record>& place = all.known[&copied];
  if (place == nullptr) place = std::make_unique<const record>(copied);
  return place->type;
}

bool subscriber::unsubscribe() noexcept {
  const auto topic = home_.lock();
  return topic != nullptr && topic->remove(*this);
}

void subscriber::ended() noexcept {
  const auto topic = home_.lock();
  if (topic != nullptr) return topic->release(*this);
  const auto itself = std::move(itself_);  // this is the last reference
}

// Objects to be released once the mutex is free: filters, whose destructors are user code, and the
// topic.
struct topic_core::leftovers {
  std::shared_ptr<topic_core> topic;
  std::shared_ptr<subscriber> one;
  std::shared_ptr<subscriber> itself;
  std::shared_ptr<const subscribers> copy;
  std::shared_ptr<atomic<std::int64_t>> count;
};

// Requires the mutex.
void topic_core::take_out(subscriber& one, leftovers& left) noexcept {
  one.active.store(false, relaxed);  // [subscriber]
  left.one = std::move(*one.at_);
  left.topic = std::move(one.topic_);
  left.copy = std::move(copy_);
  copy_ = nullptr;
  list_.erase(one.at_);
  left.count = std::move(one.count_);
  if (left.count != nullptr) left.count->fetch_sub(1, relaxed);  // [counter]
}

topic_core::added topic_core::add(const std::shared_ptr<subscriber>& one,
                                  const shared_block* if_retained, bool wants_retained,
                                  envelope* copy) {
  envelope* message = copy;
  struct discard_unless_sent {
    envelope*& message;
    ~discard_unless_sent() {
      if (message != nullptr) message->how->discard(*message);
    }
  } guard{message};
  check_not_forked(no_topic);
  leftovers left;
  // Only a recipient can be that of a router. Its key is user code, so it is not called under the
  // lock. The router knows the record of published copies.
  control_block* to = &one->block_;
  if (message != nullptr && one->how.shared == nullptr) {
    const dispatch* const how = std::exchange(message->how, one->how.copied);
    to = one->block_.routed(*message);
    message->how = how;
  }
  const std::lock_guard lock(mutex_);
  if (if_retained != nullptr && retained_.get() != if_retained) return added::outdated;
  if (wants_retained && message == nullptr) {
    message = &make_shared_envelope(*one->how.retained, *retained_);
    hold(*retained_);
  }
  one->at_ = list_.insert(list_.end(), one);
  one->topic_ = shared_from_this();
  one->home_ = one->topic_;
  one->itself_ = one;
  bool lives = false;
  try {
    lives = listen_to_end(one->block_, *one);
  } catch (...) {
    left.itself = std::move(one->itself_);
    take_out(*one, left);
    throw;
  }
  if (!lives) {
    left.itself = std::move(one->itself_);
    take_out(*one, left);
    return added::ended;
  }
  one->count_ = count_of(one->block_);
  if (one->count_ != nullptr) one->count_->fetch_add(1, relaxed);  // [counter]
  left.copy = std::move(copy_);
  copy_ = nullptr;
  if (message != nullptr && to != nullptr && to->try_deliver_by_priority(*message)) {
    message = nullptr;
  }
  return added::yes;
}

bool topic_core::remove(subscriber& one) noexcept {
  if (is_forked_child()) return false;
  leftovers left;
  const std::lock_guard lock(mutex_);
  if (one.topic_ == nullptr) return false;
  take_out(one, left);
  // If this fails, the actor's last turn is about to call ended().
  if (unlisten_to_end(one.block_, one)) left.itself = std::move(one.itself_);
  return true;
}

void topic_core::release(subscriber& ended) noexcept {
  leftovers left;
  const std::lock_guard lock(mutex_);
  if (ended.topic_ != nullptr) take_out(ended, left);
  left.itself = std::move(ended.itself_);
}

std::shared_ptr<const subscribers> topic_core::begin(shared_block* message) {
  check_not_forked(no_topic);
  shared_reference last;
  const std::lock_guard lock(mutex_);
  if (copy_ == nullptr) {
    copy_ = std::make_shared<const subscribers>(list_.begin(), list_.end());
  }
  if (message != nullptr) {
    hold(*message);
    last = std::exchange(retained_, shared_reference(message));
  }
  return copy_;
}

shared_reference topic_core::retained() const noexcept {
  if (is_forked_child()) return nullptr;  // add() throws
  const std::lock_guard lock(mutex_);
  if (retained_ == nullptr) return nullptr;
  hold(*retained_);
  return shared_reference(retained_.get());
}

std::size_t topic_core::count() const noexcept {
  if (is_forked_child()) return 0;
  const std::lock_guard lock(mutex_);
  return list_.size();
}

}  // namespace detail
}  // namespace troupe
