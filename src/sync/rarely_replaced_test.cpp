// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/sync/rarely_replaced.hpp>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <troupe/detail/sync/atomic.hpp>

namespace troupe {
namespace {

struct told {
  std::shared_ptr<int> what;
};

TEST(rarely_replaced, is_empty_at_first_and_when_cleared) {
  rarely_replaced<told> one;
  EXPECT_TRUE(one.is_empty());
  EXPECT_FALSE(one.here());
  one.emplace(std::make_shared<int>(1));
  EXPECT_FALSE(one.is_empty());
  EXPECT_EQ(*one.here()->what, 1);
  one.clear();
  EXPECT_TRUE(one.is_empty());
  EXPECT_FALSE(one.here());
}

TEST(rarely_replaced, destroys_an_unused_value_at_once) {
  rarely_replaced<told> one;
  auto value = std::make_shared<int>(1);
  const std::weak_ptr<int> first = value;
  one.emplace(std::move(value));
  one.emplace(std::make_shared<int>(2));
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(*one.here()->what, 2);
}

TEST(rarely_replaced, keeps_a_value_until_its_last_use_ends) {
  rarely_replaced<told> one;
  auto value = std::make_shared<int>(1);
  const std::weak_ptr<int> first = value;
  one.emplace(std::move(value));
  std::optional use = one.here();
  std::optional another = one.here();
  one.emplace(std::make_shared<int>(2));
  EXPECT_EQ(*(*use)->what, 1) << "a use goes on with what it began with";
  EXPECT_EQ(*one.here()->what, 2);
  use.reset();
  EXPECT_FALSE(first.expired());
  another.reset();
  EXPECT_TRUE(first.expired());
}

TEST(rarely_replaced, may_be_replaced_within_a_use) {
  rarely_replaced<told> one;
  auto value = std::make_shared<int>(1);
  const std::weak_ptr<int> first = value;
  one.emplace(std::move(value));
  {
    const auto use = one.here();
    one.clear();
    EXPECT_EQ(*use->what, 1);
  }
  EXPECT_TRUE(first.expired());
}

TEST(rarely_replaced, stampede) {
  rarely_replaced<told> one;
  atomic<bool> is_over{false};
  atomic<int> wrong{0};
  std::vector<std::jthread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      while (!is_over) {
        const auto use = one.here();
        if (use && *use->what < 0) ++wrong;
      }
    });
  }
  for (int i = 0; i < 2'000; ++i) {
    // The deleter marks the value as destroyed before its memory can be reused.
    one.emplace(std::shared_ptr<int>(new int(i), [](int* p) {
      *p = -1;
      delete p;
    }));
  }
  is_over = true;
  users.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace troupe
