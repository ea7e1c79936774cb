// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/parameter.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <troupe/http/problem.hpp>
#include <troupe/http/request.hpp>

#include "request_access.hpp"
#include "route_pattern.hpp"

namespace troupe::http {
namespace {

using testing::HasSubstr;

struct color {
  static constexpr std::string_view allowed_parameters = "red or blue";
  static std::optional<color> from_parameter(std::string_view text) {
    if (text != "red" && text != "blue") return std::nullopt;
    return color{std::string{text}};
  }
  std::string name;
};

struct even {
  static std::optional<even> from_parameter(std::string_view text) {
    const auto number = parameter_reader<int>::read(text);
    if (!number || *number % 2 != 0) return std::nullopt;
    return even{*number};
  }
  int value;
};

enum class side { buy, sell };

}  // namespace

template <>
struct parameter_reader<side> {
  static std::optional<side> read(std::string_view text) {
    if (text == "buy") return side::buy;
    if (text == "sell") return side::sell;
    return std::nullopt;
  }
  static std::string allowed() { return "buy or sell"; }
};

namespace {

request request_for(std::string_view target, const std::string& pattern = {}) {
  request made = detail::request_access::make("GET", target, {}, "peer", false);
  if (!pattern.empty()) {
    detail::request_access::set_pattern(
        made, std::make_shared<const detail::route_pattern>(detail::route_pattern::parse(pattern)));
  }
  return made;
}

template <class T>
std::optional<T> read(std::string_view text) {
  return parameter_reader<T>::read(text);
}

template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const request_error& wrong) {
    return std::to_string(wrong.status()) + " " + wrong.detail();
  } catch (const std::logic_error& wrong) {
    return wrong.what();
  }
  return "nothing";
}

