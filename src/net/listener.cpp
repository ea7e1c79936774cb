// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/listener.hpp>

#include <cerrno>
#include <new>
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

// Whether the error concerns this connection or its network, and not the ability to accept the next
// one. See accept(2).
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
  // After a failure, each further step is skipped.
  if (!error) result.open(where.protocol(), error);
  // A restarted server may bind while connections of its predecessor linger in TIME_WAIT.
  if (!error) result.set_option(acceptor::reuse_address(true), error);
  if (!error) result.bind(where, error);
  if (!error) result.listen(acceptor::max_listen_connections, error);
  if (error) fail(address, port, error);
  return result;
}

namespace {

/// The completion handler of an accept. If it is destroyed without being called, because the code
/// below has failed, or if it cannot pass on what it was called with, the listener accepts again.
///
/// It must not touch the listener, which may have stopped. The reference keeps the actor alive
/// while it waits for a connection.
class accepting {
 public:
  accepting(ref<listener> who, loop* onto) noexcept : who_(std::move(who)), onto_(onto) {}
  accepting(accepting&&) noexcept = default;
  accepting& operator=(accepting&&) = delete;
  ~accepting() {
    if (!who_) return;
    const ref<listener> alive = weak_ref<listener>(who_).lock();
    if (!alive) return;  // its loop ends, and destroys the handlers of all operations
    try {
      alive.send_after(listener::pause, accept{onto_});
    } catch (...) {
      alive.stop_now();  // no memory for this either: its owner is notified without any
    }
  }

  void operator()(error_code error, socket connection) {
    if (error != asio::error::operation_aborted) {
      try {
        who_.send(listener::arrived{onto_, error, std::move(connection)});
      } catch (...) {
        return;
      }
    }
    who_ = {};
  }

 private:
  ref<listener> who_;
  loop* onto_;
};

}  // namespace

listener::listener(acceptor on, recipient<accepted, accept_paused> owner)
    : acceptor_(std::move(on)), owner_(std::move(owner)) {}

void listener::on(accept m) {
  try {
    acceptor_.async_accept(m.onto->context(), accepting(self(this), m.onto));
  } catch (const std::bad_alloc&) {
    tell_paused(asio::error::no_memory);
  }
}

void listener::tell_paused(error_code why) noexcept {
  try {
    owner_.send(accept_paused{why});
  } catch (...) {
    // There is not enough memory to report it.
  }
}

void listener::on(arrived m) {
  if (!m.error) {
    try {
      owner_.send(accepted{m.onto, std::move(m.connection)});
    } catch (const std::bad_alloc&) {
      on(accept{m.onto});  // this connection is closed
    }
  } else if (concerns_one_connection(m.error)) {
    on(accept{m.onto});
  } else {
    tell_paused(m.error);
    accepting(self(this), m.onto);  // destroyed at once: accepts after the pause
  }
}

}  // namespace troupe::net
