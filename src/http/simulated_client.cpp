// SPDX-License-Identifier: Apache-2.0
#include <troupe/http/simulated_client.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <deque>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <troupe/net/socket.hpp>

#include "beast.hpp"
#include "frames.hpp"
#include "linger.hpp"
#include "metered_stream.hpp"
#include "tally.hpp"

namespace troupe::http {

namespace detail {

// Beast's customisation point for the end of a WebSocket, found by argument-dependent lookup. It
// always reports success, so that the true reason for the end is the one that is reported.
template <class Next, class Handler>
void async_teardown(boost::beast::role_type, metered_stream<Next>& stream, Handler&& handler) {
  async_linger(stream.next_layer(), std::forward<Handler>(handler));
}

// Required by the concept, but used only by synchronous operations.
template <class Next>
void teardown(boost::beast::role_type, metered_stream<Next>& stream, net::error_code& error) {
  stream.next_layer().close(error);
}

}  // namespace detail

namespace bw = boost::beast::websocket;
namespace asio = boost::asio;

class simulated_client::state : public std::enable_shared_from_this<state> {
 public:
  state(net::loop& on, const std::string& address)
      : codec_(net::socket(on.context()), counts_), address_(address) {
    codec_.set_option(
        bw::stream_base::timeout{bw::stream_base::none(), bw::stream_base::none(), false});
  }

  void connect(std::uint16_t port, std::string path) {
    path_ = std::move(path);
    net::error_code error;
    const auto from = asio::ip::make_address(address_);
    socket().bind({from, 0}, error);
    socket().async_connect({asio::ip::make_address("127.0.0.1"), port},
                           [me = shared_from_this()](net::error_code e) { me->on_connected(e); });
  }

  void send(std::string text) {
    if (end_ || closing_) return;
    to_send_.push_back(std::move(text));
    write();
  }

  void close(std::uint16_t code, std::string reason) {
    if (end_ || std::exchange(closing_, true)) return;
    if (!open_) return over({.code = 1006, .reason = "closed before the handshake was complete"});
    farewell_ = bw::close_reason(static_cast<bw::close_code>(code), reason);
    write();
  }

  void reset() {
    net::error_code ignored;
    socket().set_option(asio::socket_base::linger(true, 0), ignored);
    socket().close(ignored);
    over({.code = 1006, .reason = "reset by the client"});
  }

  void on_message(std::function<void(std::string)> does) {
    does_ = std::move(does);
    while (does_ && !came_.empty()) {
      std::string first = std::move(came_.front());
      came_.pop_front();
      does_(std::move(first));
    }
  }
  std::optional<std::string> take() {
    if (came_.empty()) return std::nullopt;
    std::string first = std::move(came_.front());
    came_.pop_front();
    return first;
  }

  [[nodiscard]] bool is_open() const noexcept { return open_ && !end_; }
  [[nodiscard]] const std::optional<closed>& end() const noexcept { return end_; }
  [[nodiscard]] std::size_t messages_in() const noexcept { return messages_in_; }

 private:
  net::socket& socket() noexcept { return codec_.next_layer().next_layer(); }

  void on_connected(net::error_code error) {
    if (error) return fail(error);
    codec_.async_handshake("troupe.simulated", path_,
                           [me = shared_from_this()](net::error_code e) { me->on_open(e); });
  }
  void on_open(net::error_code error) {
    if (error) return fail(error);
    if (end_) return;
    open_ = true;
    write();
    read();
  }

  void read() {
    codec_.async_read(
        buffer_, [me = shared_from_this()](net::error_code e, std::size_t) { me->on_read(e); });
  }
  void on_read(net::error_code error) {
    if (error) return fail(error);
    const auto bytes = buffer_.cdata();
    std::string text(static_cast<const char*>(bytes.data()), bytes.size());
    buffer_.consume(buffer_.size());
    ++messages_in_;
    read();
    if (!does_) return came_.push_back(std::move(text));
    const auto does = does_;  // the call may replace it
    does(std::move(text));
  }

  void write() {
    if (!open_ || end_ || writing_) return;
    if (to_send_.empty()) {
      if (!closing_ || std::exchange(said_farewell_, true)) return;
      return codec_.async_close(farewell_,
                                [me = shared_from_this()](net::error_code e) { me->fail(e); });
    }
    writing_ = true;
    codec_.async_write(asio::buffer(to_send_.front()),
                       [me = shared_from_this()](net::error_code e, std::size_t) {
                         me->writing_ = false;
                         if (e) return;  // reading finds the reason
                         me->to_send_.pop_front();
                         me->write();
                       });
  }

  void fail(net::error_code error) {
    if (error == bw::error::closed || (said_farewell_ && !error)) {
      const bw::close_reason& said = codec_.reason();
      const bool has_code = said.code != bw::close_code::none;
      return over({.code = has_code ? said.code : detail::close_code::none,
                   .reason = {said.reason.data(), said.reason.size()}});
    }
    over({.code = 1006, .reason = error.message()});
  }
  void over(closed as) {
    if (end_) return;
    end_ = std::move(as);
    net::error_code ignored;
    socket().close(ignored);
  }

  detail::tally counts_;  // required by the stream; not examined
  bw::stream<detail::metered_stream<net::socket>> codec_;
  const std::string address_;
  std::string path_;
  boost::beast::flat_buffer buffer_;
  std::deque<std::string> to_send_;  // the first element is being written
  std::deque<std::string> came_;
  std::function<void(std::string)> does_;
  bw::close_reason farewell_;
  std::optional<closed> end_;
  std::size_t messages_in_ = 0;
  bool open_ = false;
  bool writing_ = false;
  bool closing_ = false;
  bool said_farewell_ = false;
};

simulated_client::simulated_client(net::loop& on, const std::string& address)
    : state_(std::make_shared<state>(on, address)) {}
simulated_client& simulated_client::operator=(simulated_client&& other) noexcept {
  simulated_client before(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}
simulated_client::~simulated_client() {
  if (state_ == nullptr) return;
  state_->on_message(nullptr);
  state_->reset();
}

void simulated_client::connect(std::uint16_t port, std::string path) {
  state_->connect(port, std::move(path));
}
void simulated_client::send(std::string text) { state_->send(std::move(text)); }
void simulated_client::close(std::uint16_t code, std::string reason) {
  state_->close(code, std::move(reason));
}
void simulated_client::reset() { state_->reset(); }
void simulated_client::on_message(std::function<void(std::string)> does) {
  state_->on_message(std::move(does));
}
std::optional<std::string> simulated_client::take() { return state_->take(); }
bool simulated_client::is_open() const noexcept { return state_->is_open(); }
const std::optional<closed>& simulated_client::end() const noexcept { return state_->end(); }
std::size_t simulated_client::messages_in() const noexcept { return state_->messages_in(); }

}  // namespace troupe::http
