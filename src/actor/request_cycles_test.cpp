// SPDX-License-Identifier: Apache-2.0
// Time-outs that name the actors which wait for each other's replies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "ask_test_support.hpp"

namespace troupe::test {
namespace {

class party;

// The actor to ask next, the time-out, and the kind of handler that replies.
struct hop {
  std::size_t to;
  duration time;
  task<std::string> (party::*asks)(hop next, std::vector<hop> rest);
};
using route = std::vector<hop>;

struct exclusively {
  route rest;
};
struct ordinarily {
  route rest;
};
struct blocking {
  route rest;
};
struct passing_on {
  route rest;
};
struct of_all {
  duration time;
  route silent, other;
};
struct of_any {
  duration time;
  route silent, other;
};
struct never {};

using parties = std::vector<ref<party>>;

/// Replies "answered"; or, if it has to ask another actor first, that actor's reply, or the error.
class party : public actor {
 public:
  explicit party(const parties& all) : all_(all) {}

  exclusive_task<std::string> on(exclusively m) { co_return co_await answer(std::move(m.rest)); }
  task<std::string> on(ordinarily m) { return answer(std::move(m.rest)); }
  std::string on(blocking m) {
    if (m.rest.empty()) return "answered";
    const hop next = take_first(m.rest);
    auto got = all_[next.to].ask<ordinarily>(next.time, std::move(m.rest)).get();
    return got ? *got : got.message();
  }
  void on(passing_on m, reply<std::string> owed) {
    const hop next = take_first(m.rest);
    (void)all_[next.to].pass_on<ordinarily>(std::move(owed), std::move(m.rest));
  }
  void on(never, reply<std::string> owed) { kept_.push_back(std::move(owed)); }

  // Awaits two requests, one of which never gets a reply.
  exclusive_task<std::vector<std::string>> on(of_all m) {
    auto silent = all_[m.silent.front().to].ask<never>(no_timeout);
    auto other = all_[m.other.front().to].ask<ordinarily>(no_timeout, rest_of(m.other));
    auto [one, two] = co_await all(m.time, std::move(silent), std::move(other));
    co_return std::vector<std::string>{one.message(), two.message()};
  }
  exclusive_task<std::string> on(of_any m) {
    auto silent = all_[m.silent.front().to].ask<never>(no_timeout);
    auto other = all_[m.other.front().to].ask<ordinarily>(no_timeout, rest_of(m.other));
    auto first = co_await any(m.time, std::move(silent), std::move(other));
    co_return first.result.message();
  }

  task<std::string> to_exclusive(hop next, route rest) {
    auto got = co_await all_[next.to].ask<exclusively>(next.time, std::move(rest));
    co_return got ? *got : got.message();
  }
  task<std::string> to_ordinary(hop next, route rest) {
    auto got = co_await all_[next.to].ask<ordinarily>(next.time, std::move(rest));
    co_return got ? *got : got.message();
  }
  task<std::string> to_blocking(hop next, route rest) {
    auto got = co_await all_[next.to].ask<blocking>(next.time, std::move(rest));
    co_return got ? *got : got.message();
  }
  task<std::string> to_passing_on(hop next, route rest) {
    auto got = co_await all_[next.to].ask<passing_on>(next.time, std::move(rest));
    co_return got ? *got : got.message();
  }
  task<std::string> to_silent(hop next, route) {
    auto got = co_await all_[next.to].ask<never>(next.time);
    co_return got ? *got : got.message();
  }

 private:
  static hop take_first(route& of) {
    const hop first = of.front();
    of.erase(of.begin());
    return first;
  }
  static route rest_of(route of) {
    of.erase(of.begin());
    return of;
  }
  task<std::string> answer(route rest) {
    if (rest.empty()) co_return "answered";
    const hop next = take_first(rest);
    co_return co_await (this->*next.asks)(next, std::move(rest));
  }

  const parties& all_;
  std::vector<reply<std::string>> kept_;
};

constexpr auto exclusive = &party::to_exclusive;
constexpr auto ordinary = &party::to_ordinary;
constexpr auto by_get = &party::to_blocking;
constexpr auto passed_on = &party::to_passing_on;
constexpr auto silent = &party::to_silent;

constexpr std::size_t clerk = 0;
constexpr std::size_t teller = 1;
constexpr std::size_t guard = 2;

class request_cycles : public testing::Test {
 protected:
  request_cycles() {
    for (const char* name : {"clerk", "teller", "guard"}) {
      all_.push_back(system_.spawn<party>({.name = name}, std::as_const(all_)));
    }
  }
  ~request_cycles() override {
    for (const auto& each : all_) each.stop_now();
  }

