// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/loop.hpp>

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>

namespace troupe::net {
namespace {

using namespace std::chrono_literals;

struct where {
  std::promise<std::thread::id>* answer;
};

class local : public actor {
 public:
  explicit local(std::shared_ptr<std::binary_semaphore> gone = nullptr) : gone_(std::move(gone)) {}
  ~local() {
    if (gone_) gone_->release();
  }
  void on(where m) { m.answer->set_value(std::this_thread::get_id()); }

 private:
  std::shared_ptr<std::binary_semaphore> gone_;
};

std::thread::id thread_of(loop& l) {
  std::promise<std::thread::id> answer;
  boost::asio::post(l.context(), [&] { answer.set_value(std::this_thread::get_id()); });
  return answer.get_future().get();
}

std::thread::id thread_of(const ref<local>& a) {
  std::promise<std::thread::id> answer;
  a.send(where{&answer});
  return answer.get_future().get();
}

TEST(loop, actors_and_completion_handlers_share_one_thread) {
  troupe::system system{{.workers = 1}};
  loop l{system};
  const auto a = system.spawn<local>({.where = bound_to(l.pump())});
  EXPECT_EQ(thread_of(a), thread_of(l));
  EXPECT_NE(thread_of(a), std::this_thread::get_id());
  a.stop();
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(loop, several_loops_have_a_thread_each) {
  troupe::system system{{.workers = 1}};
  loop first{system};
  loop second{system};
  EXPECT_NE(thread_of(first), thread_of(second));
}

/// Keeps itself busy forever.
class spinner : public actor {
 public:
  struct again {};
  void on_start() { on(again{}); }
  void on(again) { self(this).send(again{}); }
};

TEST(loop, a_busy_actor_does_not_keep_sockets_and_timers_waiting) {
  troupe::system system{{.workers = 1}};
  loop l{system};
  const auto busy = system.spawn<spinner>({.where = bound_to(l.pump())});
  std::binary_semaphore fired{0};
  boost::asio::steady_timer timer{l.context(), 1ms};
  timer.async_wait([&](const auto&) { fired.release(); });
  EXPECT_TRUE(fired.try_acquire_for(60s));
  busy.stop_now();
  busy.join();
}

TEST(loop, an_exception_out_of_a_handler_leaves_it_running) {
  troupe::system system{{.workers = 1}};
  loop l{system};
  boost::asio::post(l.context(), [] { throw std::runtime_error("on purpose"); });
  boost::asio::post(l.context(), [] { throw 1; });
  const auto a = system.spawn<local>({.where = bound_to(l.pump())});
  EXPECT_EQ(thread_of(a), thread_of(l));
}

TEST(loop, its_end_ends_actors_and_drops_operations) {
  troupe::system system{{.workers = 1}};
  const auto gone = std::make_shared<std::binary_semaphore>(0);
  ref<local> a;
  bool completed = false;
  {
    loop l{system};
    a = system.spawn<local>({.where = bound_to(l.pump())}, gone);
    auto timer = std::make_shared<boost::asio::steady_timer>(l.context(), 1h);
    timer->async_wait([&completed, timer](const auto&) { completed = true; });
  }
  EXPECT_TRUE(gone->try_acquire());
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  EXPECT_FALSE(completed);
}

TEST(loop, keeps_pumping_while_the_system_shuts_down) {
  troupe::system system{{.workers = 1}};
  loop l{system};
  const auto a = system.spawn<local>({.where = bound_to(l.pump())});
  EXPECT_TRUE(system.shutdown(60s).complete());
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(loop, many_wake_ups_lose_nothing) {
  troupe::system system{{.workers = 2}};
  loop l{system};
  const auto a = system.spawn<local>({.where = bound_to(l.pump())});
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(thread_of(a), thread_of(l));
}

}  // namespace
}  // namespace troupe::net
