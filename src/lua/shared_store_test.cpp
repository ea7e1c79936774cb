// SPDX-License-Identifier: Apache-2.0

#include "shared_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cbor_integer.hpp"
#include "value_codec.hpp"

#include "script_test.hpp"

namespace troupe::lua::detail {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using written = shared_store::written;
using outcome = shared_store::increased::outcome;

constexpr time_point start{};
constexpr time_point never = shared_store::never;

shared_store::value text(std::string of) {
  return std::make_shared<const std::string>(std::move(of));
}

std::string numbered(int i) {
  std::string key = "k";
  return key.append(std::to_string(i));
}

std::string read(shared_store& from, std::string_view key, time_point now = start) {
  const auto got = from.get(key, now);
  return got ? *got->value : "none";
}

store_options bounds(std::size_t bytes, std::size_t entries, on_full policy = on_full::refuse) {
  return {.bytes = bytes, .entries = entries, .on_full = policy};
}

TEST(shared_store, keeps_a_value_until_it_is_removed) {
  shared_store s(store_options{});
  EXPECT_EQ(read(s, "a"), "none");
  EXPECT_EQ(s.set("a", text("1"), never, start), written::done);
  EXPECT_EQ(s.set("a", text("2"), never, start), written::done);
  EXPECT_EQ(read(s, "a"), "2");
  EXPECT_EQ(s.statistics().bytes, 1 + 1 + shared_store::entry_bytes);
  EXPECT_TRUE(s.remove("a", start));
  EXPECT_FALSE(s.remove("a", start));
  EXPECT_EQ(s.statistics().bytes, 0u);
  EXPECT_EQ(s.statistics().hits, 1u);
  EXPECT_EQ(s.statistics().misses, 1u);
}

TEST(shared_store, add_does_not_replace_an_existing_value) {
  shared_store s(store_options{});
  EXPECT_EQ(s.add("a", text("1"), start + 1s, start), written::done);
  EXPECT_EQ(s.add("a", text("2"), never, start), written::not_done);
  EXPECT_EQ(read(s, "a"), "1");
  EXPECT_EQ(s.add("a", text("3"), never, start + 1s), written::done);
  EXPECT_EQ(read(s, "a", start + 1h), "3");
}

TEST(shared_store, a_version_is_of_one_change_only) {
  shared_store s(store_options{});
  EXPECT_EQ(s.compare_and_set("a", 1, text("x"), never, start), written::not_done);
  EXPECT_EQ(s.compare_and_set("a", 0, text("x"), never, start), written::done);
  EXPECT_EQ(s.compare_and_set("a", 0, text("y"), never, start), written::not_done);
  const auto first = s.get("a", start)->version;
  EXPECT_EQ(s.compare_and_set("a", first, text("y"), never, start), written::done);
  EXPECT_EQ(s.compare_and_set("a", first, text("z"), never, start), written::not_done);
  // The version differs even for an entry that was removed and created again.
  const auto second = s.get("a", start)->version;
  s.remove("a", start);
  s.set("a", text("y"), never, start);
  EXPECT_EQ(s.compare_and_set("a", second, text("z"), never, start), written::not_done);
}

TEST(shared_store, integers_are_increased_and_nothing_else) {
  shared_store s(store_options{});
  EXPECT_EQ(s.increase("n", 5, start + 1s, start).value, 5);
  EXPECT_EQ(s.increase("n", -7, start + 9s, start).value, -2);
  EXPECT_EQ(s.increase("n", 1, never, start + 1s).value, 1);  // the first time to live remains
  s.set("t", text(std::string("\x61x")), never, start);
  EXPECT_EQ(s.increase("t", 1, never, start).what, outcome::no_integer);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(s.increase("m", most, never, start).value, most);
  EXPECT_EQ(s.increase("m", 1, never, start).what, outcome::too_large);
  EXPECT_EQ(s.increase("m", 0, never, start).value, most);
}

TEST(shared_store, expired_entries_are_absent_and_freed_by_later_operations) {
  shared_store s(store_options{});
  s.set("a", text("1"), start + 1s, start);
  s.set("b", text("1"), start + 2s, start);
  s.set("c", text("1"), start + 1s, start);
  EXPECT_EQ(read(s, "a", start + 1s - 1ns), "1");
  EXPECT_EQ(read(s, "a", start + 1s), "none");
  EXPECT_THAT(s.keys("", "", 10, start + 1s), ElementsAre("b"));
  EXPECT_EQ(s.statistics().expired, 2u);
  EXPECT_EQ(s.statistics().entries, 1u);
  EXPECT_FALSE(s.remove("x", start + 2s));
  EXPECT_EQ(s.statistics().entries, 0u);
  EXPECT_EQ(s.statistics().expired, 3u);
}

TEST(shared_store, expired_entries_are_absent_even_if_many_expire_at_once) {
  shared_store s(store_options{});
  constexpr int many = 20;  // more than one call frees
  for (int i = 0; i < many; ++i) s.set(numbered(i), text("1"), start + 1s, start);
  const time_point now = start + 1s;
  EXPECT_EQ(s.add(numbered(many - 1), text("2"), never, now), written::done);
  EXPECT_EQ(s.compare_and_set(numbered(many - 2), 0, text("2"), never, now), written::done);
  EXPECT_FALSE(s.expire(numbered(many - 3), never, now));
  EXPECT_EQ(s.increase(numbered(many - 4), 5, never, now).value, 5);
  EXPECT_EQ(s.statistics().entries, 3u);
}

TEST(shared_store, sweep_frees_expired_entries) {
  shared_store s(store_options{});
  for (int i = 0; i < 10; ++i) s.set(numbered(i), text("1"), start + 1s, start);
  s.set("later", text("1"), start + 2s, start);
  s.set("ever", text("1"), never, start);
  EXPECT_TRUE(s.sweep(4, start + 1s));
  EXPECT_EQ(s.statistics().entries, 8u);
  EXPECT_TRUE(s.sweep(100, start + 1s));
  EXPECT_FALSE(s.sweep(100, start + 2s));
  EXPECT_EQ(s.statistics().entries, 1u);
}

TEST(shared_store, an_end_may_be_set_put_off_and_taken_back) {
  shared_store s(store_options{});
  EXPECT_FALSE(s.expire("a", start + 1s, start));
  s.set("a", text("1"), never, start);
  EXPECT_TRUE(s.expire("a", start + 1s, start));
  EXPECT_TRUE(s.expire("a", start + 3s, start));
  EXPECT_EQ(read(s, "a", start + 2s), "1");
  EXPECT_TRUE(s.expire("a", never, start + 2s));
  EXPECT_EQ(read(s, "a", start + 1h), "1");
  s.expire("a", start + 2h, start + 1h);
  s.set("a", text("2"), never, start + 1h);  // setting it again sets its own
  EXPECT_EQ(read(s, "a", start + 3h), "2");
}

TEST(shared_store, refuses_entries_that_exceed_its_limits) {
  shared_store s(bounds(3 * (shared_store::entry_bytes + 2), 10));
  for (const char* key : {"a", "b", "c"})
    EXPECT_EQ(s.set(key, text("1"), never, start), written::done);
  EXPECT_EQ(s.set("d", text("1"), never, start), written::full);
  EXPECT_EQ(s.set("a", text("12"), never, start), written::full);
  EXPECT_EQ(read(s, "a"), "1");
  EXPECT_EQ(s.increase("d", 1, never, start).what, outcome::full);
  EXPECT_EQ(s.statistics().refused, 3u);
  EXPECT_EQ(s.set("a", text("2"), never, start), written::done);  // as large as before
  s.remove("b", start);
  EXPECT_EQ(s.set("d", text("1"), never, start), written::done);

  shared_store few(bounds(1'000'000, 2));
  few.set("a", text("1"), start + 1s, start);
  few.set("b", text("1"), never, start);
  EXPECT_EQ(few.set("c", text("1"), never, start), written::full);
  EXPECT_EQ(few.set("c", text("1"), never, start + 1s),
            written::done);  // replaces an expired one
}

TEST(shared_store, evicts_the_least_recently_used_entries) {
  shared_store s(bounds(3 * (shared_store::entry_bytes + 2), 10, on_full::evict));
  for (const char* key : {"a", "b", "c"}) s.set(key, text("1"), never, start);
  EXPECT_EQ(read(s, "a"), "1");
  EXPECT_EQ(s.set("d", text("1"), never, start), written::done);
  EXPECT_THAT(s.keys("", "", 10, start), ElementsAre("a", "c", "d"));
  EXPECT_EQ(s.set("c", text("12"), never, start), written::done);  // does not evict itself
  EXPECT_THAT(s.keys("", "", 10, start), ElementsAre("c", "d"));
  EXPECT_EQ(s.set("huge", text(std::string(1'000, 'x')), never, start), written::full);
  EXPECT_THAT(s.keys("", "", 10, start), ElementsAre("c", "d"));
  EXPECT_EQ(s.set("c", text(std::string(300, 'x')), never, start), written::full);
  EXPECT_EQ(s.statistics().evicted, 3u);
}

TEST(shared_store, keys_are_listed_in_order_and_in_pages) {
  shared_store s(store_options{});
  for (const char* key : {"b:2", "a", "b:1", "b:3", "c"}) s.set(key, text("1"), never, start);
  EXPECT_THAT(s.keys("b:", "", 2, start), ElementsAre("b:1", "b:2"));
  EXPECT_THAT(s.keys("b:", "b:2", 2, start), ElementsAre("b:3"));
  EXPECT_THAT(s.keys("", "b:3", 9, start), ElementsAre("c"));
  EXPECT_THAT(s.keys("x", "", 9, start), ElementsAre());
}

TEST(shared_store, a_stampede_counts_right_and_stays_within_its_bounds) {
  shared_store s(bounds(200 * (shared_store::entry_bytes + 8), 100, on_full::evict));
  constexpr int each = 2'000;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&s, t] {
      for (int i = 0; i < each; ++i) {
        const std::string key = numbered((i * 7 + t) % 150);
        s.set(key, text("1"), i % 3 == 0 ? start + 1s : never, start);
        (void)s.get(key, start);
        (void)s.get("sum", start);  // keeps it from being evicted
        s.increase("sum", 1, never, start);
        if (i % 5 == 0) s.remove(key, start + 1s);
        EXPECT_LE(s.statistics().entries, 100u);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(s.increase("sum", 0, never, start).value, 4 * each);
}

class cbor_integers : public script {
 protected:
  cbor_integers() : script({.run_timeout = std::chrono::minutes(1)}) {}
};

TEST_F(cbor_integers, are_as_the_codec_writes_them) {
  using limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{23}, std::int64_t{24}, std::int64_t{255}, std::int64_t{256},
        std::int64_t{65'535}, std::int64_t{65'536}, std::int64_t{4'294'967'295},
        std::int64_t{4'294'967'296}, limits::max()}) {
    for (const std::int64_t each : {n, -n, -1 - n}) {
      std::string bytes;
      lua_pushinteger(state_.main(), each);
      encode(state_.main(), -1, encoding::cbor, bytes);
      lua_pop(state_.main(), 1);
      EXPECT_EQ(cbor_of(each), bytes) << each;
      EXPECT_EQ(integer_of_cbor(bytes), each);
    }
  }
  for (const std::string_view none :
       {"", "\x18", "\x1b\xff\xff\xff\xff\xff\xff\xff\xff", "\x61x", "\xf6", "\x01\x01", "\x1c"}) {
    EXPECT_EQ(integer_of_cbor(none), std::nullopt);
  }
}

}  // namespace
}  // namespace troupe::lua::detail
