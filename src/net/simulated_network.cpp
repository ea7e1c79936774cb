// SPDX-License-Identifier: Apache-2.0
#include <troupe/net/simulated_network.hpp>

#include <boost/asio/error.hpp>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <troupe/detail/actor/simulation_driver.hpp>
#include <troupe/detail/net/simulated_socket.hpp>

#include "simulated_context.hpp"
#include "simulated_end.hpp"
#include "simulated_network_access.hpp"
#include "simulated_wire.hpp"

namespace troupe::net {

namespace asio = boost::asio;
using detail::endpoint;
using detail::error_code;

namespace {

constexpr std::size_t backlog_max = 4096;

std::string text_of(const endpoint& of) {
  return of.address().to_string() + ":" + std::to_string(of.port());
}

}  // namespace

namespace detail {

namespace {

class socket_of_end final : public simulated_socket {
 public:
  socket_of_end(state& in, std::shared_ptr<end> of) : in_(in), end_(std::move(of)) {
    ++in_.sockets;
  }
  socket_of_end(const socket_of_end&) = delete;
  socket_of_end& operator=(const socket_of_end&) = delete;
  ~socket_of_end() override {
    end_->close();
    end_->let_go();
    --in_.sockets;
  }

  void connect(const endpoint& to, std::unique_ptr<completion<>> done) override {
    end_->connect(to, std::move(done));
  }
  void bind(const endpoint& at, error_code& error) override { end_->bind(at, error); }
  void read(asio::mutable_buffer into, transferred done) override {
    end_->read(into, std::move(done));
  }
  void write(std::span<const asio::const_buffer> from, transferred done) override {
    end_->write(from, std::move(done));
  }
  void shutdown(asio::socket_base::shutdown_type what, error_code& error) override {
    end_->shutdown(what, error);
  }
  void cancel() override { end_->cancel(); }
  void close() override { end_->close(); }
  void closes_hard(bool it_does) override { end_->closes_hard(it_does); }
  [[nodiscard]] bool is_open() const override { return end_->is_open(); }
  [[nodiscard]] bool is_closed_by_peer() const override { return end_->is_closed_by_peer(); }
  [[nodiscard]] endpoint local(error_code& error) const override {
    error = end_->is_open() ? error_code{} : error_code(asio::error::bad_descriptor);
    return end_->local();
  }
  [[nodiscard]] endpoint remote(error_code& error) const override { return end_->remote(error); }

 private:
  state& in_;
  const std::shared_ptr<end> end_;
};

}  // namespace

// ── The listener ────────────────────────────────────────────────────────────────────────────────

class listening final : public simulated_acceptor, public waiting_on_context {
 public:
  listening(state& in, asio::io_context& on, endpoint at)
      : in_(in), on_(&simulated_context::of(on)), at_(std::move(at)) {
    in_.listeners.emplace(at_.port(), this);
    on_->add(*this);
    ++in_.sockets;
  }
  listening(const listening&) = delete;
  listening& operator=(const listening&) = delete;
  ~listening() override {
    close();
    if (on_ != nullptr) on_->remove(*this);
    --in_.sockets;
  }

  void context_ends() noexcept override {
    on_ = nullptr;
    const std::deque<pending> dropped = std::move(accepting_);  // its handlers may hold this object
    accepting_.clear();
    close();
  }

  void accept(asio::io_context& onto, accepted done) override {
    accepting_.push_back({&onto, std::move(done)});
    if (!is_open_) return complete(asio::error::bad_descriptor, nullptr);
    go_on();
  }

  void cancel() override {
    while (!accepting_.empty()) complete(asio::error::operation_aborted, nullptr);
  }

  void close() override {
    if (!std::exchange(is_open_, false)) return;
    in_.listeners.erase(at_.port());
    cancel();
    for (const std::shared_ptr<end>& each : waiting_) {
      each->turn_away();
      each->let_go();
    }
    waiting_.clear();
  }

  [[nodiscard]] endpoint local() const override { return at_; }

