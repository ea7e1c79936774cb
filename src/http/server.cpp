// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/server.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <troupe/base/assert.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/net/signals.hpp>
#include <troupe/sync/mutex.hpp>

#include "access_logged_session.hpp"
#include "gate.hpp"
#include "metrics.hpp"
#include "site.hpp"
#include "text.hpp"

namespace troupe::http {
namespace {

using namespace std::chrono_literals;

http::options checked(http::options o) {
  const auto positive = [](bool is, const char* name) {
    if (!is)
      throw std::invalid_argument(std::string{"http::limits::"} + name + " must be positive");
  };
  const http::limits& l = o.limits;
  positive(l.header_bytes > 0, "header_bytes");
  positive(l.body_bytes > 0, "body_bytes");
  positive(l.request_bodies_bytes > 0, "request_bodies_bytes");
  positive(l.message_bytes > 0, "message_bytes");
  positive(l.connections_max > 0, "connections_max");
  positive(l.connections_per_address_max > 0, "connections_per_address_max");
  positive(l.handshake_timeout.count() > 0, "handshake_timeout");
  positive(l.request_timeout.count() > 0, "request_timeout");
  positive(l.idle_timeout.count() > 1, "idle_timeout");
  positive(l.close_timeout.count() > 0, "close_timeout");
  positive(l.drain_timeout.count() > 0, "drain_timeout");
  positive(l.send_queue_bytes > 0, "send_queue_bytes");
  positive(l.send_queues_bytes > 0, "send_queues_bytes");
  positive(l.partial_messages_bytes > 0, "partial_messages_bytes");
  positive(l.upgrade_requests_bytes > 0, "upgrade_requests_bytes");
  positive(l.read_bytes_per_second > 0, "read_bytes_per_second");
  positive(l.receive_window > 0, "receive_window");
  positive(l.throttled_messages_max > 0, "throttled_messages_max");
  positive(l.rate_addresses_max > 0, "rate_addresses_max");
  positive(l.rate_addresses_bytes > 0, "rate_addresses_bytes");
  if (o.loops == 0) throw std::invalid_argument("http::options::loops must be positive");
  return o;
}

// FNV-1a: distinguishes versions of one resource, and nothing more.
std::string etag_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  std::array<char, 32> text;
  const int size =
      std::snprintf(text.data(), text.size(), "\"%016llx\"", static_cast<unsigned long long>(hash));
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

struct server::state {
  state(troupe::system& on, http::options opts)
      : site(std::make_shared<detail::site>(on, checked(std::move(opts)))) {}

  detail::router& routes() {
    if (gate) throw std::logic_error("http::server: routes must be added before start()");
    return site->routes;
  }

  const std::shared_ptr<detail::site> site;
  std::vector<std::unique_ptr<net::loop>> loops;
  ref<detail::gate> gate;  // from start() on
  std::uint16_t port = 0;

