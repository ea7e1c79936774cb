// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <chrono>
#include <cstdint>
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
using timeouts = beast::websocket::stream_base::timeout;

/// A socket whose executor is known to the compiler, so that no call goes through a virtual
/// function.
using bare_socket = net::basic_stream_socket<tcp, net::io_context::executor_type>;

// Like beast::ssl_stream, for which Clang finds the teardown ambiguous.
template <class Socket>
class encrypted : public beast::flat_stream<net::ssl::stream<Socket>> {
 public:
  encrypted(bare_socket socket, net::ssl::context& context)
      : encrypted::flat_stream(std::move(socket), context) {}
};

template <class Socket, class Handler>
void async_teardown(beast::role_type role, encrypted<Socket>& stream, Handler&& handler) {
  beast::async_teardown(role, stream.next_layer(), std::forward<Handler>(handler));
}

template <class Stream>
inline constexpr bool is_encrypted = false;
template <class Socket>
inline constexpr bool is_encrypted<encrypted<Socket>> = true;

// beast::tcp_stream has a time-out for each operation, and the WebSocket above it sets its timer
// anew for each frame that it reads.
template <class Stream>
inline constexpr bool has_own_timers = std::is_same_v<
    std::remove_reference_t<decltype(beast::get_lowest_layer(std::declval<Stream&>()))>,
    beast::tcp_stream>;

// ── Time-outs without a timer for each client ─────────────────────────────────────────────────

/// A member of the list of a sweep.
class swept {
 public:
  swept(const swept&) = delete;
  swept& operator=(const swept&) = delete;

 protected:
  swept() = default;
  ~swept() = default;

 private:
  friend class sweep;
  virtual void look(std::uint64_t round) = 0;
  std::list<swept*>::iterator place_;
};

/// The time-outs that Beast suggests, for all clients with one timer. A round is a sixteenth of the
/// idle time-out, at most 15 s. A client only notes the number of the round in which it was heard.
class sweep {
 public:
  static constexpr int rounds_idle = 16;

