// SPDX-License-Identifier: Apache-2.0

#include "tls_socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>

#include <troupe/http/http.hpp>
#include <troupe/net/listener.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/net/simulated_network.hpp>
#include <troupe/sim/simulation.hpp>

#include "linger.hpp"
#include "raw_client.hpp"
#include "test_certificate.hpp"
#include "tls_engine.hpp"

namespace troupe::http::detail {
namespace {

using namespace std::chrono_literals;
using test::certificate_folder;
using test::raw_client;
using test::test_certificate;
using testing::HasSubstr;

namespace asio = boost::asio;

const tls_options& files() {
  static const certificate_folder folder;
  static const tls_options made = folder.write("one", test_certificate{});
  return made;
}

/// A client of a stream that reads all the time, and writes on command.
class peer : public std::enable_shared_from_this<peer> {
 public:
  explicit peer(tls_socket stream) : stream_(std::move(stream)) {}

  void start() {
    read();
    if (!to_write_.empty()) write();
  }
  void send(std::string text) {
    to_write_ += text;
    if (!is_writing_) write();
  }
  void shut_down() {
    net::error_code ignored;
    stream_.shutdown(asio::socket_base::shutdown_send, ignored);
  }
  void close() {
    net::error_code ignored;
    stream_.close(ignored);
  }
  void cancel() {
    net::error_code ignored;
    stream_.cancel(ignored);
  }

  std::string heard;
  net::error_code end;          // how reading ended
  net::error_code write_error;  // the first error of a write
  bool echoes = false;

 private:
  void read() {
    stream_.async_read_some(asio::buffer(into_),
                            [me = shared_from_this()](net::error_code error, std::size_t bytes) {
                              if (error) {
                                me->end = error;
                                return;
                              }
                              const std::string text(me->into_.data(), bytes);
                              me->heard += text;
                              if (me->echoes) me->send(text);
                              me->read();
                            });
  }
  void write() {
    is_writing_ = true;
    writing_ = std::exchange(to_write_, {});
    asio::async_write(stream_, asio::buffer(writing_),
                      [me = shared_from_this()](net::error_code error, std::size_t) {
                        me->is_writing_ = false;
                        if (error && !me->write_error) me->write_error = error;
                        if (!error && !me->to_write_.empty()) me->write();
                      });
  }

  tls_socket stream_;
  std::array<char, 5000> into_;
  std::string to_write_, writing_;
  bool is_writing_ = false;
};

/// Two connected peers in a simulation.
struct pair {
  explicit pair(std::uint64_t seed, net::simulated_network_options how = {})
      : sim(seed), network(how), loop(system, "both") {
    auto listening = std::make_shared<net::acceptor>(net::listen(loop.context(), "127.0.0.1", 0));
    auto socket = std::make_shared<net::socket>(loop.context());
    listening->async_accept(loop.context(), [this, listening](net::error_code, net::socket with) {
      server = std::make_shared<peer>(
          tls_socket(std::move(with), tls_context::for_server(files()), &counts));
      server->start();
    });
    socket->async_connect(listening->local_endpoint(), [this, socket](net::error_code) {
      client = std::make_shared<peer>(tls_socket(
          std::move(*socket), tls_context::for_client({.authorities = files().certificate}),
          nullptr, "localhost"));
      client->start();
    });
    EXPECT_TRUE(sim.run_until([&] { return client && server; }, 10s));
  }

  tls_tally counts;
  sim::simulation sim;
  net::simulated_network network;
  troupe::system system;
  net::loop loop;
  std::shared_ptr<peer> client, server;
};

std::string much(std::size_t size, char first) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>(static_cast<std::size_t>(first) + i % 57);
  return text;
}

TEST(tls_socket, carries_both_directions_in_pieces) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    pair p(seed, {.socket_bytes = 4096, .splits_one_in = 2});
    const std::string one = much(300'000, 'A'), two = much(200'000, 'a');
    p.client->send(one);
    p.server->send(two);
    ASSERT_TRUE(p.sim.run_until(
        [&] {
          return p.server->heard.size() == one.size() && p.client->heard.size() == two.size();
        },
        60s));
    EXPECT_TRUE(p.server->heard == one && p.client->heard == two);
    EXPECT_EQ(p.counts.whole.value(), 1u);
    p.client->close();
    ASSERT_TRUE(p.sim.run_until([&] { return bool(p.server->end); }, 10s));
    EXPECT_EQ(p.server->end, asio::error::eof);
    EXPECT_EQ(p.counts.truncated.value(), 0u);
    p.server->close();
  }
}

