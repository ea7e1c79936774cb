// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/net/simulated_socket.hpp>

#include "simulated_context.hpp"
#include "simulated_wire.hpp"

namespace troupe::net::detail {

namespace asio = boost::asio;
using state = simulated_network::state;

/// The state of one end, which the socket and the network share. The end may outlive its socket; it
/// is then closed.
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
  [[nodiscard]] bool is_closed_by_peer() const noexcept {
    return is_open_ && (has_ended_ || failure_);
  }
  [[nodiscard]] const endpoint& local() const noexcept { return local_; }
  [[nodiscard]] endpoint remote(error_code& error) const {
    const bool is_there = is_open_ && peer_ != nullptr && !failure_;
    error = is_there ? error_code{} : error_code(asio::error::not_connected);
    return is_there ? remote_ : endpoint{};
  }

  // ── For the listener ────────────────────────────────────────────────────────────────────────

  /// Rejects a connection that was not accepted and will not be.
  void turn_away() {
    closes_hard_ = true;
    reset_by_owner();
  }
  /// Completes operations on `onto` from now on.
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
    if (in_.fault_occurs(in_.options().resets_one_in, "a connection is reset")) {
      ++in_.counts.resets;
      in_.note(number_, "is reset");
      fail(asio::error::connection_reset);
      return peer_->fail(asio::error::connection_reset);
    }
    in_.counts.bytes += bytes.size();
    on_its_way_ += bytes.size();
    if (bytes.size() > 1 && in_.fault_occurs(in_.options().splits_one_in, "a piece comes in two")) {
      ++in_.counts.splits;
      const std::size_t first = 1 + in_.choose(bytes.size() - 1, "where it is split");
      std::string rest = bytes.substr(first);
      bytes.resize(first);
      send_piece(std::move(bytes));
      bytes = std::move(rest);
    }
    send_piece(std::move(bytes));
    if (is_client_ && !sends_no_more_ &&
        in_.fault_occurs(in_.options().half_closes_one_in, "the connecting side sends no more")) {
      ++in_.counts.half_closes;
      in_.note(number_, "receives nothing more from the connecting side");
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

  // The mark arrives after all data that was sent before.
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
    if (peer_ == nullptr) return;  // both sockets are gone
    peer_->on_its_way_ -= piece.size();
    if (failure_) return;
    if (!is_open_) return reset_peer();  // its socket is closed
    unread_ += piece;
    go_on_reading();
  }

  // The peer has sent to a closed socket, or this end closed with unread data. A reset does not
  // wait for data that was sent before.
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
  simulated_context* on_;  // null: ended
  std::uint64_t number_ = 0;
  endpoint local_;
  endpoint remote_;
  std::shared_ptr<end> peer_;  // from connection until both sockets are gone
  bool is_open_ = false;
  bool is_client_ = false;
  bool reads_slowly_ = false;
  bool closes_hard_ = false;
  bool sends_no_more_ = false;  // in its own direction
  bool has_ended_ = false;      // the peer's data is complete
  bool has_reset_ = false;
  error_code failure_;

  std::string unread_;  // the part from unread_from_ on
  std::size_t unread_from_ = 0;
  std::size_t on_its_way_ = 0;  // to the peer
  time_point last_arrival_{};

  asio::mutable_buffer into_;
  std::array<asio::const_buffer, 16> from_;
  std::size_t from_count_ = 0;
  simulated_socket::transferred reading_;
  simulated_socket::transferred writing_;
  std::unique_ptr<completion<>> connecting_;

 public:
  /// The two ends hold each other until both sockets are gone.
  void let_go() noexcept {
    is_gone_ = true;
    if (peer_ == nullptr || !peer_->is_gone_) return;
    peer_->peer_.reset();
    peer_.reset();
  }

 private:
  bool is_gone_ = false;
};

}  // namespace troupe::net::detail
