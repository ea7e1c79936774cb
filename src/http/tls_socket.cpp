// SPDX-License-Identifier: Apache-2.0

#include "tls_socket.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>

#include <troupe/detail/base/assert.hpp>

#include "read_buffer.hpp"
#include "tls_engine.hpp"

namespace troupe::http::detail {
namespace {

// The maximum plaintext of a record.
constexpr std::size_t record_bytes = 16 * 1024;

// A write takes at most this much; the rest is left for the next.
constexpr std::size_t write_bytes_max = 64 * 1024;

// The part of a write buffer that an idle connection may keep.
constexpr std::size_t kept_bytes_max = 512;

// Reading stops while more output waits that the client has caused and does not take.
constexpr std::size_t caused_bytes_max = 16 * 1024;

constexpr std::string_view answer_to_plain_http =
    "HTTP/1.1 400 Bad Request\r\nServer: Troupe\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 64\r\nConnection: close\r\n\r\n"
    "400 Bad Request: this port speaks TLS; use https:// and wss://.\n";
static_assert(answer_to_plain_http.size() - answer_to_plain_http.find("\r\n\r\n") - 4 == 64);

}  // namespace

/// The state that exists as long as an operation of the socket is outstanding.
///
///   client_handshake ──handshake done──▶ open ──────────────▶ broken
///      │                                                ▲
///      └──failed──▶ refusing ──last word said, and the client has closed
///
/// The waiters (`reader_`, `writer_`) wait for an operation of the socket, which holds this object.
/// If the io_context ends first, that operation is destroyed, and makes this object release its
/// waiters. These hold the stream, and so this object.
class tls_socket::core : public std::enable_shared_from_this<core> {
 public:
  core(net::socket on, std::shared_ptr<const tls_context> by, tls_tally* counts, std::string name,
       handshake_quota quota)
      : socket_(std::move(on)),
        by_(std::move(by)),
        counts_(counts),
        name_(std::move(name)),
        quota_(quota) {}

  void read(boost::asio::mutable_buffer into, std::unique_ptr<transfer> who) {
    TROUPE_EXPECTS(!reader_, "a tls_socket has one read at a time");
    if (into.size() == 0) return who.get()->complete(std::move(who), {}, 0, false);
    into_ = {static_cast<char*>(into.data()), into.size()};
    reader_ = std::move(who);
    go_on();
  }

  void write(std::span<const boost::asio::const_buffer> from, std::unique_ptr<transfer> who) {
    TROUPE_EXPECTS(!writer_, "a tls_socket has one write at a time");
    writer_ = std::move(who);
    if (phase_ != phase::broken) written_ = take(from);
    go_on();
  }

  void shutdown(boost::asio::socket_base::shutdown_type what, net::error_code& error) {
    if (what != boost::asio::socket_base::shutdown_send || phase_ != phase::open) {
      return socket_.shutdown(what, error);
    }
    error = {};
    engine_->close();
    says_no_more_ = true;
    go_on();
  }

  void cancel() {
    finish(reader_, boost::asio::error::operation_aborted);
    finish(writer_, boost::asio::error::operation_aborted);
  }

  void close(net::error_code& error) {
    error = {};
    if (std::exchange(is_closed_, true)) return;
    if (phase_ == phase::client_handshake && counts_ != nullptr) counts_->cut.add();
    if (!is_cut_ && engine_) {
      engine_->close();
      say_at_once();
    }
    socket_.close(error);
    cancel();
    // Operations that are still outstanding end with this.
    phase_ = phase::broken;
    error_ = boost::asio::error::operation_aborted;
    engine_.reset();
  }

  void set_option(const boost::asio::socket_base::linger& option, net::error_code& error) {
    is_cut_ = option.enabled() && option.timeout() == 0;
    socket_.set_option(option, error);
  }

  [[nodiscard]] bool is_closed_by_peer() const noexcept { return socket_.is_closed_by_peer(); }

