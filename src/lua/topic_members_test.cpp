// SPDX-License-Identifier: Apache-2.0

#include "topic_members.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <troupe/detail/sync/atomic.hpp>

namespace troupe::lua::detail {
namespace {

using joined = topic_members::joined;
using tracked = topic_members::tracked;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr topic_members::bounds roomy{.topics = 100, .present = 100, .bytes = 10'000};

follower one(std::uint64_t client) { return {.client = client, .socket = {}, .rpc = {}}; }
attendee person(std::uint64_t client, std::string meta = "m") {
  return {.client = client, .instance = 1, .meta = std::move(meta)};
}

class watcher {
 public:
  explicit watcher(std::size_t most = 100)
      : box_(std::make_shared<presence_box>(
            ++last_, std::make_shared<const std::function<void(std::uint64_t)>>([this](auto) {
              told_.fetch_add(1, relaxed);  // [told] relaxed: only a number
            }),
            most)) {}

  const std::shared_ptr<presence_box>& box() const { return box_; }
  int told() const { return told_.load(relaxed); }  // [told]

  /// Returns the changes as "+1 ~1 -1".
  std::vector<std::string> take(std::size_t most = 100) {
    std::vector<std::string> all;
    bool more = false;
    for (const auto& each : box_->take(most, more)) {
      constexpr const char* signs = "+~-";
      all.push_back(signs[static_cast<std::size_t>(each.what)] + std::to_string(each.who->client));
    }
    return all;
  }

 private:
  static inline std::uint64_t last_ = 0;
  atomic<int> told_{0};
  std::shared_ptr<presence_box> box_;
};

TEST(topic_members, include_clients_from_join_to_leave) {
  topic_members all(roomy);
  EXPECT_EQ(all.all("a/t"), nullptr);
  EXPECT_EQ(all.join("a/t", one(1)), joined::joined);
  EXPECT_EQ(all.join("a/t", one(1)), joined::was_in);
  EXPECT_EQ(all.join("a/t", one(2)), joined::joined);
  EXPECT_EQ(all.join("b/t", one(1)), joined::joined);
  EXPECT_EQ(all.count("a/t"), 2u);
  EXPECT_TRUE(all.has("a/t", 2));
  const topic_members::followers before = all.all("a/t");
  EXPECT_EQ(before, all.all("a/t"));  // copied once
  EXPECT_TRUE(all.leave("a/t", 1));
  EXPECT_FALSE(all.leave("a/t", 1));
  EXPECT_EQ(before->size(), 2u);
  EXPECT_EQ(all.all("a/t")->size(), 1u);
  all.leave("a/t", 2);
  all.leave("b/t", 1);
  EXPECT_EQ(all.statistics().topics, 0u);
}

TEST(topic_members, notify_watchers_of_every_change_since_the_last_take) {
  topic_members all(roomy);
  watcher w;
  all.track("a/t", person(1));
  EXPECT_TRUE(all.watch("a/t", w.box()));
  EXPECT_EQ(all.track("a/t", person(2)), tracked::joined);
  EXPECT_EQ(w.told(), 1);
  EXPECT_EQ(all.track("a/t", person(2, "other")), tracked::updated);
  EXPECT_TRUE(all.untrack("a/t", 2));
  EXPECT_FALSE(all.untrack("a/t", 2));
  EXPECT_EQ(w.told(), 1);  // not again before it takes the changes
  all.track("b/t", person(7));
  EXPECT_TRUE(all.untrack("a/t", 1));
  EXPECT_THAT(w.take(), ElementsAre("+2", "~2", "-2", "-1"));
  all.track("a/t", person(3));
  EXPECT_EQ(w.told(), 2);
  EXPECT_EQ(all.present("a/t").at(0)->client, 3u);
  all.unwatch("a/t", w.box()->id());
  all.untrack("a/t", 3);
  EXPECT_THAT(w.take(), ElementsAre("+3"));
}

TEST(topic_members, a_slow_watcher_gets_no_leave_for_a_client_whose_join_it_missed) {
  topic_members all(roomy);
  watcher slow(2), other;
  all.watch("a/t", slow.box());
  all.watch("a/t", other.box());
  for (std::uint64_t i = 1; i <= 3; ++i) all.track("a/t", person(i));
  all.track("a/t", person(1, "other"));  // an update does not fit either
  for (std::uint64_t i = 1; i <= 3; ++i) all.untrack("a/t", i);
  EXPECT_THAT(slow.take(), ElementsAre("+1", "+2", "-1", "-2"));
  EXPECT_THAT(other.take(), ElementsAre("+1", "+2", "+3", "~1", "-1", "-2", "-3"));
  EXPECT_EQ(all.statistics().dropped, 3u);
  all.track("a/t", person(3));
  EXPECT_THAT(slow.take(), ElementsAre("+3"));
}

TEST(topic_members, a_watcher_that_takes_part_of_its_changes_is_not_notified_again) {
  topic_members all(roomy);
  watcher w;
  all.watch("a/t", w.box());
  for (std::uint64_t i = 1; i <= 3; ++i) all.track("a/t", person(i));
  bool more = false;
  EXPECT_EQ(w.box()->take(2, more).size(), 2u);
  EXPECT_TRUE(more);
  all.track("a/t", person(4));
  EXPECT_EQ(w.told(), 1);  // a watcher that takes a part comes back on its own
  EXPECT_EQ(w.box()->take(2, more).size(), 2u);
  EXPECT_FALSE(more);
  EXPECT_THAT(w.take(), IsEmpty());
}

TEST(topic_members, are_so_many_and_have_so_many_and_no_more) {
  topic_members all({.topics = 2, .present = 2, .bytes = 10});
  watcher w;
  EXPECT_EQ(all.join("a/1", one(1)), joined::joined);
  EXPECT_EQ(all.track("a/2", person(1, "12345")), tracked::joined);
  EXPECT_EQ(all.join("a/3", one(1)), joined::full);
  EXPECT_FALSE(all.watch("a/3", w.box()));
  EXPECT_EQ(all.track("a/3", person(1)), tracked::full);
  EXPECT_EQ(all.track("a/1", person(1, "123456")), tracked::full);
  EXPECT_EQ(all.track("a/1", person(1, "12345")), tracked::joined);
  EXPECT_EQ(all.track("a/1", person(2, "")), tracked::full);
  EXPECT_EQ(all.track("a/1", person(1, "123456")), tracked::full);
  EXPECT_EQ(all.track("a/1", person(1, "1234")), tracked::updated);
  EXPECT_EQ(all.statistics().refused, 6u);
  EXPECT_EQ(all.statistics().bytes, 9u);
  all.untrack("a/2", 1);
  EXPECT_EQ(all.join("a/3", one(1)), joined::joined);
}

TEST(topic_members, of_one_application_leave_room_for_others) {
  topic_members all({.topics = 4, .present = 4, .bytes = 20, .percent = 50});
  EXPECT_EQ(all.track("a/1", person(1, "12345")), tracked::joined);
  EXPECT_EQ(all.track("a/2", person(1, "123456")), tracked::full);
  EXPECT_EQ(all.track("a/2", person(1, "12345")), tracked::joined);
  EXPECT_EQ(all.track("a/2", person(2, "")), tracked::full);
  EXPECT_EQ(all.join("a/3", one(1)), joined::full);
  EXPECT_EQ(all.track("b/1", person(9, "1234567890")), tracked::joined);
  EXPECT_EQ(all.join("b/2", one(9)), joined::joined);
  EXPECT_EQ(all.join("b/3", one(9)), joined::full);
  all.untrack("a/2", 1);
  EXPECT_EQ(all.join("a/3", one(1)), joined::joined);
  EXPECT_EQ(all.track("a/3", person(2, "12345")), tracked::joined);
  EXPECT_EQ(all.statistics().present, 3u);
  EXPECT_EQ(all.statistics().bytes, 20u);
}

// Each client that joins leaves once, for each watcher, in this order.
TEST(topic_members, concurrent_joins_and_leaves_are_each_reported_once) {
  topic_members all({.topics = 100, .present = 100'000, .bytes = 1'000'000});
  constexpr std::uint64_t each = 2'000;
  constexpr int threads = 3;
  watcher w(500);
  all.watch("a/t", w.box());
  std::map<std::uint64_t, int> there;
  atomic<int> done{0};
  {
    std::vector<std::jthread> running;
    for (std::uint64_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < each; ++i) {
          const std::uint64_t client = i * threads + t;
          all.track("a/t", person(client));
          all.join("a/t", one(client));
          if (i % 16 == 0) (void)all.all("a/t");
          all.leave("a/t", client);
          all.untrack("a/t", client);
        }
        done.fetch_add(1, release);  // [done] release: the notifications are in the box
      });
    }
    bool last = false;
    while (!last) {
      last = done.load(acquire) == threads;  // [done] acquire: pairs with the release above
      bool more = true;
      while (more) {
        for (const auto& e : w.box()->take(64, more)) {
          there[e.who->client] += e.what == presence_change::joined ? 1 : -1;
          const int now = there[e.who->client];
          EXPECT_TRUE(now == 0 || now == 1) << e.who->client;
        }
      }
    }
  }
  for (const auto& [client, is] : there) EXPECT_EQ(is, 0) << client;
  EXPECT_GT(there.size(), 0u);
  EXPECT_EQ(there.size() + all.statistics().dropped / 2, each * threads);
  EXPECT_EQ(all.statistics().present, 0u);
}

}  // namespace
}  // namespace troupe::lua::detail
