// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/server.hpp>

#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/net/signals.hpp>
#include <troupe/net/socket_file.hpp>

#include "access_logged_session.hpp"
#include "gate.hpp"
#include "listen_address.hpp"
#include "metrics_maker.hpp"
#include "server_context.hpp"

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
  positive(l.metrics_bytes > 0, "metrics_bytes");
  positive(l.connections_max > 0, "connections_max");
  positive(l.connections_per_address_max > 0, "connections_per_address_max");
  positive(l.handshake_timeout.count() > 0, "handshake_timeout");
  positive(l.request_timeout.count() > 0, "request_timeout");
  positive(l.handler_timeout.count() > 0, "handler_timeout");
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
  if (detail::is_unix_address(o.address) && !o.trusted_proxies.empty()) {
    throw std::invalid_argument(
        "http::options::trusted_proxies must be empty with the Unix socket \"" + o.address +
        "\": its clients have no addresses");
  }
  return o;
}

}  // namespace

struct server::state {
  state(troupe::system& on, http::options opts)
      : context(std::make_shared<detail::server_context>(on, checked(std::move(opts)))) {}

  detail::router& routes() {
    if (gate) throw std::logic_error("http::server: routes must be added before start()");
    return context->routes;
  }

  net::acceptor listen(net::loop& on) {
    const http::options& o = context->options;
    if (context->is_unix) {
      file.emplace(detail::unix_path(o.address));
      return file->listen(on.context());
    }
    net::acceptor acceptor = net::listen(on.context(), o.address, o.port);
    port = acceptor.local_endpoint().port();
    return acceptor;
  }

  void remove_file() {
    const std::lock_guard lock(end_mutex);
    file.reset();
  }
  // Nothing calls the figure sources afterwards.
  void end_makers() {
    std::vector<ref<detail::metrics_maker>> all;
    {
      const std::lock_guard lock(end_mutex);
      all.swap(makers);
    }
    for (const ref<detail::metrics_maker>& each : all) each.stop_now();
    for (const ref<detail::metrics_maker>& each : all) each.join();
  }

  // Connections that the gate has not waited for end with their loops.
  ~state() {
    loops.clear();
    context->unfinished.join();
  }

  const std::shared_ptr<detail::server_context> context;
  std::vector<std::unique_ptr<net::loop>> loops;
  ref<detail::gate> gate;  // from start() on
  std::uint16_t port = 0;

  mutex end_mutex;  // guards what follows, from start() on
  std::vector<ref<detail::metrics_maker>> makers;
  std::optional<net::socket_file> file;  // if it listens on a Unix socket, until that is closed

  mutex run_mutex;                        // guards what follows
  std::unique_ptr<net::signals> waiting;  // run() does, for these
  bool stopped = false;
};

server::server(troupe::system& on, http::options options)
    : system_(on), state_(std::make_unique<state>(on, std::move(options))) {}

server::~server() { stop(); }

void server::route(std::string method, std::string path, handler answer, route_options how) {
  state_->routes().add(std::move(method), std::move(path), {std::move(answer), how});
}

void server::use(middleware around) { state_->routes().use(std::move(around)); }

void server::files(std::string prefix, const std::filesystem::path& directory) {
  state_->routes().add_files(std::move(prefix), directory);
}

void server::resource(std::string path, std::string content_type, std::string_view bytes) {
  state_->routes().add(std::move(path), detail::resource::of(std::move(content_type), bytes));
}

void server::mount(std::string_view prefix, const http::routes& of) {
  state_->routes().add_all(prefix, *of.router_,
                           [this](const detail::session_maker& make) { return bound(make); });
}

std::vector<route_entry> server::routes() const { return state_->context->routes.entries(); }

void server::add_websocket(std::string path, websocket_options how, detail::session_maker make) {
  state_->routes().add(std::move(path), bound(std::move(make)), std::move(how));
}

detail::session_factory server::bound(detail::session_maker make) const {
  detail::session_factory here = [on = &system_, made = std::move(make)](http::websocket client) {
    return made(*on, std::move(client));
  };
  const auto& on_access = state_->context->options.on_access;
  if (!on_access) return here;
  return [&on_access, made = std::move(here)](http::websocket client) {
    const http::websocket same = client;
    return std::make_unique<detail::access_logged_session>(made(std::move(client)), same,
                                                           on_access);
  };
}

