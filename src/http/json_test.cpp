// SPDX-License-Identifier: Apache-2.0
#include <troupe/http/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "request_access.hpp"
#include "test_server.hpp"

namespace troupe::http::test {

enum class currency { euro, dollar };
BOOST_DESCRIBE_ENUM(currency, euro, dollar)

struct item {
  std::string name;
  std::uint8_t count = 0;
  friend bool operator==(const item&, const item&) = default;
};
BOOST_DESCRIBE_STRUCT(item, (), (name, count))

struct order {
  std::int64_t id = 0;
  currency in = currency::euro;
  double price = 0;
  bool paid = false;
  std::vector<item> items;
  std::optional<std::string> note;
  std::map<std::string, int> marks;
  friend bool operator==(const order&, const order&) = default;
};
BOOST_DESCRIBE_STRUCT(order, (), (id, in, price, paid, items, note, marks))

struct urgent_order : order {
  std::uint64_t level = 0;
};
BOOST_DESCRIBE_STRUCT(urgent_order, (order), (level))

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const order whole{.id = -7,
                  .in = currency::dollar,
                  .price = 2.5,
                  .paid = true,
                  .items = {{"a \"b\"", 1}, {"c", 255}},
                  .note = "hello",
                  .marks = {{"x", 1}, {"y", -2}}};
const std::string text_of_whole =
    R"({"id":-7,"in":"dollar","price":2.5,"paid":true,)"
    R"("items":[{"name":"a \"b\"","count":1},{"name":"c","count":255}],)"
    R"("note":"hello","marks":{"x":1,"y":-2}})";

template <class T>
std::vector<field_error> errors_of(std::string_view text) {
  T into{};
  return from_json(text, into);
}

TEST(json, a_value_is_written_and_read_again) {
  EXPECT_EQ(to_json(whole), text_of_whole);
  order read;
  EXPECT_THAT(from_json(text_of_whole, read), IsEmpty());
  EXPECT_EQ(read, whole);
  const response r = json(whole, 201);
  EXPECT_EQ(r.status, 201u);
  EXPECT_EQ(r.body, text_of_whole);
  EXPECT_THAT(r.content_type, HasSubstr("application/json"));
}

TEST(json, members_of_base_classes_belong_to_the_object) {
  urgent_order read;
  EXPECT_THAT(from_json(R"({"id":1,"in":"euro","price":0,"paid":false,"items":[],"marks":{},)"
                        R"("level":18446744073709551615})",
                        read),
              IsEmpty());
  EXPECT_EQ(read.level, std::numeric_limits<std::uint64_t>::max());
  EXPECT_THAT(to_json(read), HasSubstr("\"level\":18446744073709551615"));
}

TEST(json, optional_members_may_be_missing_or_null) {
  item one;
  EXPECT_THAT(from_json(R"({"name":"n","count":1})", one), IsEmpty());
  order read = whole;
  EXPECT_THAT(from_json(R"({"id":1,"in":"euro","price":1,"paid":true,"items":[],"note":null,)"
                        R"("marks":{}})",
                        read),
              IsEmpty());
  EXPECT_FALSE(read.note.has_value());
  EXPECT_THAT(to_json(read), HasSubstr("\"note\":null"));
}

TEST(json, each_error_names_the_field_and_what_is_allowed) {
  const auto errors = errors_of<order>(
      R"({"id":"7","in":"yen","price":true,"paid":0,)"
      R"("items":[{"name":1,"count":256},{"count":-1},5],"note":{},"marks":{"x/y~":1.5},"more":1})");
  EXPECT_THAT(
      errors,
      ElementsAre(
          field_error{"/id", "must be an integer from -9223372036854775808 to 9223372036854775807"},
          field_error{"/in", "must be one of: euro, dollar"},
          field_error{"/price", "must be a number"}, field_error{"/paid", "must be true or false"},
          field_error{"/items/0/name", "must be a string"},
          field_error{"/items/0/count", "must be an integer from 0 to 255"},
          field_error{"/items/1/name", "is required"},
          field_error{"/items/1/count", "must be an integer from 0 to 255"},
          field_error{"/items/2", "must be an object"}, field_error{"/note", "must be a string"},
          field_error{"/marks/x~1y~0", "must be an integer from -2147483648 to 2147483647"},
          field_error{"/more",
                      "is unknown; allowed are: id, in, price, paid, items, note, marks"}));
}

TEST(json, integers_at_their_bounds) {
  struct tried {
    std::string text;
    bool fits;
  };
  for (const tried& each :
       {tried{"127", true}, tried{"128", false}, tried{"-128", true}, tried{"-129", false},
        tried{"1e2", false}, tried{"1.0", false}, tried{"18446744073709551616", false}}) {
    EXPECT_EQ(errors_of<std::int8_t>(each.text).empty(), each.fits) << each.text;
  }
  for (const tried& each :
       {tried{"9223372036854775807", true}, tried{"9223372036854775808", false},
        tried{"-9223372036854775808", true}, tried{"-9223372036854775809", false}}) {
    EXPECT_EQ(errors_of<std::int64_t>(each.text).empty(), each.fits) << each.text;
  }
  for (const tried& each : {tried{"18446744073709551615", true},
                            tried{"18446744073709551616", false}, tried{"-0", true}}) {
    EXPECT_EQ(errors_of<std::uint64_t>(each.text).empty(), each.fits) << each.text;
  }
}

