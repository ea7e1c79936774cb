// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/sync/rarely_replaced.hpp>

#include <gtest/gtest.h>

#include <checker/check.hpp>
#include <memory>

namespace troupe {
namespace {

using model::expect_holds;
using model::plain;
using model::require;

// Its destructor writes the memory that each use reads.
struct value {
  explicit value(int initial) : at(std::make_unique<plain<int>>(initial)) {}
  value(value&&) = default;
  ~value() {
    if (at != nullptr) *at = -1;
  }
  std::unique_ptr<plain<int>> at;
};

void use_once(rarely_replaced<value>& one) {
  const auto use = one.here();
  model::seen(use ? "there is one" : "there is none");
  if (use) require(*use->at > 0, "it is there as long as it is used");
}

TEST(rarely_replaced, a_used_value_is_not_destroyed) {
  expect_holds({.preemptions = 2, .sees = {"there is one", "there is none"}}, [] {
    rarely_replaced<value> one;
    one.emplace(1);
    jthread first([&] { use_once(one); });
    jthread second([&] { use_once(one); });
    one.clear();
  });
}

TEST(rarely_replaced, an_unused_value_is_destroyed) {
  expect_holds({.preemptions = 2, .sees = {"there is one", "there is none"}}, [] {
    rarely_replaced<value> one;
    {
      jthread user([&] { use_once(one); });
      one.emplace(1);
      one.emplace(2);
    }
    require(!one.has_retired(), "there is no use left, and nothing that waits for one");
  });
}

TEST(rarely_replaced, it_may_be_replaced_by_two_threads) {
  expect_holds({.random = 10'000}, [] {
    rarely_replaced<value> one;
    one.emplace(1);
    jthread first([&] { one.emplace(2); });
    jthread second([&] { use_once(one); });
    one.emplace(3);
    use_once(one);
  });
}

}  // namespace
}  // namespace troupe
