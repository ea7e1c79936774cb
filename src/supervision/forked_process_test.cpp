// SPDX-License-Identifier: Apache-2.0
// Topics and names in a child of a process that had a system.
#include <functional>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/actor/actor.hpp>
#include <troupe/actor/system.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/supervision/registry.hpp>
#include <troupe/supervision/topic.hpp>

#include "actor/forked_test_support.hpp"
#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using testing::HasSubstr;

struct printed {
  std::string text;
};

class subscriber : public actor {
 public:
  explicit subscriber(journal& log) : log_(log) {}
  void on(const printed& m) { log_.write(m.text); }

 private:
  journal& log_;
};

TEST(forked_child, gets_an_error_when_it_uses_a_topic) {
  journal log;
  troupe::system system;
  const topic<printed> own({.retain_last = true});
  const topic<printed> named(system, "prints");
  const auto it = system.spawn<subscriber>(log);
  const subscription subscribed = own.subscribe(it);
  const std::function<void()> calls[] = {[&] { (void)own.publish(printed{"in the child"}); },
                                         [&] { (void)named.publish(printed{"in the child"}); },
                                         [&] { (void)own.subscribe(it); },
                                         [&] { (void)topic<printed>(system, "others"); }};
  for (const auto& each : calls) {
    EXPECT_THAT(in_child([&] { return error_of(each); }), HasSubstr(forked_error));
  }
  EXPECT_EQ(in_child([&] {
              return std::string(subscribed.unsubscribe() ? "unsubscribed" : "nothing") + ", " +
                     std::to_string(own.subscribers());
            }),
            "nothing, 0");
  EXPECT_EQ(own.subscribers(), 1u);
  EXPECT_EQ(own.publish(printed{"in the parent"}).accepted, 1u);
  EXPECT_TRUE(log.wait_for(1)) << "the parent goes on";
}

TEST(forked_child, releases_a_named_topic_of_the_parent_without_waiting) {
  troupe::system system;
  auto its = std::make_unique<topic<printed>>(system, "prints");
  EXPECT_EQ(in_child([&] {
              its.reset();
              return std::string("released");
            }),
            "released");
}

TEST(forked_child, gets_an_error_when_it_uses_the_registry) {
  journal log;
  troupe::system system;
  const registry all(system);
  const auto it = system.spawn<subscriber>(log);
  EXPECT_TRUE(all.add("it", it));
  const std::function<void()> calls[] = {
      [&] { (void)all.add("again", it); }, [&] { (void)all.find<subscriber>("it"); },
      [&] { (void)all.remove("it", it); },
      [&] { (void)all.wait_for<subscriber>("nobody", clock::now() + 1ms); },
      [&] { (void)registry(system); }};
  for (const auto& each : calls) {
    EXPECT_THAT(in_child([&] { return error_of(each); }), HasSubstr(forked_error));
  }
  EXPECT_TRUE(all.find<subscriber>("it"));
}

}  // namespace
}  // namespace troupe::test
