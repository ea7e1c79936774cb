// SPDX-License-Identifier: Apache-2.0
// Sockets in a simulation: a program must observe the same behaviour as with TCP.
#include <troupe/net/simulated_network.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <troupe/net/listener.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/net/socket.hpp>
#include <troupe/sim/simulation.hpp>

namespace troupe::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace asio = boost::asio;

/// Accepts all connections.
class host : public actor {
 public:
  host(loop& l, acceptor on, std::vector<std::unique_ptr<socket>>& into)
      : loop_(l), acceptor_(std::move(on)), into_(into) {}
  void on_start() {
    listener_ = system().spawn<listener>({.where = bound_to(loop_.pump())}, std::move(acceptor_),
                                         self(this));
    listener_.send(accept{&loop_});
  }
  void on(accepted m) {
    into_.push_back(std::make_unique<socket>(std::move(m.connection)));
    listener_.send(accept{&loop_});
  }
  void on(const accept_paused&) { ADD_FAILURE(); }
  void on_stop() { listener_.stop_now(); }

 private:
  loop& loop_;
  acceptor acceptor_;
  ref<listener> listener_;
  std::vector<std::unique_ptr<socket>>& into_;
};

/// A listener and a connecting client.
struct world {
  explicit world(std::uint64_t seed, simulated_network_options how = {})
      : sim(seed), network(how), net(system), there(net.context()) {
    acceptor on = listen(net.context(), "127.0.0.1", 8080);
    server = system.spawn<host>(net, std::move(on), came);
  }
  ~world() {
    server.stop_now();
    server.join();
    came.clear();
  }

  /// Runs until both ends are connected; returns false if the connection was refused.
  bool connect() {
    std::optional<error_code> done;
    there.async_connect({asio::ip::make_address("127.0.0.1"), 8080},
                        [&](error_code error) { done = error; });
    EXPECT_TRUE(sim.run_until([&] { return done && (*done || !came.empty()); }, 1s));
    return done && !*done;
  }
  [[nodiscard]] socket& here() { return *came.front(); }

  /// Returns the result of async_read_some().
  std::optional<std::string> read(socket& from, std::size_t most = 100) {
    std::string into(most, ' ');
    std::optional<std::string> got;
    from.async_read_some(asio::buffer(into), [&](error_code error, std::size_t bytes) {
      got = error ? "(" + error.message() + ")" : into.substr(0, bytes);
    });
    (void)sim.run_until([&] { return got.has_value(); }, 10s);
    if (!got) {
      error_code ignored;
      from.cancel(ignored);
      sim.run_until_idle();
    }
    return got;
  }
  std::optional<std::string> read_all(socket& from, std::size_t bytes) {
    std::string into(bytes, ' ');
    std::optional<std::string> got;
    asio::async_read(from, asio::buffer(into), [&](error_code error, std::size_t) {
      got = error ? "(" + error.message() + ")" : into;
    });
    (void)sim.run_until([&] { return got.has_value(); }, 1h);
    return got;
  }
  error_code write(socket& to, const std::string& what) {
    std::optional<error_code> done;
    asio::async_write(to, asio::buffer(what), [&](error_code error, std::size_t) { done = error; });
    EXPECT_TRUE(sim.run_until([&] { return done.has_value(); }, 1h));
    return done.value_or(asio::error::timed_out);
  }

  sim::simulation sim;
  simulated_network network;
  troupe::system system;
  loop net;
  std::vector<std::unique_ptr<socket>> came;
  socket there;
  ref<host> server;
};

TEST(simulated_network, bytes_arrive_in_order_however_they_are_split) {
  std::uint64_t splits = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world w(seed, {.splits_one_in = 2});
    ASSERT_TRUE(w.connect());
    std::string sent;
    for (int i = 0; i < 20; ++i) {
      const std::string piece = std::to_string(i) + ",";
      sent += piece;
      EXPECT_FALSE(w.write(w.there, piece));
    }
    EXPECT_EQ(w.read_all(w.here(), sent.size()), sent);
    EXPECT_FALSE(w.write(w.here(), sent));
    EXPECT_EQ(w.read_all(w.there, sent.size()), sent);
    splits += w.network.statistics().splits;
  }
  EXPECT_GT(splits, 100u);
}

