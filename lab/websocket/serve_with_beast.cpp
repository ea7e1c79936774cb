// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/websocket/certificate.hpp"
#include "lab/websocket/servers.hpp"

namespace troupe::lab::websocket {

namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
using tcp = net::ip::tcp;
using plain = beast::tcp_stream;

// Like beast::ssl_stream, for which Clang finds the teardown ambiguous.
class encrypted : public beast::flat_stream<net::ssl::stream<plain>> {
 public:
  encrypted(tcp::socket socket, net::ssl::context& context)
      : flat_stream(std::move(socket), context) {}
};

template <class Handler>
void async_teardown(beast::role_type role, encrypted& stream, Handler&& handler) {
  beast::async_teardown(role, stream.next_layer(), std::forward<Handler>(handler));
}

template <class Stream>
class session;

// The connected clients, for a broadcast.
template <class Stream>
using members = std::vector<std::shared_ptr<session<Stream>>>;

template <class Stream>
class session : public std::enable_shared_from_this<session<Stream>> {
 public:
  template <class... More>
  session(tcp::socket socket, const server_setup& how, members<Stream>& all, More&... more)
      : stream_(std::move(socket), more...), how_(how), all_(all) {}

  void run() {
    if constexpr (std::is_same_v<Stream, encrypted>) {
      stream_.next_layer().next_layer().async_handshake(
          net::ssl::stream_base::server,
          beast::bind_front_handler(&session::on_encrypted, this->shared_from_this()));
    } else {
      accept();
    }
  }

  // Messages are sent one at a time: a WebSocket of Beast accepts no second message while it writes
  // one.
  void say(const std::shared_ptr<const std::string>& what) {
    waiting_.push_back(what);
    if (waiting_.size() == 1) write_next();
  }

 private:
  void on_encrypted(beast::error_code error) {
    if (!error) accept();
  }
  void accept() {
    auto timeouts = beast::websocket::stream_base::timeout::suggested(beast::role_type::server);
    timeouts.idle_timeout = how_.idle_timeout;
    timeouts.keep_alive_pings = true;
    beast::get_lowest_layer(stream_).expires_never();  // the WebSocket has its own time-outs
    stream_.set_option(timeouts);
    stream_.async_accept(
        beast::bind_front_handler(&session::on_accepted, this->shared_from_this()));
  }
  void on_accepted(beast::error_code error) {
    if (error) return;
    if (how_.broadcasts) all_.push_back(this->shared_from_this());
    read();
  }
  void read() {
    stream_.async_read(buffer_,
                       beast::bind_front_handler(&session::on_read, this->shared_from_this()));
  }
  void on_read(beast::error_code error, std::size_t) {
    if (error) return leave();
    if (how_.broadcasts) {
      const auto what =
          std::make_shared<const std::string>(beast::buffers_to_string(buffer_.data()));
      buffer_.consume(buffer_.size());
      for (const auto& each : all_) each->say(what);
      return read();
    }
    stream_.text(stream_.got_text());
    stream_.async_write(buffer_.data(),
                        beast::bind_front_handler(&session::on_written, this->shared_from_this()));
  }
  void on_written(beast::error_code error, std::size_t) {
    if (error) return leave();
    buffer_.consume(buffer_.size());
    read();
  }
  void write_next() {
    stream_.text(true);
    stream_.async_write(net::buffer(*waiting_.front()),
                        beast::bind_front_handler(&session::on_said, this->shared_from_this()));
  }
  void on_said(beast::error_code error, std::size_t) {
    if (error) return leave();
    waiting_.pop_front();
    if (!waiting_.empty()) write_next();
  }
  void leave() { std::erase(all_, this->shared_from_this()); }

  beast::websocket::stream<Stream> stream_;
  beast::flat_buffer buffer_;
  std::list<std::shared_ptr<const std::string>> waiting_;  // the first is being written
  const server_setup& how_;
  members<Stream>& all_;
};

template <class Stream>
class listener {
 public:
  listener(net::io_context& on, const server_setup& how, net::ssl::context* context)
      : how_(how), context_(context), acceptor_(on, {net::ip::address_v4::loopback(), 0}) {
    acceptor_.listen(net::socket_base::max_listen_connections);
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (!error) {
        socket.set_option(tcp::no_delay(true), error);
        make(std::move(socket))->run();
      }
      accept();
    });
  }

 private:
  auto make(tcp::socket socket) {
    if constexpr (std::is_same_v<Stream, encrypted>) {
      return std::make_shared<session<Stream>>(std::move(socket), how_, all_, *context_);
    } else {
      return std::make_shared<session<Stream>>(std::move(socket), how_, all_);
    }
  }

  const server_setup& how_;
  net::ssl::context* const context_;
  tcp::acceptor acceptor_;
  members<Stream> all_;
};

template <class Stream>
void serve_on(const server_setup& how, const announcement& ready, net::ssl::context* context) {
  net::io_context loop{1};
  listener<Stream> all(loop, how, context);
  all.accept();
  ready.listens_at(all.port());
  loop.run();
}

}  // namespace

void serve_with_beast(const server_setup& how, const announcement& ready) {
  if (!how.tls) return serve_on<plain>(how, ready, nullptr);
  const certificate own = make_certificate();
  net::ssl::context context(net::ssl::context::tls_server);
  context.use_certificate_chain(net::buffer(own.chain));
  context.use_private_key(net::buffer(own.key), net::ssl::context::pem);
  serve_on<encrypted>(how, ready, &context);
}

}  // namespace troupe::lab::websocket
