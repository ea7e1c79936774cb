// SPDX-License-Identifier: Apache-2.0
#include <troupe/net/simulated_network.hpp>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <troupe/actor/conductor.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/net/simulated_socket.hpp>
#include <troupe/sync/per_thread.hpp>

#include "simulated_context.hpp"
#include "simulated_network_access.hpp"

namespace troupe::net {

namespace asio = boost::asio;
using detail::endpoint;
using detail::error_code;

namespace {

constexpr std::size_t latency_steps = 16;
constexpr std::uint16_t first_port_chosen = 49152;
constexpr std::size_t backlog_max = 4096;

struct of_this_thread {
  simulated_network::state* network = nullptr;
};

std::string text_of(const endpoint& of) {
  return of.address().to_string() + ":" + std::to_string(of.port());
}

}  // namespace

// ── The wire ────────────────────────────────────────────────────────────────────────────────────

/// All connections, and what is on its way.
class simulated_network::state final : public troupe::detail::chore {
 public:
  explicit state(const simulated_network_options& options)
      : options_(options), by_(troupe::detail::conductor::here()) {
    if (by_ == nullptr) {
      throw std::logic_error(
          "troupe: a net::simulated_network needs a simulation on this thread: make that first");
    }
    if (here() != nullptr) {
      throw std::logic_error(
          "troupe: this thread has a net::simulated_network already: use that one");
    }
    if (options_.latency_max < options_.latency_min || options_.latency_min < duration::zero()) {
      throw std::invalid_argument(
          "simulated_network_options: 0 <= latency_min <= latency_max must hold");
    }
    if (options_.socket_bytes == 0 || options_.slow_bytes_per_second == 0) {
      throw std::invalid_argument(
          "simulated_network_options: socket_bytes and slow_bytes_per_second must be positive");
    }
    here() = this;
    by_->opened(*this);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    TROUPE_EXPECTS(sockets == 0,
                   "sockets outlive the net::simulated_network in which they were made: destroy "
                   "them, and the io_contexts on which they complete, first");
    by_->closed(*this);
    here() = nullptr;
  }

  [[nodiscard]] static state*& here() noexcept {
    return per_thread<of_this_thread>::here().network;
  }

  /// What is due, in order; and when the next is.
  time_point look() noexcept override {
    const time_point now = clock::now();
    while (!due_.empty() && due_.begin()->first <= now) {
      const auto next = due_.extract(due_.begin());
      next.mapped()();
    }
    return due_.empty() ? time_point::max() : due_.begin()->first;
  }

  void at(time_point when, std::function<void()> what) { due_.emplace(when, std::move(what)); }

  [[nodiscard]] duration latency() {
    const auto chosen =
        static_cast<duration::rep>(by_->choose(latency_steps, "how long a piece is on its way"));
    return options_.latency_min + (options_.latency_max - options_.latency_min) * chosen /
                                      static_cast<duration::rep>(latency_steps - 1);
  }
  [[nodiscard]] bool strikes(unsigned one_in, const char* of) { return by_->strikes(one_in, of); }
  [[nodiscard]] std::size_t choose(std::size_t count, const char* of) {
    return by_->choose(count, of);
  }
  void note(std::uint64_t connection, std::string_view what) {
    by_->note("connection " + std::to_string(connection), what);
  }

  [[nodiscard]] const simulated_network_options& options() const noexcept { return options_; }

  /// Any that nobody listens on.
  [[nodiscard]] std::uint16_t free_port() {
    do {
      last_port_ =
          last_port_ == 65535 ? first_port_chosen : static_cast<std::uint16_t>(last_port_ + 1);
    } while (listeners.contains(last_port_));
    return last_port_;
  }

  simulated_network_statistics counts;
  std::map<std::uint16_t, detail::listening*> listeners;
  std::size_t sockets = 0;  // and acceptors: objects that look here