TEST(simulated_network, endpoints_have_the_requested_addresses) {
  world w(1);
  error_code error;
  w.there.bind({asio::ip::make_address("10.1.2.3"), 0}, error);
  ASSERT_TRUE(w.connect());
  EXPECT_EQ(w.here().remote_endpoint(error).address().to_string(), "10.1.2.3");
  EXPECT_EQ(w.here().remote_endpoint(error), w.there.local_endpoint(error));
  EXPECT_EQ(w.here().local_endpoint(error).port(), 8080);
  EXPECT_EQ(w.there.remote_endpoint(error).port(), 8080);
}

TEST(simulated_network, a_connection_without_a_listener_is_refused) {
  world w(1);
  std::optional<error_code> done;
  w.there.async_connect({asio::ip::make_address("127.0.0.1"), 81},
                        [&](error_code error) { done = error; });
  ASSERT_TRUE(w.sim.run_until([&] { return done.has_value(); }, 1s));
  EXPECT_EQ(*done, asio::error::connection_refused);
  EXPECT_THAT(w.sim.trace(), HasSubstr("127.0.0.1:81 is refused"));
}

TEST(simulated_network, closing_a_listener_resets_pending_connections) {
  sim::simulation sim(1);
  simulated_network network;
  system s;
  loop net(s);
  std::optional<acceptor> on(listen(net.context(), "127.0.0.1", 8080));
  socket there(net.context());
  std::optional<error_code> done;
  there.async_connect({asio::ip::make_address("127.0.0.1"), 8080},
                      [&](error_code error) { done = error; });
  ASSERT_TRUE(sim.run_until([&] { return done.has_value(); }, 1s));
  EXPECT_FALSE(*done);
  on.reset();
  char byte = 0;
  done.reset();
  there.async_read_some(asio::buffer(&byte, 1),
                        [&](error_code error, std::size_t) { done = error; });
  ASSERT_TRUE(sim.run_until([&] { return done.has_value(); }, 1s));
  EXPECT_EQ(*done, asio::error::connection_reset);
}

TEST(simulated_network, a_port_that_is_taken_is_an_error_that_names_it) {
  world w(1);
  try {
    (void)listen(w.net.context(), "127.0.0.1", 8080);
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("cannot listen on 127.0.0.1:8080"));
    EXPECT_THAT(e.what(), HasSubstr("in use"));
  }
  EXPECT_NE(listen(w.net.context(), "127.0.0.1", 0).local_endpoint().port(), 0);
}

TEST(simulated_network, half_a_connection_ends) {
  world w(2);
  ASSERT_TRUE(w.connect());
  EXPECT_FALSE(w.write(w.there, "last words"));
  error_code error;
  w.there.shutdown(socket::shutdown_send, error);
  EXPECT_FALSE(error);
  EXPECT_EQ(w.read_all(w.here(), 10), "last words");
  EXPECT_EQ(w.read(w.here()), "(" + error_code(asio::error::eof).message() + ")");
  EXPECT_FALSE(w.write(w.here(), "and yet"));
  EXPECT_EQ(w.read_all(w.there, 7), "and yet");
  EXPECT_EQ(w.write(w.there, "more"), asio::error::broken_pipe);
}

TEST(simulated_network, closing_with_unread_data_resets_the_connection) {
  world w(3);
  ASSERT_TRUE(w.connect());
  EXPECT_FALSE(w.write(w.there, "unread"));
  (void)w.sim.advance(1s);
  error_code error;
  w.here().close(error);
  (void)w.sim.advance(1s);
  EXPECT_EQ(w.read(w.there), "(" + error_code(asio::error::connection_reset).message() + ")");
}

TEST(simulated_network, closing_without_unread_data_signals_end_of_file) {
  world w(3);
  ASSERT_TRUE(w.connect());
  error_code error;
  w.here().close(error);
  EXPECT_EQ(w.read(w.there), "(" + error_code(asio::error::eof).message() + ")");
  // Data that arrives now has no reader.
  EXPECT_FALSE(w.write(w.there, "hello?"));
  (void)w.sim.advance(1s);
  EXPECT_EQ(w.read(w.there), "(" + error_code(asio::error::connection_reset).message() + ")");
}

TEST(simulated_network, a_socket_that_lingers_for_no_time_resets) {
  world w(3);
  ASSERT_TRUE(w.connect());
  error_code error;
  w.here().set_option(asio::socket_base::linger(true, 0), error);
  w.here().close(error);
  EXPECT_EQ(w.read(w.there), "(" + error_code(asio::error::connection_reset).message() + ")");
}

