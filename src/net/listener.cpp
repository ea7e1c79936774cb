// SPDX-License-Identifier: Apache-2.0

#include <troupe/net/listener.hpp>

#include <cerrno>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/timer.hpp>

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

namespace detail {

/// The memory of one `accept` message. While the message is in a mailbox or in a timer, it keeps this
/// object, which its owner may have released.
///
/// Threads:   that of the listener's loop.
/// Invariant: `keeps_` is set while the message is on its way.
class reserved_accept : public std::enable_shared_from_this<reserved_accept> {
 public:
  /// False: the message is on its way already.
  bool send(const ref<listener>& to, loop* onto) noexcept {
    if (!begin(onto)) return false;
    (void)troupe::detail::ref_access::block(to).deliver(message_);
    return true;
  }
  bool send_after(duration pause, const ref<listener>& to, loop* onto) noexcept {
    if (!begin(onto)) return false;
    try {
      (void)troupe::detail::arm(troupe::detail::ref_access::block(to), message_, pause,
                                duration::zero(), nullptr);
      return true;
    } catch (...) {
      // The message has been discarded. Without a timer there is no pause.
      return send(to, onto);
    }
  }

 private:
  struct message : troupe::detail::envelope {
    reserved_accept* of = nullptr;
  };

  static reserved_accept& owner_of(troupe::detail::envelope& one) noexcept {
    return *static_cast<message&>(one).of;
  }
  static void run(void* actor, troupe::detail::envelope& one) {
    reserved_accept& me = owner_of(one);
    const accept asked{me.onto_};
    me.end();
    static_cast<listener*>(actor)->on(asked);
  }
  static void discard(troupe::detail::envelope& one) noexcept { owner_of(one).end(); }

  static const troupe::detail::dispatch how;

  bool begin(loop* onto) noexcept {
    if (keeps_) return false;
    keeps_ = shared_from_this();
    onto_ = onto;
    message_.next = nullptr;
    message_.how = &how;
    message_.of = this;
    return true;
  }
  void end() noexcept { const std::shared_ptr<reserved_accept> last = std::move(keeps_); }

  message message_;
  loop* onto_ = nullptr;
  std::shared_ptr<reserved_accept> keeps_;
};

// As for a message that is always accepted; only its memory is another.
constinit const troupe::detail::dispatch reserved_accept::how = [] {
  troupe::detail::dispatch d = troupe::detail::promised_dispatch_of<listener, accept>;
  d.run = run;
  d.discard = discard;
  d.type = {};  // it is not in an envelope of that type
  return d;
}();

}  // namespace detail

accept_request::accept_request() : reserved_(std::make_shared<detail::reserved_accept>()) {}

bool accept_request::send(const ref<listener>& to, loop& onto) noexcept {
  return reserved_->send(to, &onto);
}

namespace {

/// The completion handler of an accept. If it is destroyed without being called, because the code
/// below has failed, or if it cannot pass on what it was called with, the listener accepts again.
///
/// It must not touch the listener, which may have stopped. The reference keeps the actor alive
/// while it waits for a connection.
class accepting {
 public:
  accepting(ref<listener> who, loop* onto, std::shared_ptr<detail::reserved_accept> retry) noexcept
      : who_(std::move(who)), onto_(onto), retry_(std::move(retry)) {}
  accepting(accepting&&) noexcept = default;
  accepting& operator=(accepting&&) = delete;
  ~accepting() {
    if (!who_) return;
    const ref<listener> alive = weak_ref<listener>(who_).lock();
    if (!alive) return;  // its loop ends, and destroys the handlers of all operations
    if (retry_->send_after(listener::pause, alive, onto_)) return;
    // It waits for another request, so the owner has sent several.
    try {
      (void)alive.send_after(listener::pause, accept{onto_});
    } catch (...) {
      end(alive);
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
  // One request is lost, and the owner must not wait for its reply.
  static void end(const ref<listener>& one) noexcept {
    try {
      one.stop_now();
    } catch (...) {
      // No memory for that either. The requests that are left are still served.
    }
  }

  ref<listener> who_;
  loop* onto_;
  std::shared_ptr<detail::reserved_accept> retry_;
};

}  // namespace

listener::listener(acceptor on, recipient<accepted, accept_paused> owner)
    : acceptor_(std::move(on)),
      owner_(std::move(owner)),
      retry_(std::make_shared<detail::reserved_accept>()) {}

void listener::on(accept m) {
  try {
    acceptor_.async_accept(m.onto->context(), accepting(self(this), m.onto, retry_));
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
    accepting(self(this), m.onto, retry_);  // destroyed at once: accepts after the pause
  }
}

}  // namespace troupe::net
