// SPDX-License-Identifier: Apache-2.0

#include "shared_state.hpp"

#include <chrono>
#include <mutex>
#include <utility>

#include <troupe/base/clock.hpp>

#include "figure_list.hpp"

namespace troupe::lua::detail {
namespace {

using namespace std::chrono_literals;

// Expired entries that no call has freed are freed at this interval, a limited number at a time in
// each store.
constexpr duration sweep_each = 1s;
constexpr std::size_t sweep_most = 10'000;

}  // namespace

/// Frees expired entries as long as there are entries that will expire.
class shared_state::keeper final : public actor {
 public:
  explicit keeper(std::weak_ptr<shared_state> of) : of_(std::move(of)) {}
  void on(const sweep& m) {
    const auto all = of_.lock();
    if (all && all->sweep_all()) self(this).send_after(sweep_each, m);
  }

 private:
  const std::weak_ptr<shared_state> of_;
};

shared_state::shared_state(troupe::system* on, const shared_limits& allowed)
    : system_(on),
      topics_(allowed.topics, allowed.application_percent),
      topic_members_({.topics = allowed.topics,
                      .present = allowed.presence,
                      .bytes = allowed.presence_bytes,
                      .percent = allowed.application_percent}),
      queues_(allowed.queues, allowed.queue_bytes, allowed.application_percent),
      store_(allowed.store) {}

shared_store& shared_state::store_of(const std::string& application, const store_options& bounds) {
  const std::lock_guard lock(mutex_);
  auto& its = stores_[application];
  if (its) {
    its->set_bounds(bounds);
  } else {
    its = std::make_unique<shared_store>(bounds);
  }
  return *its;
}

// ── Time ──────────────────────────────────────────────────────────────────────────────────────

void shared_state::expires_something() {
  if (system_ == nullptr) return;
  ref<keeper> told;
  {
    const std::lock_guard lock(keeper_mutex_);
    if (std::exchange(is_kept_, true)) return;
    if (!keeper_) {
      keeper_ = system_->spawn<keeper>(spawn_options{.name = "store-keeper"}, weak_from_this());
    }
    told = keeper_;
  }
  told.send_after(sweep_each, sweep{});
}

// Returns true if another sweep is needed.
bool shared_state::sweep_all() {
  const time_point now = clock::now();
  const auto all = [&](std::size_t most) {
    bool more = store_.sweep(most, now);
    const std::lock_guard lock(mutex_);
    for (const auto& [name, each] : stores_) more |= each->sweep(most, now);
    return more;
  };
  if (all(sweep_most)) return true;
  // A call that added an entry meanwhile either relied on this sweep, so it is repeated, or finds
  // is_kept_ unset and schedules one.
  const std::lock_guard lock(keeper_mutex_);
  is_kept_ = all(0);
  return is_kept_;
}

// ── Figures ───────────────────────────────────────────────────────────────────────────────────

void shared_state::published(const publication& done) {
  const std::lock_guard lock(mutex_);
  values_accepted_ += done.reached();
  values_refused_ += done.refused + done.dropped;
}

void shared_state::add_figures(std::vector<http::figure_family>& to) const {
  figure_list all(to);
  using http::figure_type;
  const topic_member_statistics there = topic_members_.statistics();
  all.add("troupe_topics", "Topics with subscribers, and topics with clients.", figure_type::gauge)
      .add(topics_.count(), {{"of", "values"}})
      .add(there.topics, {{"of", "clients"}});
  all.add("troupe_topics_refused_total",
          "Clients refused because a topic or its presence was full.", figure_type::counter)
      .add(there.refused);
  all.add("troupe_presence", "Clients present, summed over all topics.", figure_type::gauge)
      .add(there.present);
  all.add("troupe_presence_bytes", "Bytes of the presence data of clients.", figure_type::gauge)
      .add(there.bytes);
  all.add("troupe_presence_dropped_total",
          "Presence changes not delivered because the watching instance was too slow.",
          figure_type::counter)
      .add(there.dropped);

  const std::vector<queue_statistics> queues = queues_.statistics();
  const auto of_queues = [&](const char* name, const char* help, figure_type type,
                             std::uint64_t queue_statistics::*which) {
    auto family = all.add(name, help, type);
    for (const queue_statistics& each : queues) family.add(each.*which, {{"queue", each.name}});
  };
  using q = queue_statistics;
  of_queues("troupe_queue_items", "Items in a queue.", figure_type::gauge, &q::items);
  of_queues("troupe_queue_waiting", "Consumers waiting for an item.", figure_type::gauge,
            &q::waiting);
  of_queues("troupe_queue_pushed_total", "Items pushed to a queue.", figure_type::counter,
            &q::pushed);
  of_queues("troupe_queue_taken_total", "Items taken from a queue.", figure_type::counter,
            &q::taken);
  of_queues("troupe_queue_refused_total", "Items refused because a queue was full.",
            figure_type::counter, &q::refused);
  all.add("troupe_queues_lost_total",
          "Items lost because a handler could not take them and their queue was closed.",
          figure_type::counter)
      .add(queues_.lost());

  std::vector<std::pair<http_labels, store_statistics>> stores;
  stores.emplace_back(http_labels{}, store_.statistics());
  {
    const std::lock_guard lock(mutex_);
    all.add("troupe_topic_values_total",
            "Values published, counted once for each receiving instance.", figure_type::counter)
        .add(values_accepted_, {{"outcome", "accepted"}})
        .add(values_refused_, {{"outcome", "refused"}});
    for (const auto& [name, each] : stores_) {
      stores.emplace_back(http_labels{{"application", name}}, each->statistics());
    }
  }
  const auto of_stores = [&](const char* name, const char* help, figure_type type,
                             std::uint64_t store_statistics::*which) {
    auto family = all.add(name, help, type);
    for (const auto& [labels, each] : stores) family.add(each.*which, labels);
  };
  using s = store_statistics;
  of_stores("troupe_store_entries",
            "Entries of a store; without the application label, of the shared store.",
            figure_type::gauge, &s::entries);
  of_stores("troupe_store_bytes", "Bytes of the entries of a store.", figure_type::gauge,
            &s::bytes);
  of_stores("troupe_store_hits_total", "Lookups that found their key.", figure_type::counter,
            &s::hits);
  of_stores("troupe_store_misses_total", "Lookups that did not find their key.",
            figure_type::counter, &s::misses);
  of_stores("troupe_store_refused_total", "Writes refused because a store was full.",
            figure_type::counter, &s::refused);
  of_stores("troupe_store_evicted_total", "Entries evicted to make room for others.",
            figure_type::counter, &s::evicted);
  of_stores("troupe_store_expired_total", "Entries removed because their time to live expired.",
            figure_type::counter, &s::expired);

  for (http::figure_family& each : metrics_.figures()) to.push_back(std::move(each));
}

}  // namespace troupe::lua::detail
