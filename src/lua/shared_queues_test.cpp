// SPDX-License-Identifier: Apache-2.0

#include "shared_queues.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/semaphore.hpp>

namespace troupe::lua::detail {
namespace {

using opening = shared_queues::opened::outcome;
using pushed = shared_queues::pushed;
using outcome = shared_queues::taken::outcome;
using testing::ElementsAre;
using testing::IsEmpty;

class queues_of_a_test : public testing::Test {
 protected:
  notifier telling_me() {
    return std::make_shared<const std::function<void(std::uint64_t)>>(
        [this](std::uint64_t what) { told_.push_back(what); });
  }
  shared_queues::id open(const std::string& name, std::optional<std::size_t> capacity = {}) {
    const auto got = all_.open(name, capacity);
    EXPECT_EQ(got.what, opening::done);
    return got.id;
  }
  std::string take(shared_queues::id from) { return shown(all_.take(from)); }
  static std::string shown(const shared_queues::taken& got) {
    if (got.what == outcome::item) return got.item;
    return got.what == outcome::none ? "(none)" : "(closed)";
  }

  shared_queues all_{3, 10'000};
  std::vector<std::uint64_t> told_;
};

using shared_queue = queues_of_a_test;

TEST_F(shared_queue, gives_items_in_their_order) {
  const auto q = open("jobs");
  EXPECT_EQ(take(q), "(none)");
  EXPECT_EQ(all_.push(q, "a"), pushed::done);
  EXPECT_EQ(all_.push(q, "b"), pushed::done);
  EXPECT_EQ(all_.count(q), 2u);
  EXPECT_EQ(open("jobs"), q);
  EXPECT_EQ(take(q), "a");
  EXPECT_EQ(take(q), "b");
}

TEST_F(shared_queue, is_full_by_items_and_by_bytes) {
  const auto q = open("jobs", 2);
  EXPECT_EQ(all_.push(q, "a"), pushed::done);
  EXPECT_EQ(all_.push(q, "b"), pushed::done);
  EXPECT_EQ(all_.push(q, "c"), pushed::full);
  EXPECT_EQ(all_.push(open("big"), std::string(10'000, 'x')), pushed::full);
  EXPECT_EQ(all_.push(open("big"), std::string(9'700, 'x')), pushed::done);
  EXPECT_EQ(take(q), "a");
  EXPECT_EQ(all_.push(q, std::string(1'000, 'x')), pushed::full);  // the limit is for all queues
  EXPECT_EQ(all_.statistics().at(0).refused, 2u);
}

TEST_F(shared_queue, keeps_the_capacity_that_was_specified_first) {
  const auto q = open("jobs");
  EXPECT_EQ(open("jobs", 5), q);
  EXPECT_EQ(open("jobs", 5), q);
  EXPECT_EQ(open("jobs"), q);
  const auto other = all_.open("jobs", 6);
  EXPECT_EQ(other.what, opening::another_capacity);
  EXPECT_EQ(other.capacity, 5u);
}

TEST_F(shared_queue, the_number_of_queues_is_bounded) {
  open("a"), open("b");
  const auto c = open("c");
  EXPECT_EQ(all_.open("d", {}).what, opening::too_many);
  EXPECT_TRUE(all_.close(c));
  open("d");
}

TEST_F(shared_queue, notifies_one_waiting_consumer_per_item_in_order) {
  const auto q = open("jobs");
  const auto first = all_.line_up(q, telling_me(), 1);
  const auto second = all_.line_up(q, telling_me(), 2);
  EXPECT_THAT(told_, IsEmpty());
  all_.push(q, "a");
  EXPECT_THAT(told_, ElementsAre(1));
  // A consumer that is not in line only gets items that are promised to no other consumer.
  EXPECT_EQ(shown(all_.take_unpromised(q)), "(none)");
  all_.push(q, "b");
  EXPECT_THAT(told_, ElementsAre(1, 2));
  EXPECT_EQ(shown(all_.take_told(q, *second)), "a");
  EXPECT_EQ(shown(all_.take_told(q, *first)), "b");
  EXPECT_EQ(all_.statistics().at(0).waiting, 0u);
  all_.push(q, "c");
  EXPECT_EQ(shown(all_.take_unpromised(q)), "c");
}

TEST_F(shared_queue, a_consumer_is_notified_at_once_if_an_item_is_available) {
  const auto q = open("jobs");
  all_.push(q, "a");
  (void)all_.line_up(q, telling_me(), 7);
  EXPECT_THAT(told_, ElementsAre(7));
}

TEST_F(shared_queue, an_item_passes_to_the_next_consumer_if_the_notified_one_leaves) {
  const auto q = open("jobs");
  const auto first = all_.line_up(q, telling_me(), 1);
  (void)all_.line_up(q, telling_me(), 2);
  all_.push(q, "a");
  all_.leave(q, *first);
  EXPECT_THAT(told_, ElementsAre(1, 2));
  EXPECT_EQ(all_.count(q), 1u);
}

TEST_F(shared_queue, a_notified_consumer_that_is_too_late_keeps_its_place) {
  const auto q = open("jobs");
  const auto first = all_.line_up(q, telling_me(), 1);
  const auto second = all_.line_up(q, telling_me(), 2);
  all_.push(q, "a");
  EXPECT_EQ(take(q), "a");  // takes it although a consumer waits
  EXPECT_EQ(shown(all_.take_told(q, *first)), "(none)");
  all_.push(q, "b");
  EXPECT_THAT(told_, ElementsAre(1, 1));
  EXPECT_EQ(shown(all_.take_told(q, *first)), "b");
  all_.leave(q, *second);
}

TEST(shared_queues_of_applications, one_cannot_have_all) {
  shared_queues all(4, 1'000, 50);
  const auto a = all.open("a", {}, "one");
  all.open("b", {}, "one");
  EXPECT_EQ(all.open("c", {}, "one").what, opening::too_many);
  EXPECT_EQ(all.open("a", {}, "two").id, a.id) << "one that is there is another's to use";
  EXPECT_EQ(all.open("c", {}, "two").what, opening::done);

  const std::string item(136, 'x');  // 200 with the overhead of an item
  EXPECT_EQ(all.push(a.id, item, "one"), pushed::done);
  EXPECT_EQ(all.push(a.id, item, "one"), pushed::done);
  EXPECT_EQ(all.push(a.id, item, "one"), pushed::full);
  EXPECT_EQ(all.push(a.id, item, "two"), pushed::done) << "whose queue it is does not matter";

  // A returned item counts again, for the application that put it in.
  shared_queues::taken got = all.take(a.id);
  EXPECT_EQ(got.item, item);
  all.put_back(a.id, std::move(got));
  EXPECT_EQ(all.push(a.id, item, "one"), pushed::full);
  EXPECT_EQ(all.take(a.id).item, item);
  EXPECT_EQ(all.push(a.id, item, "one"), pushed::done);

  EXPECT_TRUE(all.close(a.id));
  EXPECT_EQ(all.open("d", {}, "one").what, opening::too_many) << "there is something in it";
  for (int i = 0; i < 3; ++i) all.take(a.id);
  EXPECT_EQ(all.open("d", {}, "one").what, opening::done);
}

TEST_F(shared_queue, an_item_that_is_put_back_is_first_even_in_a_full_queue) {
  const auto q = open("jobs", 1);
  all_.push(q, "a");
  EXPECT_EQ(take(q), "a");
  all_.push(q, "b");
  (void)all_.line_up(q, telling_me(), 1);
  (void)all_.line_up(q, telling_me(), 2);
  all_.put_back(q, {shared_queues::taken::outcome::item, "a"});
  EXPECT_THAT(told_, ElementsAre(1, 2));
  EXPECT_EQ(take(q), "a");
  EXPECT_EQ(all_.statistics().at(0).taken, 1u);
}

TEST_F(shared_queue, a_closed_queue_is_drained_and_then_removed) {
  const auto q = open("jobs");
  const auto waits = all_.line_up(q, telling_me(), 1);
  all_.push(q, "a");
  const auto late = all_.line_up(q, telling_me(), 2);
  EXPECT_TRUE(all_.close(q));
  EXPECT_FALSE(all_.close(q));
  EXPECT_THAT(told_, ElementsAre(1, 2));
  EXPECT_EQ(all_.push(q, "b"), pushed::closed);
  EXPECT_EQ(shown(all_.take_told(q, *waits)), "a");
  EXPECT_EQ(shown(all_.take_told(q, *late)), "(closed)");
  EXPECT_EQ(all_.line_up(q, telling_me(), 3), std::nullopt);
  EXPECT_THAT(all_.statistics(), IsEmpty());
  EXPECT_NE(open("jobs"), q);  // the name is free, and now names another queue
  EXPECT_EQ(take(q), "(closed)");
  all_.put_back(q, {shared_queues::taken::outcome::item, "a"});
  EXPECT_EQ(all_.lost(), 1u);
}

// Some of the consumers give up while they are notified. Each item arrives exactly once.
TEST(shared_queue_stampede, gives_each_item_once_though_consumers_go) {
  constexpr int producers = 2;
  constexpr int consumers = 3;
  constexpr int each = 3'000;
  shared_queues all(1, 1'000'000);
  const auto q = all.open("jobs", 50).id;
  std::vector<std::vector<std::string>> got(consumers);
  {
    std::vector<std::jthread> threads;
    for (int c = 0; c < consumers; ++c) {
      threads.emplace_back([&, c] {
        const auto told = std::make_shared<semaphore>();
        const auto telling = std::make_shared<const std::function<void(std::uint64_t)>>(
            [told](std::uint64_t) { told->post(); });
        for (int round = 0;; ++round) {
          const auto mine = all.line_up(q, telling, 1);
          if (!mine) return;
          if (round % 7 == c) {
            all.leave(q, *mine);
            continue;
          }
          for (;;) {
            ASSERT_EQ(told->wait_until(clock::now() + std::chrono::seconds(60)),
                      wait_result::taken);
            auto item = all.take_told(q, *mine);
            if (item.what == outcome::none) continue;
            if (item.what == outcome::closed) return;
            if (round % 11 == c) {
              all.put_back(q, std::move(item));
            } else {
              got[static_cast<std::size_t>(c)].push_back(std::move(item.item));
            }
            break;
          }
          while (told->try_wait()) {
          }
        }
      });
    }
    {
      std::vector<std::jthread> pushing;
      for (int p = 0; p < producers; ++p) {
        pushing.emplace_back([&, p] {
          for (int i = 0; i < each; ++i) {
            const std::string item = std::to_string(p) + ":" + std::to_string(i);
            while (all.push(q, item) == pushed::full) std::this_thread::yield();
          }
        });
      }
    }
    EXPECT_TRUE(all.close(q));
  }
  std::set<std::string> different;
  std::size_t sum = 0;
  for (const auto& one : got) {
    sum += one.size();
    different.insert(one.begin(), one.end());
  }
  // An item may have been put back when the queue was gone.
  EXPECT_EQ(sum + all.lost(), std::size_t{producers * each});
  EXPECT_LE(all.lost(), std::size_t{consumers});
  EXPECT_EQ(different.size(), sum);
}

}  // namespace
}  // namespace troupe::lua::detail