TEST(json, refuses_what_is_not_json) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "nul", "1 2", "\"\xff\"", "'a'", "NaN",
                           "// no\n1", "\xef\xbb\xbf{"}) {
    EXPECT_THAT(errors_of<std::vector<int>>(text),
                ElementsAre(field_error{"", "is not valid JSON (RFC 8259)"}))
        << text;
  }
}

TEST(json, refuses_a_name_that_occurs_twice) {
  EXPECT_THAT(errors_of<item>(R"({"name":"a","count":1,"name":"b"})"),
              ElementsAre(field_error{"", "has two members of the name \"name\""}));
  // Also where it would not be read, and not for equal names in different objects.
  EXPECT_THAT((errors_of<std::map<std::string, std::map<std::string, int>>>(
                  R"({"a":{"x":1},"b":{"x":1}})")),
              IsEmpty());
}

TEST(json, depth_is_limited) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  using list = std::vector<std::vector<int>>;
  EXPECT_THAT(errors_of<list>(nested(2)), IsEmpty());
  EXPECT_THAT(errors_of<list>(nested(60)).front().detail, HasSubstr("must be an integer"));
  for (const std::size_t depth : {70u, 1'000u, 1'000'000u}) {
    EXPECT_THAT(errors_of<list>(nested(depth)),
                ElementsAre(field_error{"", "is nested more than 64 deep"}))
        << depth;
  }
}

// The time for a text of 1 MiB, the default limit of bodies, is linear in its size.
TEST(json, hostile_texts_take_no_longer_than_others) {
  std::string objects = "[{}";
  while (objects.size() < 1'000'000) objects += ",{}";
  EXPECT_EQ(errors_of<std::vector<item>>(objects + "]").size(), 16u);
  std::string values = "{\"" + std::string(500'000, 'k') + "\":[true";
  while (values.size() < 1'000'000) values += ",true";
  const auto errors = errors_of<std::map<std::string, std::vector<int>>>(values + "]}");
  ASSERT_EQ(errors.size(), 16u);
  EXPECT_LT(errors.back().field.size(), 100u);
  std::string names = "{\"a\":1";
  for (int i = 0; names.size() < 1'000'000; ++i) names += ",\"" + std::to_string(i) + "\":1";
  EXPECT_EQ(errors_of<item>(names + "}").size(), 16u);
}

TEST(json, refuses_what_follows_a_zero_byte_and_numbers_without_a_value) {
  EXPECT_EQ(errors_of<int>(std::string("1\0", 2)).size(), 1u);
  EXPECT_EQ(errors_of<float>("1e300").size(), 1u);
  EXPECT_EQ(errors_of<double>("1e300").size(), 0u);
  EXPECT_EQ(errors_of<double>("1e400").size(), 1u);
}

TEST(json, at_most_16_errors_are_reported) {
  std::string text = "[";
  for (int i = 0; i < 1000; ++i) text += i == 0 ? "true" : ",true";
  EXPECT_EQ(errors_of<std::vector<int>>(text + "]").size(), 16u);
}

TEST(json, writes_strings_and_numbers_that_have_no_json_form) {
  EXPECT_EQ(to_json(std::string("a\n\x01\xff")), "\"a\\n\\u0001\xef\xbf\xbd\"");
  EXPECT_EQ(to_json(std::vector<double>{std::nan(""), HUGE_VAL, 0.1}), "[null,null,0.1]");
  EXPECT_EQ(to_json(std::vector<bool>{true, false}), "[true,false]");
}

class json_route : public served {
 protected:
  void SetUp() override {
    start(on_free_port(), [](http::server& s) {
      s.post("/items", [](const request& r) { return json(r.json<item>(), 201); });
      s.post("/later", [](request r) -> task<response> { co_return json(r.json<item>(), 201); });
    });
  }
  answer post(const std::string& path, const std::string& body, const std::string& type) {
    raw_client c = connect();
    c.send("POST " + path + " HTTP/1.1\r\nHost: here\r\n" + type +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return c.read_answer();
  }
};

TEST_F(json_route, answers_with_the_value_or_with_what_is_wrong) {
  const std::string type = "Content-Type: application/json; charset=utf-8\r\n";
  for (const char* path : {"/items", "/later"}) {
    const answer good = post(path, R"({"name":"n","count":3})", type);
    EXPECT_EQ(good.status, 201u);
    EXPECT_EQ(good.body, R"({"name":"n","count":3})");
    const answer bad = post(path, R"({"name":"n","count":300})", type);
    EXPECT_EQ(bad.status, 400u);
    EXPECT_EQ(bad.headers.at("content-type"), "application/problem+json");
    EXPECT_EQ(bad.body,
              R"({"title":"Bad Request","status":400,"detail":"the body is not the expected JSON",)"
              R"("errors":[{"pointer":"/count","detail":"must be an integer from 0 to 255"}]})");
    EXPECT_EQ(post(path, "{}", "").status, 415u);
    EXPECT_EQ(post(path, "{}", "Content-Type: text/plain\r\n").status, 415u);
    EXPECT_EQ(
        post(path, R"({"name":"n","count":3})", "Content-Type: application/a+JSON\r\n").status,
        201u);
  }
  EXPECT_EQ(statistics().handler_failures, 0u);
}

}  // namespace
}  // namespace troupe::http::test