TEST(tls_socket, shutdown_sends_pending_data_first_and_keeps_reading) {
  pair p(3, {.socket_bytes = 1024});
  const std::string one = much(50'000, 'A');
  p.client->send("hello");
  ASSERT_TRUE(p.sim.run_until([&] { return p.server->heard == "hello"; }, 10s));
  p.server->send(one);
  ASSERT_TRUE(p.sim.run_until([&] { return p.client->heard.size() == one.size(); }, 60s));
  p.server->shut_down();
  ASSERT_TRUE(p.sim.run_until([&] { return p.client->end == asio::error::eof; }, 10s));
  p.client->send("last words");
  ASSERT_TRUE(p.sim.run_until([&] { return p.server->heard == "hellolast words"; }, 10s));
  p.client->close();
  ASSERT_TRUE(p.sim.run_until([&] { return p.server->end == asio::error::eof; }, 10s));
  EXPECT_EQ(p.counts.truncated.value(), 0u);
}

TEST(tls_socket, operations_after_close_are_refused) {
  pair p(6);
  p.client->send("hello");
  ASSERT_TRUE(p.sim.run_until([&] { return p.server->heard == "hello"; }, 10s));
  p.server->close();
  p.server->send("too late");
  p.server->shut_down();
  ASSERT_TRUE(p.sim.run_until([&] { return bool(p.server->write_error); }, 10s));
  EXPECT_EQ(p.server->write_error, asio::error::operation_aborted);
  ASSERT_TRUE(p.sim.run_until([&] { return bool(p.client->end); }, 10s));
  EXPECT_EQ(p.client->heard, "");
}

TEST(tls_socket, cancel_ends_only_pending_operations) {
  pair p(4);
  p.client->send("hello");
  ASSERT_TRUE(p.sim.run_until([&] { return p.server->heard == "hello"; }, 10s));
  p.server->cancel();
  ASSERT_TRUE(p.sim.run_until([&] { return bool(p.server->end); }, 10s));
  EXPECT_EQ(p.server->end, asio::error::operation_aborted);
  p.server->send("still");
  p.client->send("here");
  ASSERT_TRUE(p.sim.run_until([&] { return p.client->heard == "still"; }, 10s));
  p.server->start();
  ASSERT_TRUE(p.sim.run_until([&] { return p.server->heard == "hellohere"; }, 10s));
}

TEST(tls_socket, a_connection_that_is_reset_ends_both) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    pair p(seed, {.resets_one_in = 6});
    p.server->echoes = true;
    for (int i = 0; i < 50; ++i) p.client->send(much(1000, 'a'));
    p.sim.run_until([&] { return p.client->end && p.server->end; }, 10s);
    p.client->close();
    EXPECT_TRUE(p.sim.run_until([&] { return bool(p.server->end); }, 10s)) << seed;
  }
}

TEST(tls_socket, a_client_rejects_a_server_with_another_certificate) {
  pair p(5);
  static const certificate_folder folder;
  const tls_options other = folder.write("other", test_certificate({.name = "other"}));
  auto listening = std::make_shared<net::acceptor>(net::listen(p.loop.context(), "127.0.0.1", 0));
  auto socket = std::make_shared<net::socket>(p.loop.context());
  std::shared_ptr<peer> server, client;
  listening->async_accept(p.loop.context(), [&, listening](net::error_code, net::socket with) {
    server = std::make_shared<peer>(
        tls_socket(std::move(with), tls_context::for_server(other), &p.counts));
    server->start();
  });
  socket->async_connect(listening->local_endpoint(), [&, socket](net::error_code) {
    client = std::make_shared<peer>(tls_socket(
        std::move(*socket), tls_context::for_client({.authorities = files().certificate}), nullptr,
        "localhost"));
    client->start();
    client->send("never");
  });
  // Each end waits for the other to close first. Without a time limit, one of them has to.
  ASSERT_TRUE(p.sim.run_until([&] { return p.counts.alert.value() == 1; }, 10s));
  server->close();
  ASSERT_TRUE(p.sim.run_until([&] { return client->end && client->write_error; }, 10s));
  EXPECT_THAT(client->end.message(), HasSubstr("certificate verify failed"));
  EXPECT_EQ(client->write_error, client->end);
  EXPECT_EQ(server->heard, "");
}

/// A client by OpenSSL alone, over a socket of the simulation. It requests key updates again and
/// again, and does not read.
class deaf {
 public:
  explicit deaf(net::socket on)
      : socket_(std::move(on)), context_(SSL_CTX_new(TLS_client_method())) {
    ssl_ = SSL_new(context_);
    SSL_set_bio(ssl_, in_, out_);
    SSL_set_connect_state(ssl_);
  }
  deaf(const deaf&) = delete;
  deaf& operator=(const deaf&) = delete;
  ~deaf() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

