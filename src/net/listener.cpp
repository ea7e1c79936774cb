// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/listener.hpp>

#include <cerrno>
#include <system_error>
#include <utility>

#include "simulated_network_access.hpp"

namespace troupe::net {
namespace {

namespace asio = boost::asio;

[[noreturn]] void fail(const std::string& address, std::uint16_t port, const error_code& why) {
  const bool is_v6 = address.find(':') != std::string::npos;
  throw std::system_error(why, "cannot listen on " + (is_v6 ? "[" + address + "]" : address) + ":" +
                                   std::to_string(port));
}

protocol::endpoint resolve(io_context& on, const std::string& address, std::uint16_t port) {
  error_code error;
  if (const auto numeric = asio::ip::make_address(address, error); !error) return {numeric, port};
  asio::ip::basic_resolver<protocol, io_context::executor_type> resolver{on};
  const auto found = resolver.resolve(address, "", asio::ip::resolver_base::passive, error);
  if (error) fail(address, port, error);
  return {found.begin()->endpoint().address(), port};
}

// The connection is gone, or its network is: not the means to take the next one. See accept(2).
bool concerns_one_connection(const error_code& error) {
  switch (error.value()) {
    case ECONNABORTED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case EINTR:
    case ENETDOWN:
    case ENETUNREACH:
    case ENONET:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case EPERM:
    case EPROTO:
      return true;
    default:
      return false;
  }
}

}  // namespace

acceptor listen(io_context& on, const std::string& address, std::uint16_t port) {
  const protocol::endpoint where = resolve(on, address, port);
  error_code error;
  if (auto simulated = detail::simulated_listener(on, where, error)) {
    return acceptor{on, std::move(simulated)};
  }
  acceptor result{on};
  // Each step is skipped once one has failed.
  if (!error) result.open(where.protocol(), error);
  // A restarted server may bind while connections of its predecessor linger in TIME_WAIT.
  if (!error) result.set_option(acceptor::reuse_address(true), error);
  if (!error) result.bind(where, error);
  if (!error) result.listen(acceptor::max_listen_connections, error);
  if (error) fail(address, port, error);
  return result;
}

listener::listener(acceptor on, recipient<accepted, accept_paused> owner)
    : acceptor_(std::move(on)), owner_(std::move(owner)) {}

void listener::on(accept m) {
  // The handler must not touch this object, which may have ended by then: it sends a message. The
  // reference in it keeps the actor alive while it waits for a connection.
  ref<listener> me = self(this);
  acceptor_.async_accept(m.onto->context(),
                         [me, onto = m.onto](error_code error, socket connection) {
                           if (error == asio::error::operation_aborted) return;
                           me.send(arrived{onto, error, std::move(connection)});
                         });
}

void listener::on(arrived m) {
  if (!m.error) {
    owner_.send(accepted{m.onto, std::move(m.connection)});
  } else if (concerns_one_connection(m.error)) {
    on(accept{m.onto});
  } else {
    owner_.send(accept_paused{m.error});
    self(this).send_after(pause, accept{m.onto});
  }
}

}  // namespace troupe::net