  sweep(net::io_context& on, std::chrono::milliseconds idle)
      : timer_(on),
        every_(std::clamp(idle / rounds_idle, std::chrono::milliseconds(1),
                          std::chrono::milliseconds(15'000))),
        idle_rounds_(static_cast<std::uint64_t>(idle / every_)),
        handshake_rounds_(static_cast<std::uint64_t>(
            timeouts::suggested(beast::role_type::server).handshake_timeout / every_ + 1)) {
    next();
  }

  std::uint64_t round() const { return round_; }
  /// Returns the number of rounds after which a silent client is disconnected, and the number of
  /// rounds for its handshake.
  std::uint64_t idle_rounds() const { return idle_rounds_; }
  std::uint64_t handshake_rounds() const { return handshake_rounds_; }

  void add(swept& one) { one.place_ = all_.insert(all_.end(), &one); }
  void remove(swept& one) { all_.erase(one.place_); }

 private:
  void next() {
    timer_.expires_after(every_);
    timer_.async_wait([this](beast::error_code error) {
      if (error) return;
      ++round_;
      // None of them is destroyed meanwhile: closed sockets only schedule their handlers.
      for (swept* each : all_) each->look(round_);
      next();
    });
  }

  net::steady_timer timer_;
  const std::chrono::milliseconds every_;
  const std::uint64_t idle_rounds_;
  const std::uint64_t handshake_rounds_;
  std::uint64_t round_ = 0;
  std::list<swept*> all_;
};

// ── The server ────────────────────────────────────────────────────────────────────────────────

template <class Stream>
class session;

// The connected clients, for a broadcast.
template <class Stream>
using members = std::vector<std::shared_ptr<session<Stream>>>;

template <class Stream>
class session : public std::enable_shared_from_this<session<Stream>>, private swept {
 public:
  template <class... More>
  session(bare_socket socket, const server_setup& how, members<Stream>& all, sweep& watch,
          More&... more)
      : stream_(std::move(socket), more...),
        how_(how),
        all_(all),
        watch_(watch),
        heard_(watch.round()) {
    if constexpr (!has_own_timers<Stream>) watch_.add(*this);
  }
  ~session() {
    if constexpr (!has_own_timers<Stream>) watch_.remove(*this);
  }

  void run() {
    if constexpr (is_encrypted<Stream>) {
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
    if (waiting_.size() - sent_ == 1) write_next();
  }

 private:
  void on_encrypted(beast::error_code error) {
    if (!error) accept();
  }
  void accept() {
    if constexpr (has_own_timers<Stream>) {
      auto own = timeouts::suggested(beast::role_type::server);
      own.idle_timeout = how_.idle_timeout;
      own.keep_alive_pings = true;
      beast::get_lowest_layer(stream_).expires_never();  // the WebSocket has its own time-outs
      stream_.set_option(own);
    } else {
      const auto none = beast::websocket::stream_base::none();
      stream_.set_option(timeouts{none, none, false});
      // The header and the content of a message leave with one system call, without a copy.
      stream_.auto_fragment(false);
      stream_.control_callback(
          [this](beast::websocket::frame_type, beast::string_view) { heard_ = watch_.round(); });
    }
    stream_.async_accept(
        beast::bind_front_handler(&session::on_accepted, this->shared_from_this()));
  }
  void on_accepted(beast::error_code error) {
    if (error) return;
    accepted_ = true;
    if (how_.broadcasts) all_.push_back(this->shared_from_this());
    read();
  }
  void read() {
    stream_.async_read(buffer_,
                       beast::bind_front_handler(&session::on_read, this->shared_from_this()));
  }
  void on_read(beast::error_code error, std::size_t) {
    if (error) return leave();
    heard_ = watch_.round();
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
    stream_.async_write(net::buffer(*waiting_[sent_]),
                        beast::bind_front_handler(&session::on_said, this->shared_from_this()));
  }
  void on_said(beast::error_code error, std::size_t) {
    if (error) return leave();
    waiting_[sent_++].reset();
    if (sent_ == waiting_.size() || sent_ == forgotten_at) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(sent_));
      sent_ = 0;
    }
    if (!waiting_.empty()) write_next();
  }
  void leave() { std::erase(all_, this->shared_from_this()); }

  // As Beast's own time-outs: a ping after half of the idle time-out, and the end after all of it.
  void look(std::uint64_t round) override {
    const std::uint64_t silent = round - heard_;
    if (silent >= (accepted_ ? watch_.idle_rounds() : watch_.handshake_rounds())) {
      beast::error_code ignored;
      if constexpr (!has_own_timers<Stream>) beast::get_lowest_layer(stream_).close(ignored);
      return;
    }
    if (!accepted_ || pings_ || silent < watch_.idle_rounds() / 2) return;
    pings_ = true;
    stream_.async_ping(
        {}, [self = this->shared_from_this()](beast::error_code) { self->pings_ = false; });
  }

  beast::websocket::stream<Stream> stream_;
  beast::flat_buffer buffer_;
  // The messages to write; of these, `sent_` have been written, and the next one is being written.
  static constexpr std::size_t forgotten_at = 64;
  std::vector<std::shared_ptr<const std::string>> waiting_;
  std::size_t sent_ = 0;
  const server_setup& how_;
  members<Stream>& all_;
  sweep& watch_;
  std::uint64_t heard_;    // the round of the last message or reply to a ping
  bool accepted_ = false;  // the handshakes are over
  bool pings_ = false;
};

template <class Stream>
class listener {
 public:
  listener(net::io_context& on, const server_setup& how, net::ssl::context* context)
      : how_(how),
        context_(context),
        watch_(on, how.idle_timeout),
        acceptor_(on, {net::ip::address_v4::loopback(), 0}) {
    acceptor_.listen(net::socket_base::max_listen_connections);
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void accept() {
    acceptor_.async_accept([this](beast::error_code error, bare_socket socket) {
      if (!error) {
        socket.set_option(tcp::no_delay(true), error);
        make(std::move(socket))->run();
      }
      accept();
    });
  }

 private:
  auto make(bare_socket socket) {
    if constexpr (is_encrypted<Stream>) {
      return std::make_shared<session<Stream>>(std::move(socket), how_, all_, watch_, *context_);
    } else {
      return std::make_shared<session<Stream>>(std::move(socket), how_, all_, watch_);
    }
  }

  const server_setup& how_;
  net::ssl::context* const context_;
  sweep watch_;
  net::basic_socket_acceptor<tcp, net::io_context::executor_type> acceptor_;
  members<Stream> all_;
};

template <class Stream>
void serve_on(int threads, const server_setup& how, const announcement& ready,
              net::ssl::context* context) {
  net::io_context loop{threads};
  listener<Stream> all(loop, how, context);
  all.accept();
  ready.listens_at(all.port());
  loop.run();
}

template <class Socket>
void serve_by(int threads, const server_setup& how, const announcement& ready) {
  if (!how.tls) return serve_on<Socket>(threads, how, ready, nullptr);
  const certificate own = make_certificate();
  net::ssl::context context(net::ssl::context::tls_server);
  context.use_certificate_chain(net::buffer(own.chain));
  context.use_private_key(net::buffer(own.key), net::ssl::context::pem);
  serve_on<encrypted<Socket>>(threads, how, ready, &context);
}

}  // namespace

void serve_with_beast(const server_setup& how, const announcement& ready) {
  serve_by<bare_socket>(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE, how, ready);  // one thread, no locks
}

void serve_with_beast_tcp_stream(const server_setup& how, const announcement& ready) {
  serve_by<beast::tcp_stream>(1, how, ready);
}

}  // namespace troupe::lab::websocket