  [[nodiscard]] bool is_established() const noexcept {
    return engine_ && engine_->is_established();
  }

  /// The io_context has been destroyed.
  void dropped() noexcept {
    const auto reader = std::move(reader_);
    const auto writer = std::move(writer_);
  }

 private:
  enum class phase : std::uint8_t { client_handshake, open, refusing, broken };

  /// Completes an operation of the socket: it takes a step, or reports that none will follow.
  template <void (core::*Step)(net::error_code, std::size_t)>
  struct step {
    std::shared_ptr<core> of;

    explicit step(std::shared_ptr<core> whose) : of(std::move(whose)) {}
    step(step&&) noexcept = default;
    step& operator=(step&&) = delete;
    ~step() {
      if (of) of->dropped();
    }
    void operator()(net::error_code error, std::size_t bytes) {
      const std::shared_ptr<core> me = std::move(of);
      ((*me).*Step)(error, bytes);
    }
  };

  // ── Results of the socket ───────────────────────────────────────────────────────────────────
  void on_read(net::error_code error, std::size_t bytes) {
    is_reading_ = false;
    if (is_closed_) return;
    if (error) {
      end_ = error;
    } else {
      in_.commit(bytes);
      needs_input_ = false;
    }
    go_on_and_call();
  }

  void on_written(net::error_code error, std::size_t bytes) {
    is_writing_ = false;
    if (is_closed_) return;
    sent_ += bytes;
    if (error) mute_ = error;
    if (mute_ || sent_ == sending_.size()) {
      sent_ = 0;
      sending_.clear();
      if (sending_.capacity() > kept_bytes_max) std::string{}.swap(sending_);
      if (engine_->output().empty()) caused_ = 0;
    }
    go_on_and_call();
  }

  // ── Next steps ──────────────────────────────────────────────────────────────────────────────
  void go_on() {
    if (is_closed_) return cancel();
    if (phase_ == phase::client_handshake) greet();
    if (phase_ == phase::open) decrypt();
    send();
    if (phase_ == phase::refusing) refuse();
    if (phase_ == phase::broken) {
      finish(reader_, error_);
      finish(writer_, error_);
    }
    receive();
  }

  // Within a completion handler: at its end, this may call the handler of a waiter.
  void go_on_and_call() {
    ending ready;
    ready_ = &ready;
    try {
      go_on();
    } catch (const std::bad_alloc&) {
      break_with(boost::asio::error::no_memory);
      finish(reader_, error_);
      finish(writer_, error_);
    }
    ready_ = nullptr;
    if (ready.who) ready.who.get()->complete(std::move(ready.who), ready.error, ready.bytes, true);
  }

  void greet() {
    if (!engine_) engine_.emplace(by_, name_);
    std::span<char> bytes = in_.unread();
    if (!bytes.empty() && !may_begin()) return;
    const tls_engine::outcome what = engine_->handshake(bytes);
    in_.keep(bytes);
    switch (what) {
      case tls_engine::outcome::done:
        phase_ = phase::open;
        if (counts_ != nullptr) (engine_->is_resumed() ? counts_->resumed : counts_->whole).add();
        if (!early_.empty()) (void)engine_->write(std::exchange(early_, {}));
        break;
      case tls_engine::outcome::needs_input:
        needs_input_ = true;
        if (end_) break_with(end_);
        break;
      case tls_engine::outcome::closed:
      case tls_engine::outcome::failed:
        greeting_failed();
        break;
    }
  }

  // A client that has sent nothing costs no handshake. One that may not begin gets no answer, which
  // would cost as much as it saves.
  bool may_begin() {
    if (std::exchange(has_begun_, true) || quota_.take()) return true;
    if (counts_ != nullptr) counts_->over_rate.add();
    phase_ = phase::broken;
    error_ = boost::asio::error::access_denied;
    return false;
  }