TEST(simulated_network, writing_stalls_while_the_receiver_does_not_read) {
  world w(4, {.socket_bytes = 1000});
  ASSERT_TRUE(w.connect());
  const std::string much(5000, 'x');
  std::optional<error_code> done;
  asio::async_write(w.there, asio::buffer(much),
                    [&](error_code error, std::size_t) { done = error; });
  (void)w.sim.advance(10s);
  EXPECT_FALSE(done.has_value());
  EXPECT_EQ(w.network.statistics().bytes, 1000u);
  EXPECT_EQ(w.read_all(w.here(), 5000), much);
  EXPECT_TRUE(done.has_value());
}

TEST(simulated_network, slow_readers_read_at_the_configured_rate) {
  world w(5, {.slow_readers_one_in = 1, .slow_bytes_per_second = 100});
  ASSERT_TRUE(w.connect());
  EXPECT_EQ(w.network.statistics().slow_readers, 1u);
  EXPECT_FALSE(w.write(w.here(), std::string(1000, 'x')));
  const time_point before = w.sim.now();
  EXPECT_TRUE(w.read_all(w.there, 1000).has_value());
  EXPECT_GE(w.sim.now() - before, 9900ms);
  EXPECT_LT(w.sim.now() - before, 11s);
}

TEST(simulated_network, faults_are_chosen_and_counted) {
  simulated_network_statistics all;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    world w(seed, {.refuses_one_in = 5, .resets_one_in = 20, .half_closes_one_in = 20});
    if (w.connect()) {
      for (int i = 0; i < 5; ++i) {
        if (w.write(w.there, "ping")) break;
        if (w.write(w.here(), "pong")) break;
      }
      if (w.network.statistics().resets != 0) {
        EXPECT_THAT(w.sim.trace(), HasSubstr("connection 1  is reset"));
      }
    }
    all.connected += w.network.statistics().connected;
    all.refused += w.network.statistics().refused;
    all.resets += w.network.statistics().resets;
    all.half_closes += w.network.statistics().half_closes;
  }
  EXPECT_EQ(all.connected + all.refused, 100u);
  EXPECT_GT(all.refused, 10u);
  EXPECT_LT(all.refused, 35u);
  EXPECT_GT(all.resets, 10u);
  EXPECT_GT(all.half_closes, 5u);
}

TEST(simulated_network, cancelled_and_closed_operations_complete_as_aborted) {
  world w(6);
  ASSERT_TRUE(w.connect());
  char byte = 0;
  std::vector<error_code> done;
  const auto read = [&](socket& from) {
    from.async_read_some(asio::buffer(&byte, 1),
                         [&](error_code error, std::size_t) { done.push_back(error); });
  };
  error_code error;
  read(w.there);
  w.there.cancel(error);
  w.sim.run_until_idle();
  read(w.there);
  w.there.close(error);
  w.sim.run_until_idle();
  const error_code aborted = asio::error::operation_aborted;
  EXPECT_EQ(done, (std::vector<error_code>{aborted, aborted}));
  EXPECT_FALSE(w.there.is_open());
}

TEST(simulated_network, destroying_a_loop_drops_its_pending_handlers) {
  sim::simulation sim(1);
  simulated_network network;
  system s;
  const auto lives = std::make_shared<int>(1);
  bool completed = false;
  {
    loop net(s);
    const acceptor on = listen(net.context(), "127.0.0.1", 8080);
    // The handler owns its socket, as in servers.
    const auto there = std::make_shared<socket>(net.context());
    there->async_connect({asio::ip::make_address("127.0.0.1"), 8080}, [&](error_code) {});
    (void)sim.advance(1s);
    const auto byte = std::make_shared<char>();
    there->async_read_some(
        asio::buffer(byte.get(), 1),
        [&completed, there, byte, lives](error_code, std::size_t) { completed = true; });
    (void)sim.advance(1s);
    EXPECT_EQ(lives.use_count(), 2);
  }
  EXPECT_FALSE(completed);
  EXPECT_EQ(lives.use_count(), 1);
}

TEST(simulated_network, a_socket_that_was_closed_connects_again) {
  world w(6);
  ASSERT_TRUE(w.connect());
  error_code error = asio::error::eof;
  w.there.close(error);
  EXPECT_FALSE(error);
  w.came.clear();
  ASSERT_TRUE(w.connect());
  EXPECT_FALSE(w.write(w.there, "again"));
  EXPECT_EQ(w.read_all(w.here(), 5), "again");
}