 private:
  const simulated_network_options options_;
  troupe::detail::conductor* const by_;
  std::multimap<time_point, std::function<void()>> due_;
  std::uint16_t last_port_ = first_port_chosen;
};

namespace detail {

namespace {

using state = simulated_network::state;

/// What a socket and the network share of one end. The socket may go first: then this is closed.
class end final : public waiting_on_context, public std::enable_shared_from_this<end> {
 public:
  end(state& in, asio::io_context& on) : in_(in), on_(&simulated_context::of(on)) {
    on_->add(*this);
  }
  end(const end&) = delete;
  end& operator=(const end&) = delete;
  ~end() {
    if (on_ != nullptr) on_->remove(*this);
  }

  void context_ends() noexcept override {
    const std::shared_ptr<end> stays = shared_from_this();
    on_ = nullptr;
    reading_.reset();
    writing_.reset();
    connecting_.reset();
    reset_by_owner();
  }

  // ── The operations ──────────────────────────────────────────────────────────────────────────

  void bind(const endpoint& at, error_code& error) {
    error = {};
    local_ = {at.address(), at.port() != 0 ? at.port() : in_.free_port()};
    is_open_ = true;
  }

  void connect(const endpoint& to, std::unique_ptr<completion<>> done) {
    if (peer_ != nullptr) return complete(std::move(done), asio::error::already_connected);
    if (connecting_) return complete(std::move(done), asio::error::already_started);
    if (!is_open_) {
      local_ = {to.address(), in_.free_port()};
      is_open_ = true;
    }
    remote_ = to;
    connecting_ = std::move(done);
    in_.at(clock::now() + in_.latency(), [me = shared_from_this()] { me->arrives_at_listener(); });
  }

  void read(asio::mutable_buffer into, simulated_socket::transferred done) {
    if (!is_open_) return complete(std::move(done), asio::error::bad_descriptor, 0u);
    if (into.size() == 0) return complete(std::move(done), error_code{}, 0u);
    if (peer_ == nullptr) return complete(std::move(done), asio::error::not_connected, 0u);
    TROUPE_EXPECTS(!reading_, "a simulated socket has one read at a time");
    into_ = into;
    reading_ = std::move(done);
    go_on_reading();
  }

  void write(std::span<const asio::const_buffer> from, simulated_socket::transferred done) {
    if (!is_open_) return complete(std::move(done), asio::error::bad_descriptor, 0u);
    if (asio::buffer_size(from) == 0) return complete(std::move(done), error_code{}, 0u);
    TROUPE_EXPECTS(!writing_, "a simulated socket has one write at a time");
    from_count_ = from.size();
    std::copy(from.begin(), from.end(), from_.begin());
    writing_ = std::move(done);
    go_on_writing();
  }

  void shutdown(asio::socket_base::shutdown_type what, error_code& error) {
    error = peer_ == nullptr ? error_code(asio::error::not_connected) : error_code{};
    if (error) return;
    if (what != asio::socket_base::shutdown_send) {
      has_ended_ = true;
      go_on_reading();
    }
    if (what != asio::socket_base::shutdown_receive) end_sending();
  }

  void cancel() {
    if (reading_) complete(std::move(reading_), asio::error::operation_aborted, 0u);
    if (writing_) complete(std::move(writing_), asio::error::operation_aborted, 0u);
    if (connecting_) complete(std::move(connecting_), asio::error::operation_aborted);
  }

  void close() {
    if (!is_open_) return;
    cancel();
    reset_by_owner();
  }

  void closes_hard(bool it_does) noexcept { closes_hard_ = it_does; }
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  [[nodiscard]] const endpoint& local() const noexcept { return local_; }
  [[nodiscard]] endpoint remote(error_code& error) const {
    const bool is_there = is_open_ && peer_ != nullptr && !failure_;
    error = is_there ? error_code{} : error_code(asio::error::not_connected);
    return is_there ? remote_ : endpoint{};
  }

  // ── For who listens ─────────────────────────────────────────────────────────────────────────