  /// Returns false if the backlog is full.
  [[nodiscard]] bool comes(std::shared_ptr<end> one) {
    if (waiting_.size() == backlog_max) return false;
    waiting_.push_back(std::move(one));
    go_on();
    return true;
  }
  [[nodiscard]] asio::io_context& context() const noexcept {
    return static_cast<asio::io_context&>(on_->context());
  }

 private:
  struct pending {
    asio::io_context* onto;
    accepted done;
  };

  void go_on() {
    if (accepting_.empty() || waiting_.empty()) return;
    std::shared_ptr<end> next = std::move(waiting_.front());
    waiting_.pop_front();
    next->move_to(*accepting_.front().onto);
    complete({}, std::make_unique<socket_of_end>(in_, std::move(next)));
  }
  void complete(error_code error, std::unique_ptr<simulated_socket> connection) {
    const accepted done = std::move(accepting_.front().done);
    accepting_.pop_front();
    (*done)(error, std::move(connection));
    if (on_ != nullptr) on_->wake();
  }

  state& in_;
  simulated_context* on_;  // null: ended
  endpoint at_;
  bool is_open_ = true;
  std::deque<std::shared_ptr<end>> waiting_;
  std::deque<pending> accepting_;
};

void end::arrives_at_listener() {
  if (!connecting_ || peer_ != nullptr) return;  // cancelled meanwhile, or a second arrival
  const auto found = in_.listeners.find(remote_.port());
  const bool refused = in_.fault_occurs(in_.options().refuses_one_in, "a connection is refused");
  std::shared_ptr<end> other;
  if (found != in_.listeners.end() && !refused) {
    other = std::make_shared<end>(in_, found->second->context());
    other->is_open_ = true;
    other->local_ = remote_;
    other->remote_ = local_;
    other->accepted_by(shared_from_this(), in_.counts.connected + 1);
    if (!found->second->comes(other)) other->peer_.reset();
  }
  if (other == nullptr || other->peer_ == nullptr) {
    ++in_.counts.refused;
    in_.note(0, "of " + text_of(local_) + " to " + text_of(remote_) + " is refused");
    return complete(std::move(connecting_), asio::error::connection_refused);
  }
  accepted_by(other, ++in_.counts.connected);
  is_client_ = true;
  in_.note(number_, "of " + text_of(local_) + " to " + text_of(remote_));
  if (in_.fault_occurs(in_.options().slow_readers_one_in, "the connecting side reads slowly")) {
    ++in_.counts.slow_readers;
    in_.note(number_, "reads slowly");
    reads_slowly_ = true;
  }
  in_.at(clock::now() + in_.latency(), [me = shared_from_this()] {
    if (me->connecting_) me->complete(std::move(me->connecting_), error_code{});
  });
}

namespace {

state* network_here() {
  if (state* const network = state::here()) return network;
  if (troupe::detail::simulation_driver::here() == nullptr) return nullptr;
  throw std::logic_error(
      "troupe: sockets in a simulation need a troupe::net::simulated_network: create one after the "
      "simulation and before the system");
}

}  // namespace

std::unique_ptr<simulated_socket> simulated_socket_on(asio::io_context& on) {
  state* const network = network_here();
  if (network == nullptr) return nullptr;
  return std::make_unique<socket_of_end>(*network, std::make_shared<end>(*network, on));
}

std::unique_ptr<simulated_acceptor> simulated_listener(asio::io_context& on, const endpoint& at,
                                                       error_code& error) {
  state* const network = network_here();
  if (network == nullptr) return nullptr;
  if (network->listeners.contains(at.port())) {
    error = asio::error::address_in_use;
    return nullptr;
  }
  return std::make_unique<listening>(
      *network, on, endpoint{at.address(), at.port() != 0 ? at.port() : network->free_port()});
}

}  // namespace detail

simulated_network::simulated_network(simulated_network_options options)
    : state_(std::make_unique<state>(options)) {}
simulated_network::~simulated_network() = default;

simulated_network_statistics simulated_network::statistics() const noexcept {
  return state_->counts;
}

}  // namespace troupe::net
