// SPDX-License-Identifier: Apache-2.0
// Requests from coroutines, futures and callbacks of Asio.
#include <troupe/net/async_ask.hpp>

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <utility>

namespace troupe::net {
namespace {

using namespace std::chrono_literals;
using boost::asio::io_context;

struct add {
  int a;
  int b;
};
struct never {};

class adder : public actor {
 public:
  int on(add m) { return m.a + m.b; }
  void on(never, reply<std::string> owed) { owed_ = std::move(owed); }

 private:
  reply<std::string> owed_;
};

TEST(async_ask, is_awaited_by_a_coroutine_of_asio_on_its_executor) {
  troupe::system system;
  const auto to = system.spawn<adder>();
  const recipient<int(add)> same = to;
  io_context io;
  int sum = 0;
  std::thread::id resumed_on;
  boost::asio::co_spawn(
      io,
      [&]() -> boost::asio::awaitable<void> {
        const auto one = co_await async_ask<add>(system, to, 30s, boost::asio::use_awaitable, 1, 2);
        const auto two =
            co_await async_ask<add>(system, same, 30s, boost::asio::use_awaitable, 3, 4);
        resumed_on = std::this_thread::get_id();
        sum = *one + *two;
      },
      boost::asio::detached);
  io.run();  // it does not return while a request is pending
  EXPECT_EQ(sum, 10);
  EXPECT_EQ(resumed_on, std::this_thread::get_id());
}

TEST(async_ask, gives_a_future_or_calls_a_function) {
  troupe::system system;
  const auto to = system.spawn<adder>();
  auto later = async_ask<add>(system, to, 30s, boost::asio::use_future, 1, 2);
  EXPECT_EQ(later.get().value(), 3);
  io_context io;
  std::optional<int> sum;
  async_ask<add>(system, to, 30s,
                 boost::asio::bind_executor(io, [&](ask_result<int> got) { sum = *got; }), 4, 5);
  EXPECT_FALSE(sum);
  io.run();
  EXPECT_EQ(sum, 9);
}

TEST(async_ask, gives_the_errors_of_a_request) {
  std::optional<troupe::system> system(std::in_place);
  const auto to = system->spawn<adder>();
  auto late = async_ask<never>(*system, to, 1ms, boost::asio::use_future);
  EXPECT_EQ(late.get().error(), ask_error::timeout);
  auto pending = async_ask<never>(*system, to, no_timeout, boost::asio::use_future);
  EXPECT_TRUE(system->shutdown(30s).complete());
  EXPECT_EQ(pending.get().error(), ask_error::stopped);
  auto after = async_ask<never>(*system, to, no_timeout, boost::asio::use_future);
  EXPECT_EQ(after.get().error(), ask_error::stopped);
  system.reset();
}

TEST(async_ask, leaves_no_actor_behind) {
  troupe::system system;
  const auto to = system.spawn<adder>();
  for (int i = 0; i < 100; ++i) {
    auto got = async_ask<add>(system, to, 30s, boost::asio::use_future, i, i);
    ASSERT_EQ(got.get().value(), 2 * i);
  }
  const time_point end = clock::now() + 30s;
  while (system.statistics().actors_alive != 1 && clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(system.statistics().actors_alive, 1u);
}

}  // namespace
}  // namespace troupe::net