  // `ask(time)`: the result of the request that times out, with that time-out. On a slow host the
  // time may be over before there is a cycle.
  template <class Ask>
  static auto patiently(Ask&& ask) {
    auto said = ask(duration(50ms));
    for (const duration longer : {500ms, 5'000ms}) {
      if (said != plain(said) && !is_none(said)) break;
      said = ask(longer);
    }
    return said;
  }
  // a reply came, late
  static bool is_none(const std::string& said) { return said.empty(); }
  static bool is_none(const std::vector<std::string>&) { return false; }
  static std::string plain(const std::string&) { return "timeout"; }
  static std::vector<std::string> plain(const std::vector<std::string>&) {
    return {"timeout", "timeout"};
  }

  parties all_;
  troupe::system system_;
};

TEST_F(request_cycles, of_two_exclusive_handlers_are_named) {
  EXPECT_EQ(patiently([&](duration time) {
              return all_[clerk]
                  .ask<exclusively>(
                      patience, route{{teller, time, exclusive}, {clerk, no_timeout, exclusive}})
                  .get()
                  .value();
            }),
            "timeout: clerk waits for teller, which waits for clerk");
}

TEST_F(request_cycles, of_one_with_itself_are_named) {
  EXPECT_EQ(
      patiently([&](duration time) {
        return all_[clerk].ask<exclusively>(patience, route{{clerk, time, ordinary}}).get().value();
      }),
      "timeout: clerk waits for clerk");
}

TEST_F(request_cycles, through_an_ordinary_handler_are_named) {
  EXPECT_EQ(patiently([&](duration time) {
              return all_[clerk]
                  .ask<exclusively>(patience,
                                    route{{teller, time, ordinary}, {clerk, no_timeout, ordinary}})
                  .get()
                  .value();
            }),
            "timeout: clerk waits for teller, which waits for clerk");
}

TEST_F(request_cycles, through_several_ordinary_handlers_are_named) {
  EXPECT_EQ(patiently([&](duration time) {
              return all_[clerk]
                  .ask<exclusively>(patience, route{{teller, time, ordinary},
                                                    {guard, no_timeout, ordinary},
                                                    {teller, no_timeout, ordinary},
                                                    {clerk, no_timeout, ordinary}})
                  .get()
                  .value();
            }),
            "timeout: clerk waits for teller, which waits for guard, which waits for teller, "
            "which waits for clerk");
}

TEST_F(request_cycles, through_get_are_named) {
  EXPECT_EQ(patiently([&](duration time) {
              return all_[clerk]
                  .ask<exclusively>(patience,
                                    route{{teller, time, by_get}, {clerk, 20 * time, ordinary}})
                  .get()
                  .value();
            }),
            "timeout: clerk waits for teller, which waits for clerk");
}

TEST_F(request_cycles, through_a_forwarded_request_are_named) {
  EXPECT_EQ(patiently([&](duration time) {
              return all_[clerk]
                  .ask<exclusively>(patience, route{{teller, time, passed_on},
                                                    {guard, no_timeout, ordinary},
                                                    {clerk, no_timeout, ordinary}})
                  .get()
                  .value();
            }),
            "timeout: clerk waits for guard, which waits for clerk");
}

TEST_F(request_cycles, of_which_the_requester_is_not_a_member_are_named) {
  EXPECT_EQ(patiently([&](duration time) {
              return all_[guard]
                  .ask<ordinarily>(patience, route{{clerk, time, exclusive},
                                                   {teller, 20 * time, ordinary},
                                                   {clerk, no_timeout, ordinary}})
                  .get()
                  .value();
            }),
            "timeout: clerk waits for teller, which waits for clerk");
}

TEST_F(request_cycles, that_a_thread_waits_for_are_named) {
  EXPECT_EQ(patiently([&](duration time) {
              return all_[clerk]
                  .ask<exclusively>(
                      time, route{{teller, 20 * time, ordinary}, {clerk, no_timeout, ordinary}})
                  .get()
                  .message();
            }),
            "timeout: clerk waits for teller, which waits for clerk");
}

TEST_F(request_cycles, of_one_of_several_questions_are_named) {
  const route to_guard{{guard, no_timeout, silent}};
  const route to_teller{{teller, no_timeout, ordinary}, {clerk, no_timeout, ordinary}};
  const std::string circle = "timeout: clerk waits for teller, which waits for clerk";
  EXPECT_EQ(patiently([&](duration time) {
              return all_[clerk].ask<of_all>(patience, time, to_guard, to_teller).get().value();
            }),
            (std::vector<std::string>{"timeout", circle}));
}

TEST_F(request_cycles, through_one_of_the_requests_of_any_are_named) {
  const route to_guard{{guard, no_timeout, silent}};
  const route to_teller{{teller, no_timeout, ordinary}, {clerk, no_timeout, ordinary}};
  EXPECT_EQ(patiently([&](duration time) {
              return all_[clerk].ask<of_any>(patience, time, to_guard, to_teller).get().value();
            }),
            "timeout: clerk waits for teller, which waits for clerk");
}

// ── None ──────────────────────────────────────────────────────────────────────────────────────

TEST_F(request_cycles, are_not_named_when_there_is_no_cycle) {
  EXPECT_EQ(
      all_[clerk]
          .ask<exclusively>(patience, route{{teller, 10ms, ordinary}, {guard, no_timeout, silent}})
          .get()
          .value(),
      "timeout");
}

TEST_F(request_cycles, are_not_named_for_an_unrelated_request_in_the_other_direction) {
  // The teller does not need the clerk's reply in order to reply to the clerk's request.
  auto other = all_[guard].ask<exclusively>(
      patience, route{{teller, patience, ordinary}, {clerk, patience, exclusive}});
  EXPECT_EQ(all_[clerk].ask<exclusively>(patience, route{{teller, 10ms, silent}}).get().value(),
            "timeout");
  EXPECT_EQ(other.get().value(), "answered");
}

TEST_F(request_cycles, end_when_their_requests_have_timed_out) {
  const auto ask_round = [&](duration time) {
    return all_[clerk]
        .ask<exclusively>(patience, route{{teller, time, ordinary}, {clerk, no_timeout, ordinary}})
        .get()
        .value();
  };
  EXPECT_EQ(patiently(ask_round), "timeout: clerk waits for teller, which waits for clerk");
  // Once each has handled its request.
  ASSERT_EQ(all_[clerk].ask<ordinarily>(patience, route{}).get().value(), "answered");
  ASSERT_EQ(all_[teller].ask<exclusively>(patience, route{}).get().value(), "answered");
  for (const std::size_t one : {clerk, teller}) {
    const std::size_t other = one == clerk ? teller : clerk;
    EXPECT_EQ(all_[one].ask<exclusively>(patience, route{{other, 10ms, silent}}).get().value(),
              "timeout");
    EXPECT_EQ(all_[one].ask<never>(1ms).get().message(), "timeout");
  }
}

TEST_F(request_cycles, end_when_get_receives_its_reply) {
  EXPECT_EQ(all_[clerk].ask<blocking>(patience, route{{teller, patience, ordinary}}).get().value(),
            "answered");
  EXPECT_EQ(all_[teller].ask<exclusively>(patience, route{{clerk, 10ms, silent}}).get().value(),
            "timeout")
      << "the clerk waits for nobody any more";
}

TEST_F(request_cycles, end_when_one_of_the_actors_terminates) {
  const ref<party> gone = system_.spawn<party>({.name = "gone"}, std::as_const(all_));
  all_.push_back(gone);
  auto asked = gone.ask<exclusively>(
      patience, route{{teller, patience, ordinary}, {all_.size() - 1, patience, ordinary}});
  // Once the teller waits for it.
  ASSERT_EQ(patiently([&](duration time) {
              return all_[guard]
                  .ask<exclusively>(patience, route{{all_.size() - 1, time, ordinary}})
                  .get()
                  .value();
            }),
            "timeout: gone waits for teller, which waits for gone");
  gone.stop_now();
  EXPECT_EQ(asked.get().error(), ask_error::stopped);
  ASSERT_EQ(all_[teller].ask<ordinarily>(patience, route{}).get().value(), "answered");
  EXPECT_EQ(all_[guard].ask<exclusively>(patience, route{{teller, 10ms, silent}}).get().value(),
            "timeout");
}

}  // namespace
}  // namespace troupe::test