  void greeting_failed() {
    error_ = engine_->error() ? engine_->error() : make_error_code(tls_errc::truncated);
    if (engine_->why() == tls_engine::failure::plain_text) engine_->output() = answer_to_plain_http;
    phase_ = phase::refusing;
    says_no_more_ = true;
    if (counts_ == nullptr) return;
    switch (engine_->why()) {
      case tls_engine::failure::plain_text:
        return counts_->plain_text.add();
      case tls_engine::failure::version:
        return counts_->version.add();
      case tls_engine::failure::alert:
        return counts_->alert.add();
      case tls_engine::failure::other:
        return counts_->other.add();
    }
  }

  // Further data of the client is ignored.
  void refuse() {
    in_.keep(in_.unread().last(0));
    needs_input_ = true;
    if (end_) break_with(error_);
  }

  void decrypt() {
    if (engine_->error()) return break_with(engine_->error());  // while writing
    if (!reader_ || caused_ > caused_bytes_max) return;
    std::span<char> bytes = in_.unread();
    std::size_t read = 0;
    const std::size_t before = engine_->output().size();
    const tls_engine::outcome what = engine_->read(bytes, into_, read);
    caused_ += engine_->output().size() - before;
    in_.keep(bytes);
    switch (what) {
      case tls_engine::outcome::done:
        return finish(reader_, {}, read);
      case tls_engine::outcome::closed:
        return finish(reader_, boost::asio::error::eof);
      case tls_engine::outcome::failed:
        return break_with(engine_->error());
      case tls_engine::outcome::needs_input:
        needs_input_ = true;
        if (end_) finish(reader_, at_end());
    }
  }

  net::error_code at_end() {
    if (end_ != boost::asio::error::eof || says_no_more_) return end_;
    if (counts_ != nullptr && !std::exchange(has_told_, true)) counts_->truncated.add();
    return make_error_code(tls_errc::truncated);
  }

  // The first error counts. Pending output is still sent.
  void break_with(net::error_code error) {
    if (phase_ == phase::broken) return;
    if (phase_ == phase::client_handshake && counts_ != nullptr) counts_->gone.add();
    phase_ = phase::broken;
    error_ = error;
  }

  // ── Bytes ───────────────────────────────────────────────────────────────────────────────────

  // Takes up to this much of the data to be written, with small pieces combined in one record.
  std::size_t take(std::span<const boost::asio::const_buffer> from) {
    const std::size_t most = phase_ == phase::client_handshake ? record_bytes : write_bytes_max;
    std::array<char, record_bytes> piece;
    std::size_t filled = 0, taken = 0;
    for (const boost::asio::const_buffer& each : from) {
      std::string_view rest(static_cast<const char*>(each.data()), each.size());
      while (!rest.empty() && taken < most) {
        const std::size_t size = std::min(rest.size(), record_bytes - filled);
        if (size == record_bytes || from.size() == 1) {
          put(rest.substr(0, size));
        } else {
          std::memcpy(piece.data() + filled, rest.data(), size);
          filled += size;
          if (filled == record_bytes) put({piece.data(), std::exchange(filled, 0u)});
        }
        rest.remove_prefix(size);
        taken += size;
      }
    }
    if (filled > 0) put({piece.data(), filled});
    return taken;
  }

  // If this fails, the engine reports it in decrypt().
  void put(std::string_view plaintext) {
    phase_ == phase::open ? void(engine_->write(plaintext)) : void(early_ += plaintext);
  }

  void send() {
    if (is_writing_) return;
    if (mute_) {
      // The client may have sent its reason before it left. Reading finds that.
      engine_->output().clear();
      return phase_ == phase::open ? finish(writer_, mute_) : break_with(mute_);
    }
    if (sending_.empty()) sending_.swap(engine_->output());
    if (!sending_.empty()) {
      is_writing_ = true;
      socket_.async_write_some(boost::asio::buffer(sending_) + sent_,
                               step<&core::on_written>(this->shared_from_this()));
      return;
    }
    if (says_no_more_ && !std::exchange(has_shut_down_, true)) {
      net::error_code ignored;
      socket_.shutdown(boost::asio::socket_base::shutdown_send, ignored);
    }
    if (phase_ == phase::open) finish(writer_, {}, written_);
  }