  /// Nobody has taken it in, and nobody will.
  void turn_away() { reset_by_owner(); }
  /// Where it lives from now on.
  void move_to(asio::io_context& onto) {
    if (on_ != nullptr) on_->remove(*this);
    on_ = &simulated_context::of(onto);
    on_->add(*this);
  }

 private:
  template <class Done, class... Results>
  void complete(Done done, error_code error, Results... results) {
    (*done)(error, results...);
    if (on_ != nullptr) on_->wake();
  }

  void arrives_at_listener();
  void accepted_by(const std::shared_ptr<end>& other, std::uint64_t number) {
    peer_ = other;
    number_ = number;
  }

  void go_on_reading() {
    if (!reading_) return;
    if (unread_from_ == unread_.size()) {
      if (failure_) return complete(std::move(reading_), failure_, 0u);
      if (has_ended_) return complete(std::move(reading_), asio::error::eof, 0u);
      return;
    }
    const std::size_t bytes = std::min(into_.size(), unread_.size() - unread_from_);
    std::memcpy(into_.data(), unread_.data() + unread_from_, bytes);
    unread_from_ += bytes;
    if (unread_from_ == unread_.size() || unread_from_ > in_.options().socket_bytes) {
      unread_.erase(0, unread_from_);
      unread_from_ = 0;
    }
    complete(std::move(reading_), error_code{}, bytes);
    if (peer_ != nullptr) peer_->go_on_writing();
  }

  void go_on_writing() {
    if (!writing_) return;
    if (failure_ || sends_no_more_ || peer_ == nullptr) {
      return complete(std::move(writing_), failure_ ? failure_ : asio::error::broken_pipe, 0u);
    }
    const std::size_t there = on_its_way_ + peer_->unread_.size() - peer_->unread_from_;
    if (there >= in_.options().socket_bytes) return;
    std::string bytes;
    for (std::size_t i = 0; i < from_count_; ++i) {
      const std::size_t room = in_.options().socket_bytes - there - bytes.size();
      bytes.append(static_cast<const char*>(from_[i].data()), std::min(room, from_[i].size()));
    }
    const std::size_t size = bytes.size();
    simulated_socket::transferred done = std::move(writing_);
    send(std::move(bytes));
    complete(std::move(done), failure_, failure_ ? 0 : size);
  }

  void send(std::string bytes) {
    if (in_.strikes(in_.options().resets_one_in, "a connection is reset")) {
      ++in_.counts.resets;
      in_.note(number_, "is reset");
      fail(asio::error::connection_reset);
      return peer_->fail(asio::error::connection_reset);
    }
    in_.counts.bytes += bytes.size();
    on_its_way_ += bytes.size();
    if (bytes.size() > 1 && in_.strikes(in_.options().splits_one_in, "a piece comes in two")) {
      ++in_.counts.splits;
      const std::size_t first = 1 + in_.choose(bytes.size() - 1, "where it is split");
      std::string rest = bytes.substr(first);
      bytes.resize(first);
      send_piece(std::move(bytes));
      bytes = std::move(rest);
    }
    send_piece(std::move(bytes));
    if (is_client_ && !sends_no_more_ &&
        in_.strikes(in_.options().half_closes_one_in, "who has connected sends no more")) {
      ++in_.counts.half_closes;
      in_.note(number_, "gets nothing more from who has connected");
      end_sending();
    }
  }

  void send_piece(std::string bytes) {
    last_arrival_ = std::max(last_arrival_, clock::now() + in_.latency());
    if (peer_->reads_slowly_) {
      last_arrival_ += std::chrono::nanoseconds(std::chrono::seconds(bytes.size())) /
                       in_.options().slow_bytes_per_second;
    }
    in_.at(last_arrival_, [to = peer_, piece = std::move(bytes)] { to->arrives(piece); });
  }

  // After all that was sent before.
  template <class What>
  void send_mark(What&& what) {
    last_arrival_ = std::max(last_arrival_, clock::now() + in_.latency());
    in_.at(last_arrival_, [to = peer_, what = std::forward<What>(what)] { what(*to); });
  }