  mutex run_mutex;                        // guards what follows
  std::unique_ptr<net::signals> waiting;  // run() does, for these
  bool stopped = false;
};

server::server(troupe::system& on, http::options options)
    : system_(on), state_(std::make_unique<state>(on, std::move(options))) {}

server::~server() { stop(); }

void server::route(std::string method, std::string path, handler answer) {
  state_->routes().add(std::move(method), std::move(path), std::move(answer));
}

void server::files(std::string prefix, const std::filesystem::path& directory) {
  state_->routes().add_files(std::move(prefix), directory);
}

void server::resource(std::string path, std::string content_type, std::string_view bytes) {
  state_->routes().add(std::move(path),
                       detail::resource{std::move(content_type), bytes, etag_of(bytes)});
}

void server::add_websocket(std::string path, websocket_options how, detail::session_factory make) {
  for (const std::string& name : how.protocols) {
    if (detail::is_token(name)) continue;
    throw std::invalid_argument("http::websocket_options::protocols: \"" + name +
                                "\" is not a token of HTTP: use letters, digits, '.' and '-'");
  }
  if (how.require_protocol && how.protocols.empty()) {
    throw std::invalid_argument(
        "http::websocket_options::require_protocol: protocols is empty, so no client could "
        "connect");
  }
  if (const auto& on_access = state_->site->options.on_access) {
    make = [&on_access, made = std::move(make)](http::websocket client) {
      const http::websocket same = client;
      return std::make_unique<detail::access_logged_session>(made(std::move(client)), same,
                                                             on_access);
    };
  }
  state_->routes().add(std::move(path), std::move(make), std::move(how));
}

void server::metrics(std::string path, figure_source also) {
  const auto answer = [site = state_->site.get(), also = std::move(also)](const request&) {
    response r = response::text(detail::to_prometheus(
        site->system.statistics(), site->snapshot(), also ? also() : std::vector<figure_family>()));
    r.content_type = detail::metrics_content_type;
    return r;
  };
  route("GET", std::move(path), answer);
}

void server::health(std::string path) {
  route("GET", std::move(path), [site = state_->site.get()](const request&) {
    // [draining] relaxed: whoever asks hears of it soon enough.
    const bool draining = site->draining.load(relaxed);
    return draining ? response::text("draining\n", 503) : response::text("ok\n");
  });
}

void server::start() {
  if (state_->gate) throw std::logic_error("http::server: start() was called more than once");
  const http::options& o = state_->site->options;
  std::vector<std::unique_ptr<net::loop>> loops;
  std::vector<net::loop*> all;
  for (std::size_t i = 0; i < o.loops; ++i) {
    loops.push_back(std::make_unique<net::loop>(system_, "http-" + std::to_string(i)));
    all.push_back(loops.back().get());
  }
  net::acceptor acceptor = net::listen(all.front()->context(), o.address, o.port);
  state_->port = acceptor.local_endpoint().port();
  state_->loops = std::move(loops);
  state_->gate = system_.spawn<detail::gate>(detail::without_limits(all.front()->pump()),
                                             state_->site, std::move(all), std::move(acceptor));
}

std::uint16_t server::port() const noexcept { return state_->port; }

bool server::drain(std::chrono::milliseconds deadline) {
  if (!state_->gate || state_->gate.join_for(0s)) return true;
  state_->site->draining.store(true, relaxed);  // [draining]
  state_->gate.send(detail::gate::drain{});
  if (state_->gate.join_for(deadline)) return true;
  state_->gate.send(detail::gate::cut{});
  state_->gate.join();
  return false;
}

void server::stop() {
  {
    const std::lock_guard lock(state_->run_mutex);
    state_->stopped = true;
    if (state_->waiting) state_->waiting->cancel();
  }
  if (!state_->gate || state_->gate.join_for(0s)) return;
  state_->gate.send(detail::gate::cut{});
  state_->gate.join();
}

int server::run(const std::function<void()>& serving) {
  {
    const std::lock_guard lock(state_->run_mutex);
    if (state_->stopped) return 0;
    state_->waiting = std::make_unique<net::signals>(std::initializer_list<int>{SIGTERM, SIGINT});
  }
  struct give_signals_back {
    state& of;
    ~give_signals_back() {
      const std::lock_guard lock(of.run_mutex);
      of.waiting.reset();
    }
  } const at_the_end{*state_};
  if (!state_->gate) start();
  if (serving) serving();
  if (state_->waiting->wait()) drain(state_->site->limits().drain_timeout);
  return 0;
}

tls_certificate server::renew_tls(const tls_options& from) {
  TROUPE_EXPECTS(state_->site->is_secure, "http::server: renew_tls() needs a server with TLS");
  auto next = detail::tls_context::for_server(from);
  tls_certificate what = next->certificate();
  state_->site->tls.set(std::move(next));
  return what;
}

tls_certificate server::certificate() const {
  TROUPE_EXPECTS(state_->site->is_secure, "http::server: certificate() needs a server with TLS");
  return state_->site->tls.get()->certificate();
}

http::statistics server::statistics() const noexcept { return state_->site->snapshot(); }

}  // namespace troupe::http
