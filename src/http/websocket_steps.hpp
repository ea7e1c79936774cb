// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of websocket_stage, for the files that instantiate it.

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <chrono>

#include "close_reason.hpp"
#include "connection.hpp"
#include "linger.hpp"
#include "text.hpp"
#include "websocket_stage.hpp"

namespace troupe::http::detail {

// A batch that has grown beyond this is given back when there is nothing in it.
inline constexpr std::size_t idle_batch_frames_max = 64;

// A message that was refused is offered again after the first of these, and each time after twice as
// long, up to the second: nobody tells when a budget has room again. It is offered at once when the
// session has got to the mark: often it was what that had in its mailbox that took the room.
inline constexpr duration offer_first = std::chrono::milliseconds(1);
inline constexpr duration offer_longest = std::chrono::milliseconds(256);

template <class Stream>
websocket_stage<Stream>::websocket_stage(basic_connection<Stream>& owner,
                                         std::shared_ptr<const site> on,
                                         metered_stream<Stream> stream, upgrade to,
                                         recipient<poke> me)
    : base(owner, std::move(on)),
      codec_(std::move(stream)),
      channel_(std::make_shared<channel>(this->limits(), std::move(to.asked), std::move(me))),
      make_session_(to.session) {
  namespace bw = beast::websocket;
  // Time is the connection's business: it knows what the peer has to do next.
  codec_.set_option(
      bw::stream_base::timeout{bw::stream_base::none(), bw::stream_base::none(), false});
  codec_.set_option(bw::stream_base::decorator([](bw::response_type& r) {
    r.set(beast::http::field::server, "Troupe");
    if (r.result() != beast::http::status::switching_protocols) r.keep_alive(false);
  }));
  codec_.read_message_max(this->limits().message_bytes);
  codec_.auto_fragment(false);  // one frame and one system call for each message
  metered().meter().on_teardown = [this] {
    // Beast waits for the peer's end of the stream, which may never come.
    if (phase_ == phase::open) start_closing();
  };
}

// ── The beginning ─────────────────────────────────────────────────────────────────────────────

template <class Stream>
void websocket_stage<Stream>::accept(const parsed_request& handshake) {
  enter(phase::accepting, clock::now() + this->limits().handshake_time);
  codec_.async_accept(handshake, this->template then<&websocket_stage::on_accepted>());
}

template <class Stream>
void websocket_stage<Stream>::on_accepted(net::error_code error) {
  if (error.category() == make_error_code(beast::websocket::error::closed).category()) {
    // Not a WebSocket request after all, and answered as such.
    this->counts().malformed_requests.add();
    start_closing();
    return async_linger(socket(), this->template then<&websocket_stage::lost>());
  }
  if (error) return lost(error);
  this->counts().upgraded.add();
  this->counts().websockets.add();
  counted_ = true;
  enter(phase::open, clock::now() + this->limits().idle_time / 2);
  open_session();
  if (draining_) drain();
  read();
}

template <class Stream>
void websocket_stage<Stream>::open_session() {
  try {
    session_ = (*make_session_)(channel_->handle());
    this->owner().watch_session(session_->who());
  } catch (...) {
    // Its constructor failed, which the system has reported.
    session_.reset();
    close({.code = 1011, .reason = "the session failed"});
  }
}

// ── Reading ───────────────────────────────────────────────────────────────────────────────────

template <class Stream>
void websocket_stage<Stream>::read() {
  if (phase_ != phase::open || reading_ || held_ != held::no || draining_ || !session_) return;
  reading_ = true;
  codec_.async_read(buffer_, this->template then<&websocket_stage::on_read>());
}

template <class Stream>
void websocket_stage<Stream>::on_read(net::error_code error, std::size_t) {
  reading_ = false;
  if (error) return lost(error);
  // Beast does not look at how a text ends if its last fragment is empty.
  const auto bytes = buffer_.cdata();
  if (codec_.got_text() &&
      ends_within_character({static_cast<const char*>(bytes.data()), bytes.size()})) {
    this->counts().protocol_errors.add();
    buffer_.consume(buffer_.size());
    if (phase_ == phase::open) close({.code = 1007, .reason = "a text that is not UTF-8"});
    return;
  }
  hand_over();
}

// The buffer holds a message.
template <class Stream>
void websocket_stage<Stream>::hand_over() {
  const auto became = phase_ == phase::open && session_ ? deliver() : handed_over::gone;
  if (became == handed_over::refused) return offer_later();
  patience_ = {};
  asked_ = asked::no;
  buffer_.consume(buffer_.size());
  if (buffer_.capacity() > idle_buffer_bytes_max) buffer_.shrink_to_fit();

  switch (became) {
    case handed_over::taken:
    case handed_over::taken_when_full:
      this->counts().messages_in.add();
      break;
    case handed_over::not_understood:
      channel_->close(1003, codec_.got_text() ? "no text, please" : "no binary data, please");
      break;
    case handed_over::too_large:
      this->counts().messages_too_large.add();
      channel_->close(1009, "larger than what its session takes");
      break;
    case handed_over::refused:
    case handed_over::gone:
      break;
  }
  if (draining_) {
    let_go();
    return drain();
  }
  if (became == handed_over::taken_when_full) {
    hold(held::by_mailbox);
    return session_->deliver(channel_->make_mark());
  }
  read_on();
}

template <class Stream>
void websocket_stage<Stream>::read_on() {
  const auto window = static_cast<std::uint32_t>(this->limits().receive_window);
  if (phase_ == phase::open && channel_->out() >= window && !channel_->wait_for(window / 2)) {
    return hold(held::by_window);
  }
  let_go();
  read();
}

template <class Stream>
handed_over websocket_stage<Stream>::deliver() {
  const auto bytes = buffer_.cdata();
  std::string data{static_cast<const char*>(bytes.data()), bytes.size()};
  return codec_.got_text() ? session_->deliver(text{std::move(data), channel_->place()})
                           : session_->deliver(binary{std::move(data), channel_->place()});
}

// ── Holding back ──────────────────────────────────────────────────────────────────────────────

// TCP now holds the client back, until let_go().
template <class Stream>
void websocket_stage<Stream>::hold(held why) {
  if (held_ == why) return;
  tally& counts = this->counts();
  if (held_ == held::no) counts.held_back.add();
  held_ = why;
  (why == held::by_window    ? counts.receive_pauses
   : why == held::by_mailbox ? counts.mailbox_pauses
                             : counts.refusal_pauses)
      .add();
}

template <class Stream>
void websocket_stage<Stream>::let_go() {
  if (held_ == held::no) return;
  held_ = held::no;
  offer_at_ = time_point::max();
  this->counts().held_back.subtract();
  metered().meter().heard = clock::now();  // it was not the client who was silent
}

template <class Stream>
void websocket_stage<Stream>::offer_later() {
  hold(held::by_refusal);
  patience_ = std::clamp(patience_ * 2, offer_first, offer_longest);
  offer_at_ = clock::now() + patience_;
  this->owner().set_alarm(offer_at_);
  // One mark for each pause: where it is others who take the room it comes back at once.
  if (asked_ != asked::no) return;
  asked_ = asked::waiting;
  session_->deliver(channel_->make_mark());
}

// Not in the turn that this may be called in: see session_port.
template <class Stream>
void websocket_stage<Stream>::offer_now() {
  offer_at_ = time_point::max();
  boost::asio::post(socket().get_executor(), this->template then<&websocket_stage::offer_again>());
}

template <class Stream>
void websocket_stage<Stream>::offer_again() {
  if (held_ == held::by_refusal) hand_over();
}

// ── Writing ───────────────────────────────────────────────────────────────────────────────────

template <class Stream>
void websocket_stage<Stream>::look() {
  if (phase_ != phase::open) return;
  if (channel_->overflowed()) {
    this->counts().slow_readers_closed.add();
    return close({.code = 1008, .reason = "reading too slowly"});
  }
  if (held_ == held::by_refusal) {
    if (asked_ == asked::waiting && !channel_->is_behind()) {
      asked_ = asked::told;
      patience_ = {};  // a budget hears of what was handled a little later
      offer_now();
    }
  } else if (draining_) {
    drain();
  } else if ((held_ == held::by_window && channel_->out() <= this->limits().receive_window / 2) ||
             (held_ == held::by_mailbox && !channel_->is_behind())) {
    read_on();
  }
  write();
}

template <class Stream>
void websocket_stage<Stream>::write() {
  if (phase_ != phase::open || writing_ || mute_) return;
  if (next_ == batch_.size()) {
    batch_.clear();
    next_ = 0;
    if (batch_.capacity() > idle_batch_frames_max) batch_.shrink_to_fit();
    channel_->take(batch_);
    if (batch_.empty()) return;
  }
  const frame& f = batch_[next_];
  if (f.what == frame::type::close) {
    return close({.code = f.code, .reason = std::string{f.bytes()}});
  }
  writing_ = true;
  codec_.text(f.what == frame::type::text);
  codec_.async_write(boost::asio::buffer(f.bytes()),
                     this->template then<&websocket_stage::on_written>());
}

template <class Stream>
void websocket_stage<Stream>::on_written(net::error_code error, std::size_t) {
  writing_ = false;
  channel_->sent(batch_[next_].cost());
  batch_[next_++].data = std::string{};
  if (!error) {
    this->counts().messages_out.add();
    write();
  } else if (phase_ == phase::open && this->has_outstanding()) {
    // The client may have said why before it went; reading finds that, or the end as well.
    mute_ = true;
    this->owner().set_alarm(due_ = clock::now() + this->limits().close_time);
  } else {
    lost(error);
  }
}

// ── The end ───────────────────────────────────────────────────────────────────────────────────

template <class Stream>
void websocket_stage<Stream>::drain() {
  draining_ = true;
  if (held_ == held::by_refusal) return;  // comes back once that is with the session
  // What was received is handled, and answered, before the farewell.
  if (phase_ == phase::open && channel_->wait_for(0)) {
    channel_->close(1001, "the server is going away");
    write();
  }
}

template <class Stream>
void websocket_stage<Stream>::session_ended(exit_reason why) {
  session_.reset();
  if (why == exit_reason::failed) return channel_->close(1011, "the session failed");
  channel_->close(1000, "");
}

template <class Stream>
void websocket_stage<Stream>::close(closed as) {
  said_ = std::move(as);
  start_closing();
  let_go();
  channel_->shut();
  // The frame that is being written must stay; nobody waits for the others any more.
  batch_.resize(std::min(batch_.size(), next_ + (writing_ ? 1 : 0)));
  codec_.async_close(to_close_reason(said_), this->template then<&websocket_stage::on_closed>());
}

template <class Stream>
void websocket_stage<Stream>::on_closed(net::error_code) {
  end(std::move(said_));
}

template <class Stream>
void websocket_stage<Stream>::lost(net::error_code error) {
  if (phase_ == phase::over) return;
  if (said_.code != 0) return end(std::move(said_));  // this side's closing, however it went
  if (error == beast::websocket::error::closed) return end(from_close_reason(codec_.reason()));
  closed as = from_error(error);
  if (as.code == 1009) this->counts().messages_too_large.add();
  if (as.code == 1002 || as.code == 1007) this->counts().protocol_errors.add();
  end(std::move(as));
}

template <class Stream>
void websocket_stage<Stream>::end(closed as) {
  if (phase_ == phase::over) return;
  say_closed(std::move(as));
  net::error_code ignored;
  socket().close(ignored);
  this->owner().over();
}

template <class Stream>
void websocket_stage<Stream>::say_closed(closed as) {
  phase_ = phase::over;
  let_go();
  if (std::exchange(counted_, false)) this->counts().websockets.subtract();
  channel_->shut();
  if (const auto session = std::move(session_)) session->deliver(std::move(as));
}

template <class Stream>
void websocket_stage<Stream>::abandon() noexcept {
  this->disown();
  say_closed({.code = 1006, .reason = "the server has cut the connection"});
  base::cut(socket());
}

template <class Stream>
time_point websocket_stage<Stream>::tick(time_point now) {
  if (now >= offer_at_) offer_now();
  return std::min(watch(now), offer_at_);
}

template <class Stream>
time_point websocket_stage<Stream>::watch(time_point now) {
  const http::limits& l = this->limits();
  if (phase_ == phase::over) return time_point::max();
  if (phase_ == phase::open && !mute_) {
    // A client that is not read from cannot be heard.
    const time_point heard = held_ != held::no || draining_ ? now : metered().meter().heard;
    if (now < heard + l.idle_time / 2) return heard + l.idle_time / 2;
    if (now < heard + l.idle_time) {
      ping_once_since(heard, now);
      return heard + l.idle_time;
    }
    this->counts().idle_closed.add();
    said_ = {.code = 1006, .reason = "nothing was heard from the client"};
  } else {
    if (now < due_) return due_;
    (phase_ == phase::accepting ? this->counts().requests_timed_out
                                : this->counts().close_timed_out)
        .add();
  }
  base::cut(socket());
  // The steps that this interrupts know best how it ended.
  if (!this->has_outstanding()) lost(boost::asio::error::operation_aborted);
  return time_point::max();
}

template <class Stream>
void websocket_stage<Stream>::ping_once_since(time_point heard, time_point now) {
  if (pinging_ || pinged_ >= heard) return;
  pinging_ = true;
  pinged_ = now;
  codec_.async_ping({}, this->template then<&websocket_stage::on_pinged>());
}

template <class Stream>
void websocket_stage<Stream>::on_pinged(net::error_code error) {
  pinging_ = false;
  if (error && !this->has_outstanding()) lost(error);
}

}  // namespace troupe::http::detail
