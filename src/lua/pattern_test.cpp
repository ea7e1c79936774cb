// SPDX-License-Identifier: Apache-2.0

#include "pattern.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "lua_comparison.hpp"

namespace troupe::lua::detail {
namespace {

step_meter unmetered() {
  return {[](void*, std::size_t) {}, nullptr};
}

// Returns "begin-end: captures", counted from 1 as in string.find().
std::string found(std::string_view subject, std::string_view pattern, std::size_t from = 0) {
  pattern_matcher matcher(subject, pattern, unmetered());
  try {
    if (!matcher.search(from)) return "none";
    std::string said = std::to_string(matcher.begin() + 1) + "-" + std::to_string(matcher.end());
    for (int i = 0; i < matcher.captures(); ++i) {
      const auto one = matcher.captured(i);
      said += i == 0 ? ": " : ", ";
      said += one.position ? "@" + std::to_string(*one.position + 1) : std::string(one.text);
    }
    return said;
  } catch (const pattern_error& e) {
    return e.what();
  }
}

TEST(pattern, characters_match_themselves) {
  EXPECT_EQ(found("hello", "l"), "3-3");
  EXPECT_EQ(found("hello", "lo"), "4-5");
  EXPECT_EQ(found("hello", "x"), "none");
  EXPECT_EQ(found("hello", ""), "1-0");
  EXPECT_EQ(found("hello", "", 5), "6-5");
  EXPECT_EQ(found("", "x"), "none");
  EXPECT_EQ(found(std::string_view("a\0b", 3), std::string_view("\0b", 2)), "2-3");
}

TEST(pattern, character_classes_follow_the_c_locale) {
  EXPECT_EQ(found("12ab", "%a+"), "3-4");
  EXPECT_EQ(found("12ab", "%A+"), "1-2");
  EXPECT_EQ(found("ab\xe4", "%a+"), "1-2");
  EXPECT_EQ(found("x = 0x1F;", "0x%x+"), "5-8");
  EXPECT_EQ(found("a.b", "%."), "2-2");
  EXPECT_EQ(found("\t x", "%s+%S"), "1-3");
  EXPECT_EQ(found("aB", "%u"), "2-2");
  EXPECT_EQ(found("aB", "%U"), "1-1");
  EXPECT_EQ(found("a,b", "%p"), "2-2");
  EXPECT_EQ(found("a\x7f", "%c"), "2-2");
  EXPECT_EQ(found(" a", "%g"), "2-2");
}

TEST(pattern, sets_have_ranges_classes_and_complements) {
  EXPECT_EQ(found("hello", "[k-m]+"), "3-4");
  EXPECT_EQ(found("hello", "[^k-m]+"), "1-2");
  EXPECT_EQ(found("a]b", "[]]"), "2-2");
  EXPECT_EQ(found("a]b", "[^]]+"), "1-1");
  EXPECT_EQ(found("a-b", "[a-]+"), "1-2");
  EXPECT_EQ(found("a^b", "[b^]+"), "2-3");
  EXPECT_EQ(found("x_1-", "[%w_]+"), "1-3");
  EXPECT_EQ(found("a]", "[%]]"), "2-2");
  EXPECT_EQ(found("m", "[z-a]"), "none");
}

TEST(pattern, repetitions_match_as_much_or_as_little_as_possible) {
  EXPECT_EQ(found("<a><b>", "<.*>"), "1-6");
  EXPECT_EQ(found("<a><b>", "<.->"), "1-3");
  EXPECT_EQ(found("aaa", "a*"), "1-3");
  EXPECT_EQ(found("baa", "a*"), "1-0");
  EXPECT_EQ(found("baa", "a+"), "2-3");
  EXPECT_EQ(found("aaab", "a+ab"), "1-4");
  EXPECT_EQ(found("colour", "colou?r"), "1-6");
  EXPECT_EQ(found("color", "colou?r"), "1-5");
  EXPECT_EQ(found("aab", "a-b"), "1-3");
  EXPECT_EQ(found("a+", "a%+"), "1-2");
}

TEST(pattern, the_end_is_a_dollar_at_the_end) {
  EXPECT_EQ(found("aba", "a$"), "3-3");
  EXPECT_EQ(found("a$b", "a$b"), "1-3");
  EXPECT_EQ(found("ab", "$"), "3-2");
}

TEST(pattern, captures_are_text_or_positions) {
  EXPECT_EQ(found("key = value", "(%w+) = (%w+)"), "1-11: key, value");
  EXPECT_EQ(found("hello", "()ll()"), "3-4: @3, @5");
  EXPECT_EQ(found("abc", "((a)(b))"), "1-2: ab, a, b");
  EXPECT_EQ(found("abc", "(x*)b"), "2-2: ");
  EXPECT_EQ(found("say \"it's\"", "([\"'])(.-)%1"), "5-10: \", it's");
}

TEST(pattern, a_balanced_match_ends_at_the_matching_delimiter) {
  EXPECT_EQ(found("f(a(b)c)d)", "%b()"), "2-8");
  EXPECT_EQ(found("((a", "%b()"), "none");
  EXPECT_EQ(found("|a|b|", "%b||"), "1-3");
}

TEST(pattern, a_frontier_matches_at_the_edge_of_a_set) {
  EXPECT_EQ(found("THE (quick) fox", "%f[%a]%a+%f[%A]"), "1-3");
  EXPECT_EQ(found("THE (quick) fox", "%f[%a]%a+%f[%A]", 3), "6-10");
  EXPECT_EQ(found("abc", "%f[%z]"), "4-3");
}

TEST(pattern, errors_have_the_messages_of_lua) {
  EXPECT_EQ(found("a", "%"), "malformed pattern (ends with '%')");
  EXPECT_EQ(found("a", "[a"), "malformed pattern (missing ']')");
  EXPECT_EQ(found("a", "[]"), "malformed pattern (missing ']')");
  EXPECT_EQ(found("a", "[%"), "malformed pattern (missing ']')");
  EXPECT_EQ(found("a", "[^"), "malformed pattern (missing ']')");
  EXPECT_EQ(found("a", "%b"), "malformed pattern (missing arguments to '%b')");
  EXPECT_EQ(found("a", "%bx"), "malformed pattern (missing arguments to '%b')");
  EXPECT_EQ(found("a", "%f"), "missing '[' after '%f' in pattern");
  EXPECT_EQ(found("a", "%fa"), "missing '[' after '%f' in pattern");
  EXPECT_EQ(found("a", "%1"), "invalid capture index %1");
  EXPECT_EQ(found("a", "%0"), "invalid capture index %0");
  EXPECT_EQ(found("a", "(a%1)"), "invalid capture index %1");
  EXPECT_EQ(found("a", "(a"), "unfinished capture");
  EXPECT_EQ(found("a", "a*)"), "invalid pattern capture");
  std::string many;
  for (int i = 0; i < 33; ++i) many += "()";
  EXPECT_EQ(found("a", many), "too many captures");
}

TEST(pattern, it_nests_only_so_deep) {
  std::string pattern;
  for (int i = 0; i < 300; ++i) pattern += "a?";
  EXPECT_EQ(found(std::string(300, 'a'), pattern), "pattern too complex");
  EXPECT_EQ(found(std::string(100, 'a'), pattern), "1-100");
}

TEST(pattern, an_error_is_found_only_when_matching_reaches_it) {
  EXPECT_EQ(found("b", "a%"), "none");
  EXPECT_EQ(found("a", "a%"), "malformed pattern (ends with '%')");
}

TEST(pattern, all_steps_are_reported) {
  std::size_t steps = 0;
  const step_meter meter{[](void* self, std::size_t n) { *static_cast<std::size_t*>(self) += n; },
                         &steps};
  const std::string subject(1'000, 'a');
  pattern_matcher squares(subject, "a-b", meter);
  EXPECT_FALSE(squares.search(0));
  squares.settle();
  EXPECT_GE(steps, 500'000U);
  EXPECT_LE(steps, 3'000'000U);
  steps = 0;
  pattern_matcher first(subject, "a", meter);
  EXPECT_TRUE(first.search(0));
  EXPECT_EQ(steps, 0U);
  first.settle();
  EXPECT_GE(steps, 1U);
  EXPECT_LE(steps, 10U);
}

TEST(pattern, a_meter_ends_it) {
  struct enough {};
  const step_meter meter{[](void*, std::size_t) { throw enough(); }, nullptr};
  const std::string subject(1'000, 'a');
  EXPECT_THROW(pattern_matcher(subject, "a-a-a-a-a-a-b", meter).search(0), enough);
}

// ── Comparison with Lua's own ─────────────────────────────────────────────────────────────────

class generator {
 public:
  explicit generator(std::uint64_t seed) : random_(seed) {}

  int below(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }

  std::string subject() {
    std::string made;
    for (int n = below(13); n > 0; --n) made += "aaabbc1 (]%-\0"[below(14)];
    return made;
  }

  std::string pattern() {
    static const std::string items[] = {
        "a",    "b",    "c",     ".",     "%a",     "%A",    "%d", "%s", "%W",     "%z",
        "[ab]", "[^a]", "[a-c]", "[%a-]", "[]]",    "[^%s]", "(",  ")",  "(",      ")",
        "()",   "%b()", "%bab",  "%f[a]", "%f[%A]", "%1",    "%2", "$",  "^",      "-",
        "*",    "+",    "?",     "%",     "[",      "%(",    "]",  " ",  "[a-%%]", "(a)"};
    std::string made;
    if (below(8) == 0) made = "^";
    for (int n = below(7); n > 0; --n) {
      made += items[static_cast<std::size_t>(below(static_cast<int>(std::size(items))))];
      if (below(3) == 0) made += "*+-?"[below(4)];
    }
    if (below(8) == 0) made += "$";
    return made;
  }

  std::string replacement() {
    static const std::string items[] = {"x", "%0", "%1", "%2", "%%", "", "%", "%a", "long text "};
    std::string made;
    for (int n = below(4); n > 0; --n)
      made += items[static_cast<std::size_t>(below(static_cast<int>(std::size(items))))];
    return made;
  }

 private:
  std::mt19937_64 random_;
};

TEST(pattern, gives_the_same_results_as_lua) {
  const char* const given = std::getenv("TROUPE_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("TROUPE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  generator next(seed);
  lua_comparison both;
  const std::string gmatch =
      "local all = {} for a, b, c in string.gmatch(...) do "
      "all[#all + 1] = tostring(a) .. '|' .. tostring(b) .. '|' .. tostring(c) end "
      "return table.concat(all, ';')";
  const std::string by_function =
      "return string.gsub((...), select(2, ...), function(a, b) if a == 'b' then return end "
      "return a and b and #tostring(a) .. b or a end)";
  const std::string by_table =
      "return string.gsub((...), select(2, ...), {a = 'A', b = false, aa = 7, [1] = 'one'})";
  for (int i = 0; i < 8'000 && !testing::Test::HasFailure(); ++i) {
    const std::string subject = next.subject();
    const std::string pattern = next.pattern();
    const lua_Integer begin = next.below(20) - 6;
    both.compare("return string.find(...)", {subject, pattern, begin});
    both.compare("return string.match(...)", {subject, pattern, begin});
    both.compare(gmatch, {subject, pattern, begin});
    both.compare("return string.gsub(...)", {subject, pattern, next.replacement()});
    both.compare("return string.gsub(...)",
                 {subject, pattern, next.replacement(), lua_Integer{next.below(5) - 1}});
    both.compare(by_function, {subject, pattern});
    both.compare(by_table, {subject, pattern});
  }
}

}  // namespace
}  // namespace troupe::lua::detail
