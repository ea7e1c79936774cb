// SPDX-License-Identifier: Apache-2.0

// A server whose sockets lose operations: a completion handler is destroyed without being called,
// as when the code below throws or has no memory. The client requests this: after bytes with
// "X-Drop: read" the connection's next read is dropped, after "X-Drop: write" its next write.
// Everything else is as in any server.
//
//   dropping        prints its URL, and serves until SIGTERM

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <troupe/http/http.hpp>
#include <troupe/net/listener.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/net/signals.hpp>
#include <troupe/troupe.hpp>

#include "http/connection.hpp"
#include "http/gate.hpp"
#include "http/http_steps.hpp"
#include "http/metrics.hpp"
#include "http/websocket_steps.hpp"

namespace {

using namespace troupe;
namespace hd = troupe::http::detail;

/// A socket that drops operations on its client's request.
class dropping_socket : public net::socket {
 public:
  explicit dropping_socket(net::socket&& from) : net::socket(std::move(from)) {}

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& into, Token&& token) {
    return boost::asio::async_initiate<Token, void(net::error_code, std::size_t)>(
        [this, buffer = boost::asio::mutable_buffer(into)](auto handler) {
          if (std::exchange(drops_read_, false)) return;  // destroys the handler as well
          net::socket::async_read_some(
              buffer, [this, buffer, handler = std::move(handler)](net::error_code error,
                                                                   std::size_t bytes) mutable {
                if (!error) look({static_cast<const char*>(buffer.data()), bytes});
                std::move(handler)(error, bytes);
              });
        },
        token);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& from, Token&& token) {
    return boost::asio::async_initiate<Token, void(net::error_code, std::size_t)>(
        [this](auto handler, const Buffers& buffers) {
          if (std::exchange(drops_write_, false)) return;
          net::socket::async_write_some(buffers, std::move(handler));
        },
        token, from);
  }

 private:
  void look(std::string_view read) noexcept {
    drops_read_ = drops_read_ || read.find("X-Drop: read") != std::string_view::npos;
    drops_write_ = drops_write_ || read.find("X-Drop: write") != std::string_view::npos;
  }

  bool drops_read_ = false;
  bool drops_write_ = false;
};

using dropping_connection = hd::basic_connection<dropping_socket>;

class echo : public actor {
 public:
  explicit echo(http::websocket client) : client_(std::move(client)) {}
  void on(http::text m) { client_.send(std::move(m.data)); }

 private:
  http::websocket client_;
};

/// Admits every client.
class door : public actor {
 public:
  door(std::shared_ptr<const hd::server_context> on, net::loop& loop, net::acceptor acceptor)
      : on_(std::move(on)), loop_(loop), acceptor_(std::move(acceptor)) {}

  void on_start() {
    listener_ = system().spawn<net::listener>(hd::without_limits(loop_.pump()),
                                              std::move(acceptor_), self(this));
    listener_.send(net::accept{&loop_});
  }
  void on(net::accepted m) {
    const auto made = system().spawn<dropping_connection>(
        hd::without_limits(loop_.pump()), on_, dropping_socket(std::move(m.connection)),
        hd::ip_address(), dropping_connection::entry::admitted, loop_.pump());
    on_->counts.connections.add();
    watch(made.address());
    listener_.send(net::accept{&loop_});
  }
  void on(const net::accept_paused&) {}
  void on(const down&) { on_->counts.connections.subtract(); }

 private:
  const std::shared_ptr<const hd::server_context> on_;
  net::loop& loop_;
  net::acceptor acceptor_;
  ref<net::listener> listener_;
};

void add_routes(hd::server_context& to, troupe::system& with) {
  to.routes.add("GET", "/healthz",
                [](const http::request&) { return http::response::text("ok\n"); });
  to.routes.add("GET", "/fail", [](const http::request&) -> http::response {
    throw std::runtime_error("as asked");
  });
  to.routes.add("GET", "/metrics", [&](const http::request&) {
    return http::response::text(hd::to_prometheus(with.statistics(), to.snapshot(), {}));
  });
  to.routes.add("/echo", [&](http::websocket client) {
    return std::make_unique<hd::session_of<echo>>(with.spawn<echo>(std::move(client)));
  });
}

}  // namespace

int main() try {
  net::signals signals{SIGTERM, SIGINT};
  // Connections fail by the thousand here, so failures are not logged.
  troupe::system all{{.workers = 1, .on_failure = [](const failure&) {}}};
  net::loop loop(all, "dropping");
  const auto on = std::make_shared<hd::server_context>(all, http::options{});
  add_routes(*on, all);
  net::acceptor acceptor = net::listen(loop.context(), "127.0.0.1", 0);
  std::cout << "serving http://127.0.0.1:" << acceptor.local_endpoint().port() << std::endl;
  const auto here = all.spawn<door>(hd::without_limits(loop.pump()), on, loop, std::move(acceptor));
  (void)signals.wait();
  here.stop_now();
  here.join();
  return 0;
} catch (const std::exception& wrong) {
  std::cerr << wrong.what() << '\n';
  return 1;
}