  // Only tries once to write. Data that the kernel does not take is lost.
  void say_at_once() {
    if (!is_writing_ && !mute_) send();
  }

  void receive() {
    const bool is_wanted = phase_ == phase::open ? reader_ != nullptr : phase_ != phase::broken;
    if (!is_wanted || !needs_input_ || is_reading_ || end_) return;
    is_reading_ = true;
    const std::span<char> room = in_.prepare();
    socket_.async_read_some(boost::asio::buffer(room.data(), room.size()),
                            step<&core::on_read>(this->shared_from_this()));
  }

  void finish(std::unique_ptr<transfer>& who, net::error_code error, std::size_t bytes = 0) {
    if (!who) return;
    if (ready_ != nullptr && !ready_->who) {
      *ready_ = {std::move(who), error, bytes};
      return;
    }
    who.get()->complete(std::move(who), error, bytes, false);
  }

  struct ending {
    std::unique_ptr<transfer> who;
    net::error_code error;
    std::size_t bytes = 0;
  };

  net::socket socket_;
  const std::shared_ptr<const tls_context> by_;
  tls_tally* const counts_;
  const std::string name_;
  const handshake_quota quota_;
  std::optional<tls_engine> engine_;  // from the first operation on
  read_buffer in_;                    // ciphertext
  std::string sending_;               // ciphertext, from sent_ on
  std::size_t sent_ = 0;
  std::string early_;  // plaintext that waits for the end of the handshake
  std::unique_ptr<transfer> reader_, writer_;
  std::span<char> into_;     // buffer of the reader
  std::size_t written_ = 0;  // bytes taken from the writer
  std::size_t caused_ = 0;   // unsent output() that reading has caused
  net::error_code mute_;     // how writing to the socket has ended
  ending* ready_ = nullptr;  // set within a completion handler
  net::error_code end_;      // how reading from the socket has ended
  net::error_code error_;    // the reason for broken or refusing
  phase phase_ = phase::client_handshake;
  bool has_begun_ = false;
  bool needs_input_ = false;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool says_no_more_ = false;
  bool has_shut_down_ = false;
  bool has_told_ = false;
  bool is_cut_ = false;
  bool is_closed_ = false;
};

tls_socket::tls_socket(net::socket on, std::shared_ptr<const tls_context> by, tls_tally* counts,
                       std::string name, handshake_quota quota)
    : executor_(on.get_executor()),
      core_(std::make_shared<core>(std::move(on), std::move(by), counts, std::move(name), quota)) {}

tls_socket::~tls_socket() {
  if (!core_) return;
  net::error_code ignored;
  set_option(boost::asio::socket_base::linger(true, 0), ignored);
  close(ignored);
}

void tls_socket::read(boost::asio::mutable_buffer into, std::unique_ptr<transfer> who) {
  core_->read(into, std::move(who));
}
void tls_socket::write(std::span<const boost::asio::const_buffer> from,
                       std::unique_ptr<transfer> who) {
  core_->write(from, std::move(who));
}
void tls_socket::shutdown(boost::asio::socket_base::shutdown_type what, net::error_code& error) {
  core_->shutdown(what, error);
}
void tls_socket::cancel(net::error_code& error) {
  error = {};
  core_->cancel();
}
void tls_socket::close(net::error_code& error) {
  error = {};
  if (core_) core_->close(error);
}
void tls_socket::set_option(const boost::asio::socket_base::linger& option,
                            net::error_code& error) {
  error = {};
  if (core_) core_->set_option(option, error);
}
bool tls_socket::is_closed_by_peer() const noexcept { return core_->is_closed_by_peer(); }

bool tls_socket::is_established() const noexcept { return core_->is_established(); }

}  // namespace troupe::http::detail
