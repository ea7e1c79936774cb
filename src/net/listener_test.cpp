// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/listener.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/detail/base/thread_host.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/net/simulated_network.hpp>
#include <troupe/sim/simulation.hpp>

#include "sanitized.hpp"
#include "simulated_network_access.hpp"

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
  std::atomic<unsigned> sent{0};  // of those with reserved memory
};

/// Accepts as many connections as it is told to.
class host : public actor {
 public:
  struct more {};
  struct more_and {
    std::function<void()> then;
  };
  struct again {};  // with reserved memory
  struct twice {};

  host(loop& l, acceptor on, std::shared_ptr<visitors> all)
      : loop_(l), acceptor_(std::move(on)), all_(std::move(all)) {}
  void on_start() {
    listener_ = system().spawn<listener>({.where = bound_to(loop_.pump())}, std::move(acceptor_),
                                         self(this));
  }
  void on_stop() { listener_.stop_now(); }
  void on(more) { listener_.send(accept{&loop_}); }
  void on(const more_and& m) {
    on(more{});
    m.then();
  }
  void on(again) { all_->sent += next_.send(listener_, loop_) ? 1u : 0u; }
  void on(twice) {
    on(again{});
    on(again{});
  }
  void on(accepted m) { all_->add(std::move(m.connection)); }
  void on(const accept_paused&) { ++all_->pauses; }