TEST(parameter_reader, integers_are_within_the_range_of_their_type) {
  EXPECT_EQ(read<std::uint8_t>("255"), 255);
  EXPECT_EQ(read<std::uint8_t>("0"), 0);
  EXPECT_EQ(read<std::uint8_t>("007"), 7);
  EXPECT_EQ(read<std::int8_t>("-128"), -128);
  EXPECT_EQ(read<std::uint64_t>("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(read<std::int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_FALSE(read<std::uint8_t>("256"));
  EXPECT_FALSE(read<std::int8_t>("128"));
  EXPECT_FALSE(read<std::int8_t>("-129"));
  EXPECT_FALSE(read<std::uint64_t>("18446744073709551616"));
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1a", "-", "--1"}) {
    EXPECT_FALSE(read<std::uint32_t>(text)) << text;
  }
  EXPECT_FALSE(read<int>("+1"));
  EXPECT_FALSE(read<int>("- 1"));
  EXPECT_FALSE(read<int>(std::string_view("1\0", 2)));
}

TEST(parameter_reader, floating_point_numbers_are_finite) {
  EXPECT_EQ(read<double>("-1.5e3"), -1500.0);
  EXPECT_EQ(read<double>("7"), 7.0);
  EXPECT_EQ(read<float>(".5"), 0.5f);
  for (const char* text :
       {"", "inf", "-inf", "nan", "NaN", "1e999", "1,5", " 1", "1 ", "0x1p3", "e"}) {
    EXPECT_FALSE(read<double>(text)) << text;
  }
  EXPECT_FALSE(read<float>("1e39"));
}

TEST(parameter_reader, truth_has_four_texts) {
  EXPECT_EQ(read<bool>("true"), true);
  EXPECT_EQ(read<bool>("1"), true);
  EXPECT_EQ(read<bool>("false"), false);
  EXPECT_EQ(read<bool>("0"), false);
  for (const char* text : {"", "TRUE", "yes", "2", "on"}) EXPECT_FALSE(read<bool>(text)) << text;
}

TEST(parameter_reader, characters_and_enumerations_need_a_reader_of_their_own) {
  EXPECT_FALSE(detail::parameter<char>);
  EXPECT_FALSE(detail::parameter<char16_t>);
  enum class other { one };
  EXPECT_FALSE(detail::parameter<other>);
  EXPECT_TRUE(detail::parameter<side>);
  EXPECT_TRUE(detail::parameter<color>);
  EXPECT_EQ(read<side>("sell"), side::sell);
}

TEST(path_parameter, is_the_decoded_segment_of_its_name) {
  const request r = request_for("/accounts/7/files/a%2Fb%20c?x=1", "/accounts/{id}/files/{name}");
  EXPECT_EQ(r.path<int>("id"), 7);
  EXPECT_EQ(r.path("name"), "a/b c");
  EXPECT_EQ(r.path<std::string>("name"), "a/b c");
  const std::string_view text = r.path();
  EXPECT_GE(r.path("name").data(), text.data()) << "it is a part of the request's text";
  EXPECT_LE(r.path("name").data() + r.path("name").size(), text.data() + text.size());
}

TEST(path_parameter, a_rest_has_all_further_segments) {
  EXPECT_EQ(request_for("/files/a/b%2Fc//d/", "/files/{rest...}").path("rest"), "a/b/c//d/");
  EXPECT_EQ(request_for("/files/", "/files/{rest...}").path("rest"), "");
  EXPECT_EQ(request_for("/x%2Fy/a/b", "/{one}/{rest...}").path("rest"), "a/b");
  EXPECT_EQ(request_for("/x%2Fy/a/b", "/{one}/{rest...}").path("one"), "x/y");
}

TEST(path_parameter, is_found_in_the_absolute_form) {
  EXPECT_EQ(request_for("http://here/a/b%2F", "/a/{x}").path("x"), "b/");
  EXPECT_EQ(request_for("http://here/a/b?c/d", "/a/{x}").path("x"), "b");
  EXPECT_EQ(request_for("http://here", "/{rest...}").path("rest"), "");
}

TEST(path_parameter, survives_copies_and_compaction) {
  request r = request_for("http://here/a/b%2Fc?d=%2F", "/a/{x}");
  const request copy = r;
  const request compact = detail::request_access::compact(r, nullptr);
  const request moved = std::move(r);
  EXPECT_EQ(copy.path("x"), "b/c");
  EXPECT_EQ(moved.path("x"), "b/c");
  EXPECT_EQ(compact.path("x"), "b/c");
  EXPECT_EQ(compact.query<std::string>("d"), "/");
}

TEST(path_parameter, a_wrong_value_is_400_with_name_value_and_what_is_allowed) {
  const auto refused = [](std::string_view target) {
    return refusal_of([&] { (void)request_for(target, "/a/{id}").path<std::uint8_t>("id"); });
  };
  EXPECT_EQ(refused("/a/256"),
            "400 the path parameter \"id\" is \"256\", which is not an integer from 0 to 255");
  EXPECT_THAT(refused("/a/%22%c3%a4%5c%20"), HasSubstr(R"(is "\x22\xc3\xa4\x5c ", which)"));
  const std::string cut = refused("/a/" + std::string(10'000, 'x'));
  EXPECT_THAT(cut, HasSubstr("\"" + std::string(64, 'x') + "\"..., which"));
  EXPECT_LT(cut.size(), 200u);
}

TEST(path_parameter, own_types_say_what_is_allowed) {
  const request r = request_for("/paint/red", "/paint/{color}");
  EXPECT_EQ(r.path<color>("color").name, "red");
  EXPECT_EQ(refusal_of([] { (void)request_for("/paint/mud", "/paint/{c}").path<color>("c"); }),
            "400 the path parameter \"c\" is \"mud\", which is not red or blue");
  EXPECT_EQ(refusal_of([] { (void)request_for("/n/3", "/n/{n}").path<even>("n"); }),
            "400 the path parameter \"n\" is \"3\", which is not a valid value");
  EXPECT_EQ(request_for("/n/4", "/n/{n}").path<even>("n").value, 4);
}

TEST(path_parameter, an_unknown_name_is_an_error_of_the_program) {
  const request r = request_for("/a/1", "/a/{id}");
  EXPECT_EQ(refusal_of([&] { (void)r.path("other"); }),
            "http::request::path(): the route \"/a/{id}\" has no parameter \"other\"");
  EXPECT_EQ(refusal_of([&] { (void)r.path("a"); }),
            "http::request::path(): the route \"/a/{id}\" has no parameter \"a\"");
  EXPECT_EQ(refusal_of([] { (void)request_for("/a").path("id"); }),
            "http::request::path(): \"id\" is unknown, because the route has no parameters");
}

TEST(query_parameter, is_optional_or_has_a_default) {
  const request r = request_for("/a?limit=10&name=a+b%26&limit=20&empty=&flag");
  EXPECT_EQ(r.query<int>("limit"), 10) << "the first counts";
  EXPECT_EQ(r.query<int>("offset"), std::nullopt);
  EXPECT_EQ(r.query<int>("offset", 5), 5);
  EXPECT_EQ(r.query<int>("limit", 5), 10);
  EXPECT_EQ(r.query<std::string>("name"), "a b&");
  EXPECT_EQ(r.query<std::string>("none", "x"), "x");
  EXPECT_EQ(r.query<std::string>("empty"), "");
  EXPECT_EQ(r.query<std::string>("flag"), "");
  EXPECT_EQ(r.query<side>("side", side::buy), side::buy);
}

TEST(query_parameter, a_wrong_value_is_400_also_with_a_default) {
  EXPECT_EQ(refusal_of([] { (void)request_for("/a?limit=-1").query<unsigned>("limit", 5); }),
            "400 the query parameter \"limit\" is \"-1\", which is not an integer from 0 to "
            "4294967295");
  EXPECT_EQ(refusal_of([] { (void)request_for("/a?limit=").query<int>("limit"); }),
            "400 the query parameter \"limit\" is \"\", which is not an integer from -2147483648 "
            "to 2147483647");
  EXPECT_EQ(refusal_of([] { (void)request_for("/a?q=%zz").query<std::string>("q"); }),
            "400 the query parameter \"q\" is \"%zz\", which is not a text with valid escapes, as "
            "in a%20b");
  EXPECT_EQ(refusal_of([] { (void)request_for("/a?side=x").query<side>("side"); }),
            "400 the query parameter \"side\" is \"x\", which is not buy or sell");
}

}  // namespace
}  // namespace troupe::http