  void end_sending() {
    if (std::exchange(sends_no_more_, true)) return;
    if (peer_ != nullptr && !failure_) {
      send_mark([](end& to) {
        to.has_ended_ = true;
        to.go_on_reading();
      });
    }
    go_on_writing();
  }

  void arrives(const std::string& piece) {
    if (peer_ == nullptr) return;  // both sockets have ended
    peer_->on_its_way_ -= piece.size();
    if (failure_) return;
    if (!is_open_) return reset_peer();  // nobody reads it any more
    unread_ += piece;
    go_on_reading();
  }

  // Who has closed is written to, or had not read all. A reset does not wait for what was sent before.
  void reset_peer() {
    if (std::exchange(has_reset_, true)) return;
    in_.at(clock::now() + in_.latency(), [to = peer_] { to->fail(asio::error::connection_reset); });
  }

  void fail(error_code why) {
    if (failure_ || !is_open_) return;
    failure_ = why;
    if (unread_from_ != unread_.size() && in_.choose(2, "a reset overtakes what was sent") != 0) {
      unread_.clear();
      unread_from_ = 0;
    }
    go_on_reading();
    go_on_writing();
  }

  void reset_by_owner() {
    if (!std::exchange(is_open_, false) || peer_ == nullptr) return;
    const bool hard = closes_hard_ || unread_from_ != unread_.size();
    unread_.clear();
    unread_from_ = 0;
    if (failure_) return;
    if (!hard) return end_sending();
    sends_no_more_ = true;
    reset_peer();
  }

  state& in_;
  simulated_context* on_;  // null: has ended
  std::uint64_t number_ = 0;
  endpoint local_;
  endpoint remote_;
  std::shared_ptr<end> peer_;  // from its connection to its socket's end, and the other's
  bool is_open_ = false;
  bool is_client_ = false;
  bool reads_slowly_ = false;
  bool closes_hard_ = false;
  bool sends_no_more_ = false;  // of its own direction
  bool has_ended_ = false;      // of the other: all is there
  bool has_reset_ = false;
  error_code failure_;

  std::string unread_;  // from unread_from_
  std::size_t unread_from_ = 0;
  std::size_t on_its_way_ = 0;  // to the peer
  time_point last_arrival_{};

  asio::mutable_buffer into_;
  std::array<asio::const_buffer, 16> from_;
  std::size_t from_count_ = 0;
  simulated_socket::transferred reading_;
  simulated_socket::transferred writing_;
  std::unique_ptr<completion<>> connecting_;

  friend class socket_of_end;

 public:
  /// Both ends hold each other until both sockets have ended.
  void let_go() noexcept {
    is_gone_ = true;
    if (peer_ == nullptr || !peer_->is_gone_) return;
    peer_->peer_.reset();
    peer_.reset();
  }

 private:
  bool is_gone_ = false;
};

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

// ── Who listens ─────────────────────────────────────────────────────────────────────────────────

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
    const std::deque<pending> dropped = std::move(accepting_);  // what it holds may hold this
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

  /// False: there is no room.
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
  simulated_context* on_;  // null: has ended
  endpoint at_;
  bool is_open_ = true;
  std::deque<std::shared_ptr<end>> waiting_;
  std::deque<pending> accepting_;
};

void end::arrives_at_listener() {
  if (!connecting_ || peer_ != nullptr) return;  // given up meanwhile, or for the second time
  const auto found = in_.listeners.find(remote_.port());
  const bool refused = in_.strikes(in_.options().refuses_one_in, "a connection is refused");
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
  if (in_.strikes(in_.options().slow_readers_one_in, "who connects reads slowly")) {
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
  if (troupe::detail::conductor::here() == nullptr) return nullptr;
  throw std::logic_error(
      "troupe: sockets in a simulation need a troupe::net::simulated_network: make one behind the "
      "simulation, before the system");
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