 private:
  loop& loop_;
  acceptor acceptor_;
  ref<listener> listener_;
  accept_request next_;
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

TEST_F(listening, accepts_one_connection_per_request) {
  const auto first = connect();
  const auto second = connect();
  EXPECT_FALSE(all_->come_to(1, 50ms));
  host_.send(host::more{});
  EXPECT_TRUE(all_->come_to(1));
  EXPECT_FALSE(all_->come_to(2, 50ms));
  host_.send(host::more{});
  EXPECT_TRUE(all_->come_to(2));
}

TEST_F(listening, a_request_waits_for_a_connection) {
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

TEST_F(listening, retries_after_a_pause_when_no_descriptor_is_available) {
  if (!accept_is_replaced) GTEST_SKIP() << "the sanitizer has its own accept()";
  accept_fails_with = EMFILE;
  const auto first = connect();
  host_.send(host::more{});
  EXPECT_TRUE(all_->come_to(1, 20s));
  EXPECT_EQ(all_->pauses, 1u);
}

// ── Lack of memory ────────────────────────────────────────────────────────────────────────────

/// From its construction on, the pool has no memory for this thread.
class no_memory final : troupe::detail::thread_host {
 public:
  no_memory() : before_(here()) {
    here() = this;
    troupe::detail::pool_asks_its_host(true);
  }
  no_memory(const no_memory&) = delete;
  no_memory& operator=(const no_memory&) = delete;
  ~no_memory() {
    troupe::detail::pool_asks_its_host(false);
    here() = before_;
  }

 private:
  [[nodiscard]] time_point now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
  void sleep_until(time_point) noexcept override { std::this_thread::yield(); }
  [[nodiscard]] bool allocation_fails() noexcept override { return true; }
  [[nodiscard]] std::uint64_t number_of(const void*, std::uint32_t) override { return 0; }

  thread_host* const before_;
};

// The listener learns of a connection from a completion handler, which then cannot send it on.
TEST_F(listening, accepts_again_after_connections_were_lost_for_lack_of_memory) {
  std::unique_ptr<no_memory> lack;  // of the loop's thread
  host_.send(host::more_and{[&] { lack = std::make_unique<no_memory>(); }});
  for (int i = 0; i < 3; ++i) {
    auto lost = connect();
    char byte = 0;
    error_code error;
    EXPECT_EQ(lost.read_some(asio::buffer(&byte, 1), error), 0u);
    EXPECT_TRUE(error) << "it is closed";
  }
  std::promise<void> is_over;
  asio::post(loop_.context(), [&] {
    lack.reset();
    is_over.set_value();
  });
  is_over.get_future().get();
  const auto taken = connect();
  EXPECT_TRUE(all_->come_to(1));
}

/// A listener in a simulation that for some time cannot begin to accept.
class acceptor_without_memory final : public detail::simulated_acceptor {
 public:
  acceptor_without_memory(std::unique_ptr<detail::simulated_acceptor> of, int& attempts)
      : of_(std::move(of)), attempts_(attempts) {}

  void accept(io_context& onto, accepted done) override {
    if (attempts_ != 0 && attempts_-- != 0) throw std::bad_alloc();
    of_->accept(onto, std::move(done));
  }
  void cancel() override { of_->cancel(); }
  void close() override { of_->close(); }
  [[nodiscard]] protocol::endpoint local() const override { return of_->local(); }

 private:
  const std::unique_ptr<detail::simulated_acceptor> of_;
  int& attempts_;
};

class simulated_listening : public testing::Test {
 protected:
  ~simulated_listening() override {
    host_.stop();
    host_.join();
    all_->sockets.clear();
  }

  void begin(int attempts_without_memory) {
    attempts_ = attempts_without_memory;
    error_code error;
    const protocol::endpoint at{asio::ip::make_address("127.0.0.1"), 8080};
    acceptor on{loop_.context(),
                std::make_unique<acceptor_without_memory>(
                    detail::simulated_listener(loop_.context(), at, error), attempts_)};
    EXPECT_FALSE(error);
    host_ = system_.spawn<host>({.where = bound_to(loop_.pump())}, loop_, std::move(on), all_);
    there_.async_connect(at, [](error_code) {});
    sim_.run_until_idle();
    host_.send(host::more{});
    if (attempts_without_memory == 0) return;
    EXPECT_TRUE(sim_.run_until([&] { return attempts_ < attempts_without_memory; }, 10ms));
  }
  bool comes(duration within) {
    return sim_.run_until([this] { return !all_->sockets.empty(); }, within);
  }

  sim::simulation sim_{1};
  simulated_network network_;
  troupe::system system_{{.on_failure = [](const failure&) {}}};
  loop loop_{system_};
  int attempts_ = 0;
  std::shared_ptr<visitors> all_ = std::make_shared<visitors>();
  socket there_{loop_.context()};
  ref<host> host_;
};

TEST_F(simulated_listening, retries_after_a_pause_when_memory_to_start_is_lacking) {
  const time_point before = sim_.now();
  begin(3);
  EXPECT_TRUE(comes(1s));
  EXPECT_GE(sim_.now() - before, 3 * listener::pause);
  EXPECT_EQ(all_->pauses, 3u);
}

// Neither its memory to report that nor that to try again comes from the pool.
TEST_F(simulated_listening, retries_after_a_pause_even_when_every_allocation_fails) {
  begin(20);
  sim_.inject({.failed_allocations_one_in = 1});
  EXPECT_FALSE(comes(20 * listener::pause - 10ms));
  EXPECT_LE(attempts_, 1);
  sim_.end_faults();
  EXPECT_TRUE(comes(1s));
}

TEST_F(simulated_listening, a_request_with_reserved_memory_needs_no_other) {
  begin(0);
  EXPECT_TRUE(comes(1s));
  sim_.inject({.failed_allocations_one_in = 1});
  host_.send(host::again{});
  socket second{loop_.context()};
  second.async_connect({asio::ip::make_address("127.0.0.1"), 8080}, [](error_code) {});
  (void)sim_.advance(1s);
  sim_.end_faults();
  EXPECT_EQ(all_->sockets.size(), 1u) << "there was no memory to pass it on";
  socket third{loop_.context()};
  third.async_connect({asio::ip::make_address("127.0.0.1"), 8080}, [](error_code) {});
  EXPECT_TRUE(sim_.run_until([this] { return all_->sockets.size() == 2; }, 1s));
}

TEST_F(simulated_listening, a_request_that_was_not_handled_is_not_sent_twice) {
  begin(0);
  EXPECT_TRUE(comes(1s));
  host_.send(host::twice{});
  std::vector<std::unique_ptr<socket>> more;
  for (int i = 0; i < 3; ++i) {
    more.push_back(std::make_unique<socket>(loop_.context()));
    more.back()->async_connect({asio::ip::make_address("127.0.0.1"), 8080}, [](error_code) {});
  }
  (void)sim_.advance(1s);
  EXPECT_EQ(all_->sockets.size(), 2u);
  EXPECT_EQ(all_->sent, 1u);
}

TEST_F(simulated_listening, a_request_may_outlive_its_listener) {
  begin(1'000'000);  // it waits in a timer
  (void)sim_.advance(1s);
  host_.send(host::again{});
  host_.stop_now();
  EXPECT_TRUE(host_.join_for(10s).has_value());
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
