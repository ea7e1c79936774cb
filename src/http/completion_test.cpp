// SPDX-License-Identifier: Apache-2.0

#include "completion.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace troupe::http::detail {
namespace {

struct object {
  int called = 0;
  std::string failed;
};

auto handler_of(const std::shared_ptr<object>& of) {
  return completion(
      of,
      [](object& me, int result) {
        me.called += result;
        if (result < 0) throw std::runtime_error("a negative result");
      },
      [](object& me, const std::exception_ptr& why) { me.failed += reason_of(why) + "."; });
}

TEST(completion, is_called_once_wherever_it_was_moved_to) {
  const auto one = std::make_shared<object>();
  {
    auto first = handler_of(one);
    auto second = std::move(first);
    second(7);
  }
  EXPECT_EQ(one->called, 7);
  EXPECT_EQ(one->failed, "");
  EXPECT_EQ(one.use_count(), 1);
}

TEST(completion, fails_its_object_when_it_is_dropped) {
  const auto one = std::make_shared<object>();
  {
    auto first = handler_of(one);
    [[maybe_unused]] const auto second = std::move(first);
  }
  EXPECT_EQ(one->called, 0);
  EXPECT_EQ(one->failed, "an operation was dropped before it completed.");
}

TEST(completion, fails_its_object_when_the_handler_throws) {
  const auto one = std::make_shared<object>();
  handler_of(one)(-1);
  EXPECT_EQ(one->failed, "a negative result.");
}

TEST(completion, fails_its_object_when_an_exception_destroys_it) {
  const auto one = std::make_shared<object>();
  const auto operation = [](auto handler) {
    [[maybe_unused]] const auto kept = std::move(handler);
    throw std::bad_alloc();
  };
  EXPECT_THROW(operation(handler_of(one)), std::bad_alloc);
  EXPECT_EQ(one->failed, "an operation was dropped before it completed.");
}

}  // namespace
}  // namespace troupe::http::detail
