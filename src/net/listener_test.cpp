// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/listener.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "sanitized.hpp"

namespace troupe::net {
namespace {

// The error with which the next accept() of this program fails; 0 for success.
std::atomic<int> accept_fails_with{0};

#ifdef TROUPE_TEST_SANITIZED
constexpr bool accept_is_replaced = false;
#else
constexpr bool accept_is_replaced = true;
#endif

}  // namespace
}  // namespace troupe::net

#ifndef TROUPE_TEST_SANITIZED

extern "C" int accept(int on, sockaddr* from, socklen_t* size) {
  if (const int why = troupe::net::accept_fails_with.exchange(0); why != 0) {
    errno = why;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_accept4, on, from, size, 0));
}

#endif

namespace troupe::net {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

/// The arrived connections and errors. The test's thread waits for them.
struct visitors {
  void add(socket s) {
    const std::lock_guard lock(mutex);
    sockets.push_back(std::move(s));
    changed.notify_all();
  }
  bool come_to(std::size_t n, std::chrono::milliseconds within = 60s) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, within, [&] { return sockets.size() >= n; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<socket> sockets;
  std::atomic<unsigned> pauses{0};
};

/// Accepts as many connections as it is told to.
class host : public actor {
 public:
  struct more {};

  host(loop& l, acceptor on, std::shared_ptr<visitors> all)
      : loop_(l), acceptor_(std::move(on)), all_(std::move(all)) {}
  void on_start() {
    listener_ = system().spawn<listener>({.where = bound_to(loop_.pump())}, std::move(acceptor_),
                                         self(this));
  }
  void on_stop() { listener_.stop_now(); }
  void on(more) { listener_.send(accept{&loop_}); }
  void on(accepted m) { all_->add(std::move(m.connection)); }
  void on(const accept_paused&) { ++all_->pauses; }

 private:
  loop& loop_;
  acceptor acceptor_;
  ref<listener> listener_;
  std::shared_ptr<visitors> all_;
};

class listening : public testing::Test {
 protected:
  ~listening() override {
    host_.stop();
    host_.join();
    all_->sockets.clear();
  }

  asio::ip::tcp::socket connect() {
    asio::ip::tcp::socket s{here_};
    s.connect({asio::ip::address_v4::loopback(), port_});
    return s;
  }

  troupe::system system_{{.workers = 1}};
  loop loop_{system_};
  asio::io_context here_;
  std::shared_ptr<visitors> all_ = std::make_shared<visitors>();
  acceptor acceptor_ = listen(loop_.context(), "127.0.0.1", 0);
  const std::uint16_t port_ = acceptor_.local_endpoint().port();
  ref<host> host_ =
      system_.spawn<host>({.where = bound_to(loop_.pump())}, loop_, std::move(acceptor_), all_);
};

TEST_F(listening, takes_one_for_each_time_it_is_asked) {
  const auto first = connect();
  const auto second = connect();
  EXPECT_FALSE(all_->come_to(1, 50ms));
  host_.send(host::more{});
  EXPECT_TRUE(all_->come_to(1));
  EXPECT_FALSE(all_->come_to(2, 50ms));
  host_.send(host::more{});
  EXPECT_TRUE(all_->come_to(2));
}

TEST_F(listening, waits_for_a_connection_after_it_was_asked) {
  host_.send(host::more{});
  const auto first = connect();
  EXPECT_TRUE(all_->come_to(1));
}

TEST_F(listening, ends_while_it_waits) {
  host_.send(host::more{});
  host_.stop();
  EXPECT_EQ(host_.join_for(60s), exit_reason::stopped);
}

TEST_F(listening, an_operation_on_a_socket_keeps_an_actor_alive_until_it_completes) {
  acceptor on = listen(loop_.context(), "127.0.0.1", 0);
  const auto there = on.local_endpoint();
  weak_ref<listener> alone;
  {
    const auto one =
        system_.spawn<listener>({.where = bound_to(loop_.pump())}, std::move(on), host_);
    alone = one;
    one.send(accept{&loop_});
  }
  asio::ip::tcp::socket client{here_};
  client.connect(there);
  EXPECT_TRUE(all_->come_to(1));
  while (alone.lock()) std::this_thread::yield();  // no reference keeps it alive any more
}

TEST_F(listening, takes_the_next_one_after_a_connection_that_could_not_be_taken) {
  if (!accept_is_replaced) GTEST_SKIP() << "the sanitizer has its own accept()";
  accept_fails_with = EPERM;
  const auto first = connect();
  host_.send(host::more{});
  EXPECT_TRUE(all_->come_to(1, 20s));
  EXPECT_EQ(accept_fails_with, 0);
  EXPECT_EQ(all_->pauses, 0u) << "it was that connection's own error";
}

TEST_F(listening, goes_on_after_a_pause_when_there_was_no_descriptor) {
  if (!accept_is_replaced) GTEST_SKIP() << "the sanitizer has its own accept()";
  accept_fails_with = EMFILE;
  const auto first = connect();
  host_.send(host::more{});
  EXPECT_TRUE(all_->come_to(1, 20s));
  EXPECT_EQ(all_->pauses, 1u);
}

std::string complaint(const std::string& address, std::uint16_t port) {
  asio::io_context context;
  try {
    const acceptor ignored = listen(context, address, port);
    return "none";
  } catch (const std::system_error& e) {
    return e.what();
  }
}

TEST(listen, names_address_and_port_in_its_errors) {
  asio::io_context context;
  const acceptor first = listen(context, "127.0.0.1", 0);
  const std::uint16_t port = first.local_endpoint().port();
  EXPECT_EQ(complaint("127.0.0.1", port),
            "cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  EXPECT_EQ(complaint("192.0.2.1", 80),
            "cannot listen on 192.0.2.1:80: Cannot assign requested address");
  EXPECT_TRUE(complaint("no such host.", 80).starts_with("cannot listen on no such host.:80: "));
}

TEST(listen, takes_names_too) {
  asio::io_context context;
  EXPECT_TRUE(listen(context, "localhost", 0).local_endpoint().address().is_loopback());
}

}  // namespace
}  // namespace troupe::net