void server::metrics(std::string path, figure_source also) {
  add_metrics(std::move(path), *state_, std::move(also));
}

void server::metrics_of(const server& other, std::string path, figure_source also) {
  add_metrics(std::move(path), *other.state_, std::move(also));
}

// The maker is reached from the context of this server, so it must not keep a context alive.
void server::add_metrics(std::string path, const state& of, figure_source also) {
  detail::router& routes = state_->routes();
  routes.expect_free_for_metrics(path);
  // The number of connections bounds the messages that it gets.
  const spawn_options how{.where = own_thread, .max_messages = no_limit, .max_bytes = no_limit};
  state_->makers.push_back(system_.spawn<detail::metrics_maker>(
      how, of.context, std::move(also), state_->context->limits().metrics_bytes));
  routes.add(std::move(path), state_->makers.back());
}

void server::health(std::string path) { add_health(std::move(path), *state_); }

void server::health_of(const server& other, std::string path) {
  add_health(std::move(path), *other.state_);
}

void server::add_health(std::string path, const state& of) {
  state_->routes().add_alone(
      "GET", std::move(path),
      [other = std::weak_ptr<const detail::server_context>(of.context)](const request&) {
        const auto context = other.lock();
        // [draining] relaxed: a health check may learn of it a moment later.
        const bool draining = !context || context->draining.load(relaxed);
        return draining ? response::text("draining\n", 503) : response::text("ok\n");
      });
}

void server::start() {
  if (state_->gate) throw std::logic_error("http::server: start() was called more than once");
  const http::options& o = state_->context->options;
  std::vector<std::unique_ptr<net::loop>> loops;
  std::vector<net::loop*> all;
  for (std::size_t i = 0; i < o.loops; ++i) {
    loops.push_back(std::make_unique<net::loop>(system_, "http-" + std::to_string(i)));
    all.push_back(loops.back().get());
  }
  net::acceptor acceptor = state_->listen(*all.front());
  state_->loops = std::move(loops);
  state_->gate = system_.spawn<detail::gate>(detail::without_limits(all.front()->pump()),
                                             state_->context, std::move(all), std::move(acceptor));
}

std::uint16_t server::port() const noexcept { return state_->port; }

bool server::drain(std::chrono::milliseconds deadline) {
  if (!state_->gate || state_->gate.join_for(0s)) {
    state_->context->unfinished.join();
    return true;
  }
  state_->context->draining.store(true, relaxed);  // [draining]
  state_->gate.send(detail::gate::drain{});
  const bool in_time = state_->gate.join_for(deadline).has_value();
  if (!in_time) {
    state_->gate.send(detail::gate::cut{});
    state_->gate.join();
  }
  state_->context->unfinished.join();
  state_->remove_file();
  return in_time;
}

void server::stop() {
  {
    const std::lock_guard lock(state_->run_mutex);
    state_->stopped = true;
    if (state_->waiting) state_->waiting->cancel();
  }
  if (state_->gate && !state_->gate.join_for(0s)) {
    state_->gate.send(detail::gate::cut{});
    state_->gate.join();
  }
  state_->context->unfinished.join();
  state_->remove_file();
  state_->end_makers();
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
  if (state_->waiting->wait()) drain(state_->context->limits().drain_timeout);
  return 0;
}

tls_certificate server::renew_tls(const tls_options& from) {
  TROUPE_EXPECTS(state_->context->is_secure, "http::server: renew_tls() needs a server with TLS");
  auto next = detail::tls_context::for_server(from);
  tls_certificate what = next->certificate();
  state_->context->tls.set(std::move(next));
  return what;
}

tls_certificate server::certificate() const {
  TROUPE_EXPECTS(state_->context->is_secure, "http::server: certificate() needs a server with TLS");
  return state_->context->tls.get()->certificate();
}

http::statistics server::statistics() const noexcept { return state_->context->snapshot(); }

}  // namespace troupe::http
