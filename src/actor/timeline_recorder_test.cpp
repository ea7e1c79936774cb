// SPDX-License-Identifier: Apache-2.0
// The content of a system's timeline and of its hot table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/actor/blocking.hpp>
#include <troupe/actor/system.hpp>

#include "runtime.hpp"
#include "short_name.hpp"
#include "test_support.hpp"
#include "time_profile.hpp"
#include "trace_file.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using detail::timeline_slice;
using test::event;
using testing::HasSubstr;
using kind = timeline_slice::kind;

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_with(const std::string& text, const std::string& what) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(what) != std::string::npos) found.push_back(line);
  }
  return found;
}

/// The duration of the event on a line.
duration lasted(const std::string& line) {
  const std::string before = "\"dur\":";
  const std::size_t at = line.find(before);
  if (at == std::string::npos) return {};
  return std::chrono::duration_cast<duration>(
      std::chrono::duration<double, std::micro>(std::stod(line.substr(at + before.size()))));
}

duration longest(const std::vector<std::string>& lines) {
  duration most{};
  for (const std::string& each : lines) most = std::max(most, lasted(each));
  return most;
}

/// A folder that is removed at the end.
class folder {
 public:
  folder() { std::filesystem::create_directories(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("troupe-timeline-" + std::to_string(::getpid()));
};

struct work {};
struct other_work {};

/// Within a handler: waits until the recorder has asked for a slice, so that a busy host makes no
/// difference.
void last_until_ticked(std::chrono::milliseconds at_least) {
  std::this_thread::sleep_for(at_least);
  const detail::activity& mine = *detail::this_turn().counts;
  while ((mine.asked.load(relaxed) & detail::activity::tick) == 0) std::this_thread::yield();
}

/// Waits until the only worker has been idle long enough for a slice of its own.
void wait_for_a_slice_of_parking(const system& s) {
  ASSERT_TRUE(test::eventually([&] { return s.statistics().workers_parked == 1; }));
  const time_point since = clock::now();
  ASSERT_TRUE(test::eventually([&] { return clock::now() - since > 20ms; }));
}

class worker_bee : public actor {
 public:
  explicit worker_bee(event& done) : done_(done) {}
  void on(work) { last_until_ticked(20ms); }
  void on(other_work) {
    last_until_ticked(5ms);
    done_.set();
  }

 private:
  event& done_;
};

TEST(timeline, is_not_created_when_it_is_off) {
  system s({.workers = 1});
  EXPECT_EQ(detail::system_access::of(s).draws(), nullptr);
}

TEST(timeline, a_long_handler_is_a_slice_with_its_name) {
  const folder here;
  const std::string file = here.file("run.json");
  {
    event done;
    system s({.workers = 1, .timeline = {.file = file}});
    const auto bee = s.spawn<worker_bee>({.name = "Maja"}, done);
    bee.send(work{});
    bee.send(other_work{});
    ASSERT_TRUE(done.wait());
    wait_for_a_slice_of_parking(s);
  }
  const std::string text = text_of(file);
  const auto slices = lines_with(text, "\"name\":\"worker_bee: work\"");
  const auto others = lines_with(text, "\"name\":\"worker_bee: other_work\"");
  EXPECT_GE(longest(slices), 20ms);
  EXPECT_LT(longest(slices), test::patience);
  EXPECT_GE(longest(others), 4ms);  // the clock that sleeps and this one may differ by a little
  ASSERT_FALSE(slices.empty());
  EXPECT_THAT(slices[0], HasSubstr("\"actor\":\"Maja\""));
  EXPECT_THAT(slices[0], HasSubstr("\"worker\":1"));
  EXPECT_FALSE(lines_with(text, "\"cat\":\"parked\"").empty());
  EXPECT_THAT(text, HasSubstr("\"thread_name\",\"args\":{\"name\":\"troupe/1\"}"));
  EXPECT_TRUE(text.ends_with("\n]\n"));
}

TEST(timeline, the_table_has_the_hottest_first) {
  const folder here;
  const std::string file = here.file("run.json");
  {
    event done;
    system s({.workers = 1, .timeline = {.file = file}});
    const auto bee = s.spawn<worker_bee>(done);
    bee.send(work{});
    bee.send(work{});
    bee.send(other_work{});
    ASSERT_TRUE(done.wait());
    wait_for_a_slice_of_parking(s);
  }
  const std::string text = text_of(file + ".txt");
  const std::size_t hottest = text.find("worker_bee: work");
  const std::size_t next = text.find("worker_bee: other_work");
  ASSERT_NE(hottest, std::string::npos) << text;
  ASSERT_NE(next, std::string::npos) << text;
  EXPECT_LT(hottest, next);
  EXPECT_THAT(text, HasSubstr("running"));
  EXPECT_THAT(text, HasSubstr("parked"));
}

class waiter : public actor {
 public:
  waiter(event& begun, event& go_on) : begun_(begun), go_on_(go_on) {}
  void on(work) {
    blocking([this] {
      begun_.set();
      (void)go_on_.wait();
    });
    std::this_thread::sleep_for(1ms);
  }

 private:
  event& begun_;
  event& go_on_;
};

TEST(timeline, a_handler_that_blocks_has_lost_its_worker) {
  const folder here;
  const std::string file = here.file("run.json");
  {
    event begun;
    event go_on;
    event done;
    system s({.workers = 1, .timeline = {.file = file}});
    s.spawn<waiter>(begun, go_on).send(work{});
    ASSERT_TRUE(begun.wait());
    s.spawn<worker_bee>(done).send(other_work{});
    ASSERT_TRUE(done.wait());
    go_on.set();
  }
  const std::string text = text_of(file);
  EXPECT_GE(longest(lines_with(text, "\"name\":\"waiter: work (replaced)\"")), 5ms);
  const auto others = lines_with(text, "\"name\":\"worker_bee: other_work\"");
  ASSERT_FALSE(others.empty());
  EXPECT_THAT(others[0], HasSubstr("\"worker\":1"));
  EXPECT_THAT(others[0], HasSubstr("\"tid\":2"));
}

TEST(timeline, threads_of_their_own_and_pumps_have_lanes) {
  const folder here;
  const std::string file = here.file("run.json");
  {
    event own_done;
    event bound_done;
    system s({.workers = 1, .timeline = {.file = file}});
    pump here_too(s);
    s.spawn<worker_bee>({.name = "hermit", .where = own_thread}, own_done).send(other_work{});
    s.spawn<worker_bee>({.where = bound_to(here_too)}, bound_done).send(other_work{});
    ASSERT_TRUE(own_done.wait());
    here_too.run_until_idle();
    EXPECT_TRUE(bound_done.is_set());
  }
  const std::string text = text_of(file);
  EXPECT_THAT(text, HasSubstr("\"name\":\"hermit\""));
  EXPECT_THAT(text, HasSubstr("\"name\":\"pump\""));
  EXPECT_GE(lines_with(text, "\"name\":\"worker_bee: other_work\"").size(), 2u);
}

TEST(timeline, a_file_that_cannot_be_made_is_an_error_that_names_it) {
  try {
    const system s({.workers = 1, .timeline = {.file = "/nowhere/run.json"}});
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
    EXPECT_THAT(e.what(), HasSubstr("/nowhere/run.json"));
  }
  const system next({.workers = 1});  // nothing of it is left
  EXPECT_EQ(next.statistics().workers, 1u);
}

TEST(timeline, slices_that_do_not_fit_are_counted_and_listed_in_the_table) {
  const folder here;
  const std::string file = here.file("run.json");
  {
    event done;
    system s({.workers = 1, .timeline = {.file = file, .bytes_max = 0}});
    const auto bee = s.spawn<worker_bee>(done);
    bee.send(other_work{});
    ASSERT_TRUE(done.wait());
  }
  const std::string text = text_of(file);
  EXPECT_TRUE(lines_with(text, "\"ph\":\"X\"").empty());
  EXPECT_TRUE(lines_with(text, "\"slices_left_out\":0").empty());
  EXPECT_FALSE(lines_with(text, "\"slices_left_out\":").empty());
  EXPECT_THAT(text_of(file + ".txt"), HasSubstr("other_work"));
}

TEST(timeline, the_environment_names_the_file_for_any_program) {
  const folder here;
  ASSERT_EQ(::setenv("TROUPE_TRACE", here.file("any.json").c_str(), 1), 0);
  {
    const system one({.workers = 1});
    const system other({.workers = 1});
    const system chosen({.workers = 1, .timeline = {.file = here.file("chosen.json")}});
  }
  ASSERT_EQ(::unsetenv("TROUPE_TRACE"), 0);
  int systems = 0;  // earlier ones in this process have had the first numbers
  for (const auto& each : std::filesystem::directory_iterator(here.path())) {
    const std::string name = each.path().filename().string();
    if (!name.ends_with(".json")) continue;
    EXPECT_TRUE(text_of(each.path().string()).ends_with("\n]\n")) << name;
    systems += name.starts_with("any") ? 1 : 0;
  }
  EXPECT_EQ(systems, 2);
  EXPECT_FALSE(text_of(here.file("chosen.json")).empty());
}

TEST(trace_file, text_is_json_whatever_a_name_is) {
  const folder here;
  const std::string name = here.file("run.json");
  const time_point now = clock::now();
  detail::trace_file file(name, 1 << 20, now);
  timeline_slice slice{
      .begin = now + 1500ns,
      .end = now + 2ms,
      .label = {.actor = "a::b<c::d>", .message = "say \"\\\"\n\xff\xc3\xa4\xe2\x82"},
      .waited = 1us,
      .messages = 7,
      .worker = 2,
      .what = kind::running};
  slice.label.name = {'\xc3'};
  file.write(1, slice);
  file.end(now + 3ms, 5);
  EXPECT_EQ(file.failure(), 0);
  const std::string text = text_of(name);
  EXPECT_THAT(text, HasSubstr("\"ts\":1.500,\"dur\":1998.500,"));
  EXPECT_THAT(text, HasSubstr("\"name\":\"b<d>: say \\\"\\\\\\\" ?\xc3\xa4??\""));
  EXPECT_THAT(text, HasSubstr("\"worker\":2,\"messages\":7,\"waited_us\":1.000"));
  EXPECT_THAT(text, HasSubstr("\"actor\":\"?\""));
  EXPECT_THAT(text, HasSubstr("\"slices_lost\":5,\"slices_left_out\":0"));
}

TEST(short_name, omits_namespaces_and_enclosing_scopes) {
  using detail::short_name;
  EXPECT_EQ(short_name("plain"), "plain");
  EXPECT_EQ(short_name("a::b::c"), "c");
  EXPECT_EQ(short_name("a::{anonymous}::b<c::d, {anonymous}::e<f::g>>"), "b<d, e<g>>");
  EXPECT_EQ(short_name("(anonymous namespace)::a"), "a");
  EXPECT_EQ(short_name("a<b::c>::d"), "d");
  EXPECT_EQ(short_name("a::f(b::c)::local"), "local");
  EXPECT_EQ(short_name("waiting for room in a full mailbox"), "waiting for room in a full mailbox");
  EXPECT_EQ(short_name("a>::b"), "a>b");
  EXPECT_EQ(short_name("::"), "");
}

TEST(time_profile, calls_types_of_one_name_by_their_full_ones) {
  const time_point now = clock::now();
  detail::time_profile hot(now);
  const auto add = [&](std::string_view actor, duration time, kind what) {
    hot.add({.begin = now,
             .end = now + time,
             .label = {.actor = actor, .message = "x::m"},
             .waited = {},
             .messages = 1,
             .what = what});
  };
  add("a::clerk", 10ms, kind::running);
  add("b::clerk", 30ms, kind::running);
  add("a::boss", 20ms, kind::replaced);
  const std::string text = hot.text(now + 60ms);
  EXPECT_THAT(text, HasSubstr("        30.0    75.0          0.0         1  b::clerk: x::m\n"
                              "         0.0     0.0         20.0         1  boss: m\n"
                              "        10.0    25.0          0.0         1  a::clerk: x::m\n"));
  EXPECT_THAT(text, HasSubstr("running 66.7, replaced 33.3\n"));
}

TEST(time_profile, counts_beyond_the_first_thousand_kinds_together) {
  const time_point now = clock::now();
  detail::time_profile hot(now);
  std::vector<std::string> names;
  for (int i = 0; i < 1500; ++i) names.push_back(std::to_string(i));
  for (const std::string& each : names) {
    hot.add({.begin = now,
             .end = now + 1ms,
             .label = {.actor = each, .message = "m"},
             .waited = {},
             .messages = 1,
             .what = kind::running});
  }
  const std::string text = hot.text(now + 1500ms);
  EXPECT_THAT(text, HasSubstr("500.0    33.3          0.0       500  (others)"));
  EXPECT_EQ(lines_with(text, ": m").size(), 1001u) << "one of them is the head";
}

}  // namespace
}  // namespace troupe
