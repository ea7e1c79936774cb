// SPDX-License-Identifier: Apache-2.0
// Memory that a message owns outside of itself is counted automatically.
#include <gtest/gtest.h>

#include <any>
#include <array>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <troupe/message/owned_bytes.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::test {
namespace {

using detail::count_members;
using detail::owned_bytes;
using detail::owns_something;

const std::string long_text(1'000, 'x');

TEST(owned_bytes, of_strings_and_containers_are_their_allocations) {
  EXPECT_EQ(owned_bytes(std::string("short")), 0u);
  EXPECT_EQ(owned_bytes(long_text), long_text.capacity());
  EXPECT_EQ(owned_bytes(std::vector<char>(1'000'000)), 1'000'000u);
  EXPECT_EQ(owned_bytes(std::vector<bool>(800)), 104u);
  EXPECT_EQ(owned_bytes(std::vector<std::string>{long_text, "short"}),
            2 * sizeof(std::string) + long_text.capacity());
  EXPECT_GE(owned_bytes(std::list<int>(10)), 10 * (sizeof(int) + 2 * sizeof(void*)));
  EXPECT_GE(owned_bytes(std::deque<double>(10)), 10 * sizeof(double));
  EXPECT_GE(owned_bytes(std::map<int, std::string>{{1, long_text}}), 1'000u);
  EXPECT_GE(owned_bytes(std::unordered_map<int, std::string>{{1, long_text}}), 1'000u);
}

struct letter {
  int number;
  std::string text;
  char name[32];
  std::vector<std::string> lines;
};
struct envelope {
  letter inside;
  std::any other;
  std::function<void()> then;
};
struct tree {
  std::vector<tree> children;
  std::string name;
};

TEST(owned_bytes, of_a_plain_struct_are_the_sum_of_its_members) {
  static_assert(count_members<letter>() == 4 && count_members<envelope>() == 3);
  const letter one{1, long_text, "", {long_text}};
  const std::size_t bytes = 2 * long_text.capacity() + sizeof(std::string);
  EXPECT_EQ(owned_bytes(one), bytes);
  EXPECT_EQ(owned_bytes(envelope{one, {}, {}}), bytes);
  EXPECT_EQ(owned_bytes(tree{{{{}, long_text}, {{}, "leaf"}}, "root"}),
            2 * sizeof(tree) + long_text.capacity());
}

TEST(owned_bytes, of_a_wrapper_are_those_of_the_values_that_it_holds) {
  using one = std::variant<int, std::string>;
  EXPECT_EQ(owned_bytes(one(long_text)), long_text.capacity());
  EXPECT_EQ(owned_bytes(one(1)), 0u);
  EXPECT_EQ(owned_bytes(std::optional<std::string>(long_text)), long_text.capacity());
  EXPECT_EQ(owned_bytes(std::optional<std::string>()), 0u);
  EXPECT_EQ(owned_bytes(std::pair(1, long_text)), long_text.capacity());
  EXPECT_EQ(owned_bytes(std::tuple(long_text, 1, long_text)), 2 * long_text.capacity());
  EXPECT_EQ(owned_bytes(std::array<std::string, 2>{long_text, "b"}), long_text.capacity());
  EXPECT_EQ(owned_bytes(std::make_unique<letter>()), sizeof(letter));
  EXPECT_EQ(owned_bytes(std::unique_ptr<letter>()), 0u);
}

class told {
 public:
  explicit told(std::size_t bytes) : bytes_(bytes) {}
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
  std::string text_;
};
struct with_told {
  std::optional<told> one;
  std::string text;
};
class silent {
 public:
  silent() = default;
  std::string text = long_text;
  explicit silent(int) {}
};
struct of_shared {
  std::shared_ptr<std::string> text;
};
struct numbers {
  int one;
  double other;
};
struct no_default {
  explicit no_default(int) {}
};
struct cannot_be_empty {
  no_default one;
  std::string text;
};
struct base {
  std::string text;
};
struct derived : base {
  std::string more;
};

TEST(owned_bytes, can_be_reported_by_the_class_itself) {
  EXPECT_EQ(owned_bytes(told(77)), 77u);
  EXPECT_EQ(owned_bytes(with_told{told(7), long_text}), 7 + long_text.capacity());
  static_assert(!owns_something<silent>(), "a class that does not tell");
  static_assert(!owns_something<of_shared>(), "what is shared is not owned");
  static_assert(!owns_something<numbers>());
  static_assert(!owns_something<cannot_be_empty>(), "it is not decomposed");
  static_assert(!owns_something<derived>(), "it is not decomposed");
}

}  // namespace
}  // namespace troupe::test