  void start() {
    (void)SSL_do_handshake(ssl_);
    send();
    if (SSL_is_init_finished(ssl_) == 0) receive();
  }
  [[nodiscard]] bool is_ready() const { return SSL_is_init_finished(ssl_) == 1; }
  void ask(int times) {
    for (int i = 0; i < times; ++i) {
      SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED);
      (void)SSL_do_handshake(ssl_);
    }
    send();
  }
  /// The bytes that the server's socket has taken; waiting() has the rest.
  std::size_t taken = 0;
  [[nodiscard]] std::size_t waiting() const {
    return static_cast<std::size_t>(BIO_pending(out_)) + sending_.size();
  }

 private:
  void send() {
    if (is_sending_) return;
    std::string more(static_cast<std::size_t>(BIO_pending(out_)), '\0');
    BIO_read(out_, more.data(), static_cast<int>(more.size()));
    sending_ += more;
    if (sending_.empty()) return;
    is_sending_ = true;
    socket_.async_write_some(asio::buffer(sending_),
                             [this](net::error_code error, std::size_t bytes) {
                               if (error) return;
                               is_sending_ = false;
                               taken += bytes;
                               sending_.erase(0, bytes);
                               send();
                             });
  }
  void receive() {
    socket_.async_read_some(asio::buffer(into_), [this](net::error_code error, std::size_t bytes) {
      if (error) return;
      BIO_write(in_, into_.data(), static_cast<int>(bytes));
      start();
    });
  }

  net::socket socket_;
  SSL_CTX* context_;
  SSL* ssl_;
  BIO* in_ = BIO_new(BIO_s_mem());   // owned by the SSL
  BIO* out_ = BIO_new(BIO_s_mem());  // owned by the SSL
  std::array<char, 4096> into_;
  std::string sending_;
  bool is_sending_ = false;
};

TEST(tls_socket, a_peer_that_does_not_read_replies_is_no_longer_read) {
  pair p(6, {.socket_bytes = 4096});
  auto listening = std::make_shared<net::acceptor>(net::listen(p.loop.context(), "127.0.0.1", 0));
  auto socket = std::make_shared<net::socket>(p.loop.context());
  std::shared_ptr<peer> server;
  std::unique_ptr<deaf> client;
  listening->async_accept(p.loop.context(), [&, listening](net::error_code, net::socket with) {
    server = std::make_shared<peer>(
        tls_socket(std::move(with), tls_context::for_server(files()), &p.counts));
    server->start();
  });
  socket->async_connect(listening->local_endpoint(), [&, socket](net::error_code) {
    client = std::make_unique<deaf>(std::move(*socket));
    client->start();
  });
  ASSERT_TRUE(p.sim.run_until([&] { return client && client->is_ready(); }, 10s));
  client->ask(4000);
  const std::size_t all = client->taken + client->waiting();
  EXPECT_GT(all, 100'000u);
  EXPECT_FALSE(p.sim.run_until([&] { return client->waiting() == 0; }, 60s));
  // The input that caused 16 KiB of replies, the data of one read, and the capacity of two sockets.
  EXPECT_LT(client->taken, 50'000u);
  EXPECT_FALSE(server->end);
  server->close();
  client.reset();
}

TEST(tls_socket, an_io_context_may_end_with_operations_outstanding) {
  const auto by = tls_context::for_server(files());
  std::weak_ptr<peer> left;
  {
    net::io_context context{1};
    net::acceptor listening{context};
    listening.open(net::protocol::v4());
    listening.bind({asio::ip::address_v4::loopback(), 0});
    listening.listen();
    raw_client silent(listening.local_endpoint().port());
    net::socket with{context};
    listening.accept(with);
    const auto one = std::make_shared<peer>(tls_socket(std::move(with), by, nullptr));
    one->start();
    one->send("after the handshake");
    context.poll();
    left = one;
  }
  EXPECT_TRUE(left.expired());  // the reader held the stream, and the stream held the reader
}

// ── The whole server in a simulation ────────────────────────────────────────────────────────────

class parrot : public actor {
 public:
  explicit parrot(http::websocket client) : client_(std::move(client)) {}
  void on(text m) { client_.send(std::move(m.data)); }

 private:
  http::websocket client_;
};

TEST(tls_socket, a_server_with_it_works_in_a_simulation) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    sim::simulation sim(seed);
    net::simulated_network network({.splits_one_in = 2});
    troupe::system system;
    http::options with;
    with.tls = files();
    http::server server(system, with);
    server.websocket<parrot>("/parrot");
    server.route("GET", "/hello", [](const request&) { return response::text("hello\n"); });
    server.start();
    net::loop clients(system);
    auto socket = std::make_shared<net::socket>(clients.context());
    std::shared_ptr<peer> client;
    socket->async_connect(
        {asio::ip::address_v4::loopback(), server.port()}, [&, socket](net::error_code) {
          client = std::make_shared<peer>(tls_socket(
              std::move(*socket), tls_context::for_client({.authorities = files().certificate}),
              nullptr, "localhost"));
          client->start();
        });
    ASSERT_TRUE(sim.run_until([&] { return client != nullptr; }, 10s));
    client->send("GET /hello HTTP/1.1\r\nHost: here\r\n\r\n");
    ASSERT_TRUE(sim.run_until([&] { return client->heard.ends_with("\r\n\r\nhello\n"); }, 10s));
    client->send(
        "GET /parrot HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    ASSERT_TRUE(sim.run_until([&] { return client->heard.ends_with("\r\n\r\n"); }, 10s));
    client->send(raw_client::frame(raw_client::text, "pretty bird"));
    ASSERT_TRUE(sim.run_until([&] { return client->heard.ends_with("pretty bird"); }, 10s));
    client->close();
    ASSERT_TRUE(sim.run_until([&] { return server.statistics().connections == 0; }, 10s));
    EXPECT_EQ(server.statistics().tls_truncated, 0u);
  }
}

}  // namespace
}  // namespace troupe::http::detail
