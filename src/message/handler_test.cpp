// SPDX-License-Identifier: Apache-2.0
// Which messages an actor understands. Handlers are only declared, because the compiler decides.
// The tests check its decision at run time, so that a wrong one is a test failure and not a build
// error.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <troupe/message/handler.hpp>
#include <vector>

namespace troupe {
namespace {

struct greeting {};
struct from_greeting {
  from_greeting(greeting);  // NOLINT: the conversion is intended
};
struct derived_greeting : greeting {};
struct move_only {
  std::unique_ptr<int> content;
};
struct immovable {
  immovable() = default;
  immovable(immovable&&) = delete;
};

TEST(understands, a_message_by_value_by_reference_to_const_and_by_rvalue_reference) {
  struct a {
    void on(greeting);
    void on(const std::string&);
    void on(move_only&&);
  };
  EXPECT_TRUE((understands<a, greeting>));
  EXPECT_TRUE((understands<a, std::string>));
  EXPECT_TRUE((understands<a, move_only>));
  EXPECT_FALSE((understands<a, int>));
}

TEST(understands, no_message_by_reference_to_non_const) {
  struct a {
    void on(greeting&);
  };
  EXPECT_FALSE((understands<a, greeting>));
}

TEST(understands, numbers_of_exactly_one_type) {
  struct takes_long {
    void on(long);
  };
  EXPECT_TRUE((understands<takes_long, long>));
  EXPECT_FALSE((understands<takes_long, float>));
  EXPECT_FALSE((understands<takes_long, double>));
  EXPECT_FALSE((understands<takes_long, int>));
  EXPECT_FALSE((understands<takes_long, unsigned long>));
  EXPECT_FALSE((understands<takes_long, long long>));
  EXPECT_FALSE((understands<takes_long, char>));
  EXPECT_FALSE((understands<takes_long, bool>));

  struct takes_double {
    void on(const double&);
  };
  EXPECT_TRUE((understands<takes_double, double>));
  EXPECT_FALSE((understands<takes_double, float>));
  EXPECT_FALSE((understands<takes_double, int>));
}

TEST(understands, no_message_that_only_converts) {
  struct a {
    void on(from_greeting);
    void on(const std::string&);
    void on(std::shared_ptr<const int>);
  };
  EXPECT_TRUE((understands<a, from_greeting>));
  EXPECT_FALSE((understands<a, greeting>));
  EXPECT_FALSE((understands<a, const char*>));
  EXPECT_FALSE((understands<a, std::shared_ptr<int>>));
  struct b {
    void on(greeting);
    void on(std::vector<int>&&);
  };
  EXPECT_FALSE((understands<b, derived_greeting>));
  EXPECT_FALSE((understands<b, std::size_t>)) << "a vector of so many";
}

TEST(understands, a_handler_that_takes_the_sender) {
  struct a {
    void on(greeting, address);
    void on(const std::string&, const address&);
    void on(int);
    void on(long, int);
    void on(double, address, int);
  };
  EXPECT_TRUE((understands<a, greeting>));
  EXPECT_TRUE((detail::handles_with_sender<a, greeting>));
  EXPECT_TRUE((understands<a, std::string>));
  EXPECT_TRUE((detail::handles_with_sender<a, std::string>));
  EXPECT_TRUE((understands<a, int>));
  EXPECT_FALSE((detail::handles_with_sender<a, int>)) << "nobody else pays for it";
  EXPECT_FALSE((understands<a, long>));
  EXPECT_FALSE((understands<a, double>));
}

TEST(understands, handlers_of_a_base_class_unless_they_are_hidden) {
  struct base {
    void on(greeting);
    void on(int, address);
  };
  struct inherits : base {};
  EXPECT_TRUE((understands<inherits, greeting>));
  EXPECT_TRUE((understands<inherits, int>));
  struct hides : base {
    void on(long);
  };
  EXPECT_TRUE((understands<hides, long>));
  EXPECT_FALSE((understands<hides, greeting>)) << "as everywhere in C++";
  struct adds : base {
    using base::on;
    void on(long);
  };
  EXPECT_TRUE((understands<adds, long>));
  EXPECT_TRUE((understands<adds, greeting>));
  EXPECT_TRUE((understands<adds, int>));
  EXPECT_FALSE((understands<adds, float>));
}

TEST(understands, only_public_handlers) {
  class a {
    [[maybe_unused]] void on(greeting) {}
  };
  EXPECT_FALSE((understands<a, greeting>));
}

TEST(understands, const_and_noexcept_handlers_with_any_result) {
  struct a {
    void on(greeting) const;
    int on(move_only) noexcept;
    std::string on(const std::string&);
  };
  EXPECT_TRUE((understands<a, greeting>));
  EXPECT_TRUE((understands<a, move_only>));
  EXPECT_TRUE((understands<a, std::string>));
}

TEST(understands, nothing_without_a_handler) {
  struct mute {};
  EXPECT_FALSE((understands<mute, greeting>));
  struct other_name {
    void handle(greeting);
    int on;
  };
  EXPECT_FALSE((understands<other_name, greeting>));
}

TEST(message, is_a_value_that_can_be_moved) {
  EXPECT_TRUE(message<greeting>);
  EXPECT_TRUE(message<int>);
  EXPECT_TRUE(message<move_only>);
  EXPECT_TRUE(message<std::vector<move_only>>);
  EXPECT_FALSE(message<immovable>);
  EXPECT_FALSE(message<greeting&>);
  EXPECT_FALSE(message<const greeting>);
  EXPECT_FALSE(message<void>);
  EXPECT_FALSE(message<void()>);
}

}  // namespace
}  // namespace troupe