TEST(simulated_network, two_pending_accepts_accept_two_connections) {
  sim::simulation sim(1);
  simulated_network network;
  system s;
  loop net(s);
  acceptor on = listen(net.context(), "127.0.0.1", 8080);
  std::vector<socket> came;
  for (int i = 0; i < 2; ++i) {
    on.async_accept(net.context(), [&](error_code error, socket one) {
      EXPECT_FALSE(error);
      came.push_back(std::move(one));
    });
  }
  socket one(net.context());
  socket other(net.context());
  for (socket* each : {&one, &other}) {
    each->async_connect({asio::ip::make_address("127.0.0.1"), 8080}, [](error_code) {});
  }
  EXPECT_TRUE(sim.run_until([&] { return came.size() == 2; }, 1s));
}

TEST(simulated_network, destroying_a_loop_drops_handlers_that_own_its_other_sockets) {
  sim::simulation sim(1);
  simulated_network network;
  system s;
  {
    loop net(s);
    const auto on = std::make_shared<acceptor>(listen(net.context(), "127.0.0.1", 8080));
    const auto both = std::make_shared<std::vector<socket>>();
    on->async_accept(net.context(), [&net, on, both](error_code, socket one) {
      both->push_back(std::move(one));
      on->async_accept(net.context(), [on, both](error_code, socket) {});
    });
    const auto there = std::make_shared<socket>(net.context());
    there->async_connect({asio::ip::make_address("127.0.0.1"), 8080}, [](error_code) {});
    ASSERT_TRUE(sim.run_until([&] { return !both->empty(); }, 1s));
    (void)sim.advance(1s);
    const auto byte = std::make_shared<std::array<char, 2>>();
    there->async_read_some(asio::buffer(&(*byte)[0], 1),
                           [there, both, byte](error_code, std::size_t) {});
    both->front().async_read_some(asio::buffer(&(*byte)[1], 1),
                                  [there, both, byte](error_code, std::size_t) {});
  }
  (void)sim.advance(1s);  // none of its handlers is called any more
}

TEST(simulated_network, a_connection_that_was_accepted_onto_another_loop_outlives_the_first) {
  sim::simulation sim(1);
  simulated_network network;
  system s;
  std::optional<loop> first(std::in_place, s);
  loop second(s, "second");
  std::optional<socket> came;
  socket there(second.context());
  {
    acceptor on = listen(first->context(), "127.0.0.1", 8080);
    on.async_accept(second.context(), [&](error_code error, socket one) {
      EXPECT_FALSE(error);
      came.emplace(std::move(one));
    });
    there.async_connect({asio::ip::make_address("127.0.0.1"), 8080}, [](error_code) {});
    ASSERT_TRUE(sim.run_until([&] { return came.has_value(); }, 1s));
  }
  first.reset();
  const std::string sent = "still there";
  std::string got(sent.size(), ' ');
  std::optional<error_code> done;
  asio::async_write(there, asio::buffer(sent),
                    [](error_code error, std::size_t) { EXPECT_FALSE(error); });
  asio::async_read(*came, asio::buffer(got), [&](error_code error, std::size_t) { done = error; });
  ASSERT_TRUE(sim.run_until([&] { return done.has_value(); }, 1s));
  EXPECT_FALSE(*done);
  EXPECT_EQ(got, sent);
}

TEST(simulated_network, the_same_seed_is_the_same_run) {
  const auto hash = [](std::uint64_t seed) {
    world w(seed, {.splits_one_in = 2, .resets_one_in = 50});
    if (w.connect()) {
      for (int i = 0; i < 20 && !w.write(w.there, std::string(100, 'x')); ++i) {
        (void)w.read(w.here(), 77);
      }
    }
    return w.sim.trace_hash() + static_cast<std::uint64_t>(w.sim.now().time_since_epoch().count());
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(hash(seed), hash(seed));
  EXPECT_NE(hash(1), hash(2));
}

TEST(simulated_network, is_missed_where_it_is_needed) {
  const auto what_of = [](auto&& does) -> std::string {
    try {
      does();
    } catch (const std::logic_error& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_THAT(what_of([] { const simulated_network alone; }), HasSubstr("needs a simulation"));
  const sim::simulation sim(1);
  {
    system s;
    loop net(s);
    EXPECT_THAT(what_of([&] { (void)listen(net.context(), "127.0.0.1", 0); }),
                HasSubstr("simulated_network"));
  }
  const simulated_network network;
  EXPECT_THAT(what_of([] { const simulated_network second; }), HasSubstr("already"));
  EXPECT_THROW(simulated_network({.latency_min = 2s, .latency_max = 1s}), std::logic_error);
}

}  // namespace
}  // namespace troupe::net
