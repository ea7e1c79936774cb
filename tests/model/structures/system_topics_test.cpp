// SPDX-License-Identifier: Apache-2.0
// Topics in a whole system. Messages to many are read by some and kept by others, and subscriptions
// end. Some are kept by std::shared_ptr, whose count the checker does not see; where their
// destruction matters here, the test holds them longer than any actor.
#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <memory>
#include <string_view>
#include <troupe/supervision/topic.hpp>
#include <troupe/troupe.hpp>

#include "small_system.hpp"

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;
using model::varies;

// An actor that moves from it writes to it.
struct news {
  explicit news(int of) : value(of) {}
  news(const news& other) : value(other.value.get()) {}
  news(news&& other) : value(other.value.get()) { other.value = 0; }
  plain<int> value;
};

struct got {
  plain<int> sum{0};
  plain<int> last{0};
  void add(int value) {
    require(value > last, "in the order of the publisher, and not moved out");
    last = value;
    sum = sum + value;
  }
};

class reader : public actor {
 public:
  explicit reader(got& to) : to_(to) {}
  void on(const news& n) { to_.add(n.value); }

 private:
  got& to_;
};

class keeper : public actor {
 public:
  explicit keeper(got& to) : to_(to) {}
  void on(news n) { to_.add(n.value); }

 private:
  got& to_;
};

TEST(topics, a_message_reaches_a_reading_and_a_storing_subscriber) {
  expect_holds({.random = 1'000}, [] {
    got read;
    got kept;
    {
      troupe::system all{small(2)};
      const topic<news> t;
      const auto a = all.spawn<reader>(read);
      const auto b = all.spawn<keeper>(kept);
      (void)t.subscribe(a);
      (void)t.subscribe(b);
      require(t.publish(news(7)).reached() == 2, "both are there");
    }
    require(read.sum == 7 && kept.sum == 7, "both have it");
  });
}

TEST(topics, a_new_subscriber_gets_the_last_message_before_later_ones) {
  expect_holds({.random = 1'000}, [] {
    got kept;
    {
      troupe::system all{small()};
      const topic<news> t({.retain_last = true});
      const auto b = all.spawn<keeper>(kept);
      (void)t.publish(news(1));
      jthread other([&] { (void)t.publish(news(2)); });
      (void)t.subscribe(b);
    }
    require(kept.last == 2, "the last one comes in any case");
    varies(kept.sum == 3, "the first one comes as well");
  });
}

std::shared_ptr<const detail::subscribers> subscribers_of(system& all, std::string_view topic) {
  return detail::topic_core::named(all, topic, detail::identity_of<news>)->begin(nullptr);
}

TEST(topics, a_message_published_after_unsubscribe_is_not_delivered) {
  expect_holds({.random = 1'000}, [] {
    got read;
    subscription its;
    std::shared_ptr<const detail::subscribers> kept;
    {
      troupe::system all{small()};
      const topic<news> t(all, "news");
      const auto a = all.spawn<reader>(read);
      its = t.subscribe(a);
      kept = subscribers_of(all, "news");
      jthread other([&] {
        require(its.unsubscribe(), "it was subscribed");
        require(t.publish(news(2)).reached() == 0, "nobody is any more");
      });
      (void)t.publish(news(1));
    }
    require(read.last == 0 || read.last == 1, "only what was published before");
    varies(read.last == 1, "it was published before");
  });
}

TEST(topics, a_subscription_ends_once_with_its_actor_or_before) {
  expect_holds({.random = 1'000}, [] {
    got read;
    subscription its;
    std::shared_ptr<const detail::subscribers> kept;
    {
      troupe::system all{small()};
      const topic<news> t(all, "news");
      const auto a = all.spawn<reader>(read);
      its = t.subscribe(a);
      kept = subscribers_of(all, "news");
      jthread other([&] { a.stop_now(); });
      jthread third([&] { (void)t.publish(news(1)); });
      varies(its.unsubscribe(), "it was subscribed");
      (void)a.join();
      require(t.subscribers() == 0, "it is out of the list");
      require(!its.unsubscribe(), "it ends once");
    }
    require(read.last == 0 || read.last == 1, "it comes once or not at all");
    varies(read.last == 1, "it comes");
  });
}

}  // namespace
}  // namespace troupe
