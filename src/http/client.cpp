// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/client.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

#include "client_pool.hpp"
#include "gate.hpp"
#include "outgoing_websocket.hpp"

namespace troupe::http {

using detail::url;

client::client(net::loop& on, client_options options)
    : pool_(std::make_shared<detail::client_pool>(on, std::move(options))) {
  pool_->on_due([this](time_point due) { look_again(due); });
}

client::~client() { pool_->abandon(); }

ref<client> client::spawn(troupe::system& in, net::loop& on, client_options options) {
  return in.spawn<client>(spawn_options{.name = "http client", .where = bound_to(on.pump())}, on,
                          std::move(options));
}

void client::on(fetch&& what, reply<fetched> owed) {
  auto its = std::make_shared<detail::errand>();
  its->what = std::move(what);
  its->owed = std::move(owed);
  its->keeps = self(this);
  const auto time = std::clamp(its->what.timeout, std::chrono::milliseconds(0), detail::time_max);
  its->due = clock::now() + time;
  pool_->begin(std::move(its));
}

void client::on(connect_websocket&& what, reply<connected> owed) {
  const auto refuse = [&](client_error error, std::string why) {
    owed.set_value({.error = error, .why = std::move(why), .status = 0, .socket = {}});
  };
  if (auto problem = validate(what)) {
    return refuse(client_error::invalid, std::move(*problem));
  }
  if (!what.session)
    return refuse(client_error::invalid, "session is empty: set connect_websocket::session");
  url to = std::get<url>(detail::parse_url(what.url, detail::scheme_kind::websocket));
  if (auto problem = pool_->forbidden(to)) {
    return refuse(client_error::not_allowed, std::move(*problem));
  }
  if (websockets_.size() >= pool_->options().websockets_max) {
    return refuse(client_error::overloaded,
                  std::to_string(websockets_.size()) +
                      " WebSockets are connected already, which is the limit websockets_max");
  }
  auto share = pool_->share();
  if (!share->resize(sizeof(detail::outgoing_websocket) + what.owned_bytes())) {
    return refuse(client_error::overloaded, std::string(detail::too_many_bytes));
  }
  try {
    if (to.is_secure) (void)pool_->trust();
  } catch (const std::exception& e) {
    return refuse(client_error::tls, e.what());
  }
  if (!site_) {
    http::options with;
    with.limits = pool_->options().websocket_limits;
    site_ = std::make_shared<detail::site>(system(), std::move(with));
  }
  const ref<detail::outgoing_websocket> made = system().spawn<detail::outgoing_websocket>(
      detail::without_limits(pool_->loop().pump()), pool_, site_, std::move(what), std::move(share),
      std::move(to), std::move(owed));
  watch(made);
  websockets_.emplace(made.address(), made);
}

void client::on(const down& which) { websockets_.erase(which.who); }

client_statistics client::on(count_client) {
  client_statistics now = pool_->statistics();
  now.websockets = websockets_.size();
  return now;
}

void client::on(look) {
  due_ = time_point::max();
  look_again(pool_->tick(clock::now()));
}

// As with the alarm of a connection, the time only moves nearer.
void client::look_again(time_point due) {
  if (due >= due_) return;
  alarm_.cancel();
  alarm_ = self(this).send_after(std::max(duration::zero(), due - clock::now()), look{});
  due_ = due;
}

}  // namespace troupe::http
