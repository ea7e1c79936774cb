// SPDX-License-Identifier: Apache-2.0
#include <troupe/testkit/stub.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <troupe/actor/ask_future.hpp>

#include "both_test.hpp"

namespace troupe::testkit {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

struct shipped {
  int number;
  friend bool operator==(const shipped&, const shipped&) = default;
};
struct in_stock {
  int what;
  friend bool operator==(const in_stock&, const in_stock&) = default;
};
struct parcel {
  std::unique_ptr<int> content;
};

using depot = stub<shipped, question<in_stock, int>, parcel>;

TEST(stub, counts_and_remembers_calls) {
  in_both([](troupe::system& system) {
    depot s(system, {.keeps = 2});
    const recipient<shipped> to = s;
    EXPECT_THAT(s.calls<shipped>(), IsEmpty());
    for (int i = 1; i <= 3; ++i) to.send(shipped{i});
    s.expect_calls<shipped>(3);
    EXPECT_EQ(s.count<shipped>(), 3u);
    EXPECT_THAT(s.calls<shipped>(), ElementsAre(shipped{2}, shipped{3}));
    EXPECT_EQ(s.count<in_stock>(), 0u);
  });
}

TEST(stub, calls_a_function_for_each_message) {
  in_both([](troupe::system& system) {
    depot s(system);
    int sum = 0;
    std::unique_ptr<int> got;
    s.on<shipped>([&](const shipped& m) { sum += m.number; });
    s.on<parcel>([&](parcel m) { got = std::move(m.content); });
    s.ref().send(shipped{1});
    s.ref().send(shipped{2});
    s.ref().send(parcel{std::make_unique<int>(7)});
    s.expect_calls<parcel>(1);
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(*got, 7);
    s.on<shipped>([&](const shipped&) { sum = 100; });
    s.ref().send(shipped{1});
    s.expect_calls<shipped>(3);
    EXPECT_EQ(sum, 100);
  });
}

TEST(stub, replies) {
  in_both([](troupe::system& system) {
    depot s(system);
    s.on<in_stock>([](const in_stock& m) { return m.what + 1; });
    EXPECT_EQ(*s.ref().ask<in_stock>(5s, 6).get(), 7);
    s.expect_calls<in_stock>(1);
    EXPECT_THAT(s.calls<in_stock>(), ElementsAre(in_stock{6}));
  });
}

TEST(stub, replies_later) {
  in_both([](troupe::system& system) {
    depot s(system);
    troupe::reply<int> owed;
    s.on<in_stock>([&](in_stock, troupe::reply<int> r) { owed = std::move(r); });
    auto asked = s.ref().ask<in_stock>(5s, 6);
    s.expect_calls<in_stock>(1);
    EXPECT_TRUE(owed.set_value(8));
    EXPECT_EQ(*asked.get(), 8);
  });
}

TEST(stub, without_a_function_leaves_a_request_unanswered) {
  in_both([](troupe::system& system) {
    depot s(system);
    EXPECT_EQ(s.ref().ask<in_stock>(5s, 6).get().error(), ask_error::unanswered);
  });
}

TEST(stub, fails_questions_and_lives) {
  in_both([](troupe::system& system) {
    depot s(system);
    s.fails<in_stock>();
    EXPECT_EQ(s.ref().ask<in_stock>(5s, 6).get().error(), ask_error::failed);
    s.on<in_stock>([](const in_stock&) { return 1; });
    EXPECT_EQ(*s.ref().ask<in_stock>(5s, 6).get(), 1);
  });
}

TEST(stub, an_exception_from_its_function_fails_the_actor) {
  const auto test = [](troupe::system& system) {
    depot s(system);
    s.on<in_stock>([](const in_stock&) -> int { throw std::runtime_error("no"); });
    EXPECT_EQ(s.ref().ask<in_stock>(5s, 6).get().error(), ask_error::failed);
    EXPECT_EQ(s.ref().join(), exit_reason::failed);
    EXPECT_EQ(s.count<in_stock>(), 1u);
  };
  const auto quietly = [] {
    return system_options{.workers = 2, .on_failure = [](const failure&) {}};
  };
  {
    sim::simulation sim(3);
    troupe::system system(quietly());
    test(system);
  }
  troupe::system system(quietly());
  test(system);
}

TEST(stub, stays_silent) {
  in_both([](troupe::system& system) {
    depot s(system, {.keeps = 1});
    s.stays_silent<in_stock>().stays_silent<shipped>();
    EXPECT_EQ(s.ref().ask<in_stock>(10ms, 6).get().error(), ask_error::timeout);
    auto at_its_end = s.ref().ask<in_stock>(5s, 7);
    s.expect_calls<in_stock>(2);
    s.ref().stop();
    EXPECT_EQ(at_its_end.get().error(), ask_error::stopped);
  });
}

TEST(stub, silence_has_bounds) {
  in_both([](troupe::system& system) {
    depot s(system, {.keeps = 1});
    s.stays_silent<in_stock>();
    auto first = s.ref().ask<in_stock>(5s, 1);
    auto second = s.ref().ask<in_stock>(5s, 2);
    EXPECT_EQ(first.get().error(), ask_error::unanswered);
    EXPECT_FALSE(second.wait_for(0ms));
  });
}

TEST(stub, too_few_calls_fail) {
  in_both([](troupe::system& system) {
    depot s(system);
    s.ref().send(shipped{1});
    s.expect_calls<shipped>(1);
    const mismatch what = mismatch_of([&] { s.expect_calls<shipped>(2, 10ms); });
    EXPECT_THAT(what.expected, testing::StartsWith("2 calls with "));
    EXPECT_THAT(what.expected, EndsWith("shipped within 10 ms"));
    EXPECT_EQ(what.came, "1");
    EXPECT_THAT(what.where.file_name(), EndsWith("stub_test.cpp"));
  });
}

TEST(stub, stops_its_actor_when_it_is_destroyed) {
  in_both([](troupe::system& system) {
    std::optional<depot> s(system);
    const auto held = s->ref();
    s.reset();
    EXPECT_EQ(held.join(), exit_reason::stopped_now);
  });
}

}  // namespace
}  // namespace troupe::testkit
