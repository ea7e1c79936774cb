// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of websocket_stage, for the files that instantiate it.

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <chrono>

#include <troupe/detail/base/assert.hpp>

#include "connection.hpp"
#include "shared_wakeup.hpp"
#include "websocket_stage.hpp"

namespace troupe::http::detail {

// A larger batch is released when it is empty.
inline constexpr std::size_t idle_batch_frames_max = 16;

// A refused message is offered again after the first of these durations, and each time after twice
// as long, up to the second, because budgets do not notify when space frees. It is also offered as
// soon as the session has reached the mark, because often the messages in its own mailbox took the
// space.
inline constexpr duration offer_first = std::chrono::milliseconds(1);
inline constexpr duration offer_longest = std::chrono::milliseconds(256);

// How often a client that is not read because of a rate is checked for having disconnected.
inline constexpr duration disconnect_interval = std::chrono::seconds(1);

static_assert(frame_parser::bytes_left_max < read_buffer::small_bytes);

template <class Stream>
websocket_stage<Stream>::websocket_stage(typename base::owner_type& owner,
                                         std::shared_ptr<const server_context> on,
                                         metered_stream<Stream> stream, upgrade to,
                                         recipient<poke> me, const client_key& who,
                                         client_place place)
    : base(owner, std::move(on)),
      stream_(std::move(stream)),
      parser_(side, this->limits().message_bytes),
      kept_(this->on().partial_messages),
      channel_(std::make_shared<channel>(this->limits(), std::move(to.asked), std::move(me),
                                         std::move(to.protocol), this->on().send_queues,
                                         std::move(to.share))),
      make_session_(to.session),
      who_(who),
      place_(std::move(place)) {}

// ── Opening ───────────────────────────────────────────────────────────────────────────────────

template <class Stream>
void websocket_stage<Stream>::accept(std::string_view answer) {
  enter(phase::accepting, clock::now() + this->limits().handshake_timeout);
  out_.add(answer);
  write_some();
}

template <class Stream>
void websocket_stage<Stream>::begin(std::string_view ahead) {
  const std::span<char> room = in_.prepare();
  TROUPE_EXPECTS(ahead.size() <= room.size(), "more was read ahead than there is room for");
  std::copy(ahead.begin(), ahead.end(), room.begin());
  in_.commit(ahead.size());
  open();
  go_on();
}

template <class Stream>
void websocket_stage<Stream>::on_accepted() {
  open();
  read();
}

template <class Stream>
void websocket_stage<Stream>::open() {
  this->counts().upgraded.add();
  this->counts().websockets.add();
  counted_ = true;
  enter(phase::open, clock::now() + this->limits().idle_timeout / 2);
  open_session();
  if (draining_) drain();
}

template <class Stream>
void websocket_stage<Stream>::open_session() {
  flush_later::flush_now();  // its constructor may send requests to an actor whose wake-up is in
                             // the batch
  try {
    session_ = (*make_session_)(channel_->handle());
    this->owner().watch_session(session_->who());
  } catch (...) {
    // The constructor failed, which the system has reported.
    session_.reset();
    close({.code = close_code::failed, .reason = "the session failed"});
  }
}

// ── Reading ───────────────────────────────────────────────────────────────────────────────────

template <class Stream>
bool websocket_stage<Stream>::goes_through() const noexcept {
  if (heard_last_) return false;
  if (phase_ == phase::closing) return true;
  return phase_ == phase::open && held_ == held::no && throttled_ != throttled::all && !draining_ &&
         session_ != nullptr;
}

template <class Stream>
void websocket_stage<Stream>::read() {
  if (!goes_through() || reading_ || going_on_ || answering_) return;
  read_within_rate();
}

template <class Stream>
void websocket_stage<Stream>::read_within_rate() {
  if (throttled_ != throttled::no || phase_ == phase::over) return;
  reading_ = true;
  const std::span<char> room = in_.prepare();
  const auto into = boost::asio::buffer(room.data(), room.size());
  // As in http_stage.
  lingering_ ? socket().async_read_some(into, this->template then<&websocket_stage::on_read>())
             : stream_.async_read_some(into, this->template then<&websocket_stage::on_read>());
}

template <class Stream>
void websocket_stage<Stream>::on_read(net::error_code error, std::size_t bytes) {
  reading_ = false;
  if (error) return lingering_ ? end(std::move(as_)) : lost(error);
  in_.commit(bytes);
  count_received(bytes);
  if (!lingering_) return go_through();
  in_.keep(in_.unread().last(0));
  read_within_rate();
}

// The rest of the last read is processed before the next read.
template <class Stream>
void websocket_stage<Stream>::go_on() {
  if (lingering_ && !reading_) return read_within_rate();
  if (!going_on_ && !reading_ && goes_through()) in_.unread().empty() ? read() : go_on_later();
}

// Posted, because this may be called within a turn, in which it must not run: see session_port.
template <class Stream>
void websocket_stage<Stream>::go_on_later() {
  going_on_ = true;
  boost::asio::post(socket().get_executor(), this->template then<&websocket_stage::go_through>());
}

template <class Stream>
void websocket_stage<Stream>::go_through() {
  going_on_ = false;
  bool is_used_up = false;
  {
    const shared_wakeup gathering(socket().get_executor());
    while (!is_used_up && goes_through()) {
      std::span<char> bytes = in_.unread();
      const frame_parser::event what = parser_.next(bytes);
      in_.keep(bytes);
      is_used_up = what == frame_parser::event::more;
      if (!is_used_up && !parser_.is_within_message()) message_due_ = time_point::max();
      heard(what);
    }
  }
  if (is_used_up) time_message();
  count_what_is_kept();
  write();
  if (is_used_up) read();
  linger();
}

// All data that was read has been processed.
template <class Stream>
void websocket_stage<Stream>::time_message() {
  const bool has_begun = parser_.is_within_message() || !in_.unread().empty();
  if (phase_ != phase::open || !has_begun) {
    message_due_ = time_point::max();
  } else if (message_due_ == time_point::max()) {
    message_due_ = clock::now() + this->limits().request_timeout;
    this->owner().set_alarm(message_due_);
  }
}

// Small messages must not be lost because other clients send large ones.
template <class Stream>
void websocket_stage<Stream>::count_what_is_kept() {
  constexpr std::size_t own_bytes = 4 * 1024;
  const std::size_t bytes = parser_.kept_bytes();
  if (kept_.resize(bytes > own_bytes ? bytes - own_bytes : 0)) return;
  parser_.give_up();
  (void)kept_.resize(0);
  heard_last_ = true;
  if (phase_ != phase::open) return;
  this->counts().messages_without_room.add();
  close({.code = close_code::try_again_later,
         .reason = "partially received messages exceed partial_messages_bytes"});
}

template <class Stream>
void websocket_stage<Stream>::heard(frame_parser::event what) {
  switch (what) {
    case frame_parser::event::text:
    case frame_parser::event::binary:
      if (phase_ != phase::open) break;  // the message comes too late
      is_text_ = what == frame_parser::event::text;
      hand_over();
      count_message();
      break;
    case frame_parser::event::ping:
      if (phase_ != phase::open) break;
      add_control(opcode::pong, parser_.payload());
      answering_ = true;
      count_message();
      break;
    case frame_parser::event::close:
      heard_last_ = true;
      if (phase_ == phase::open) {
        close({.code = parser_.code(), .reason = std::string{parser_.payload()}});
      }
      break;
    case frame_parser::event::violation:
      heard_last_ = true;
      if (phase_ != phase::open) break;
      (parser_.code() == close_code::too_large ? this->counts().messages_too_large
                                               : this->counts().protocol_errors)
          .add();
      begin_failing({.code = parser_.code(), .reason = std::string{parser_.payload()}});
      break;
    case frame_parser::event::more:
    case frame_parser::event::pong:
      break;
  }
}

// ── Rates ─────────────────────────────────────────────────────────────────────────────────────

template <class Stream>
void websocket_stage<Stream>::count_received(std::size_t bytes) {
  if (phase_ != phase::open && phase_ != phase::closing) return;
  const duration wait = this->on().rates.charge(rate::received_bytes, who_, bytes);
  if (wait == duration{0}) return;
  this->counts().rate_received_bytes.add();
  throttle(throttled::reading, wait);
}

// It is with the session, or waits for room there.
template <class Stream>
void websocket_stage<Stream>::count_message() {
  if (phase_ != phase::open) return;
  const duration wait = this->on().rates.charge(rate::messages, who_, 1);
  if (wait == duration{0}) {
    throttled_messages_ = 0;
    return;
  }
  if (++throttled_messages_ <= this->limits().throttled_messages_max) {
    this->counts().rate_messages.add();
    return throttle(throttled::all, wait);
  }
  this->counts().message_floods.add();
  heard_last_ = true;
  close({.code = close_code::policy, .reason = "too many messages: messages_per_second"});
}

template <class Stream>
void websocket_stage<Stream>::throttle(throttled what, duration wait) {
  const time_point until = clock::now() + wait;
  throttled_until_ = throttled_ == throttled::no ? until : std::max(throttled_until_, until);
  throttled_ = std::max(throttled_, what);
  this->owner().set_alarm(std::min(throttled_until_, clock::now() + disconnect_interval));
}

template <class Stream>
void websocket_stage<Stream>::end_throttling() {
  if (throttled_ == throttled::no) return;
  throttled_ = throttled::no;
  throttled_until_ = time_point::max();
  stream_.meter().heard = clock::now();  // it was not the client who was silent
}

// A client that is not read cannot be noticed by its data. If it has disconnected, its unread data
// is discarded: otherwise, a flood would occupy its connection long after the client has gone. A
// message that the session has not accepted yet is still offered. Returns when to look again.
template <class Stream>
time_point websocket_stage<Stream>::look_for_disconnect(time_point now) {
  if (throttled_ == throttled::no || phase_ != phase::open || held_ != held::no) {
    return time_point::max();
  }
  if constexpr (requires { socket().is_closed_by_peer(); }) {
    if (socket().is_closed_by_peer()) {
      this->counts().throttled_disconnects.add();
      as_ = {.code = close_code::abnormal, .reason = "disconnected during a pause for its rate"};
      lost(boost::asio::error::eof);
      return time_point::max();
    }
  }
  return now + disconnect_interval;
}

// The parser has a message.
template <class Stream>
void websocket_stage<Stream>::hand_over() {
  const auto became = phase_ == phase::open && session_ ? deliver() : handed_over::gone;
  if (became == handed_over::refused) return offer_later();
  patience_ = {};
  asked_ = asked::no;

  switch (became) {
    case handed_over::taken:
    case handed_over::taken_when_full:
      this->counts().messages_in.add();
      break;
    case handed_over::not_understood:
      channel_->close(close_code::not_accepted, is_text_ ? "text messages are not accepted"
                                                         : "binary messages are not accepted");
      break;
    case handed_over::too_large:
      this->counts().messages_too_large.add();
      channel_->close(close_code::too_large, "the message is larger than its session accepts");
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
  const auto window = static_cast<std::uint32_t>(this->limits().receive_window);
  const bool is_full = phase_ == phase::open && channel_->out() >= window;
  is_full && !channel_->wait_for(window / 2) ? hold(held::by_window) : let_go();
}

template <class Stream>
handed_over websocket_stage<Stream>::deliver() {
  std::string data{parser_.payload()};
  return is_text_ ? session_->deliver(text{std::move(data), channel_->place()})
                  : session_->deliver(binary{std::move(data), channel_->place()});
}

// ── Client backpressure ───────────────────────────────────────────────────────────────────────

// From now on TCP holds the client back, until let_go().
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
  stream_.meter().heard = clock::now();  // the client was not silent; it was not read
}

template <class Stream>
void websocket_stage<Stream>::offer_later() {
  hold(held::by_refusal);
  patience_ = std::clamp(patience_ * 2, offer_first, offer_longest);
  offer_at_ = clock::now() + patience_;
  this->owner().set_alarm(offer_at_);
  // One mark for each pause. If other senders take the space, the mark would return at once each
  // time.
  if (asked_ != asked::no) return;
  asked_ = asked::waiting;
  session_->deliver(channel_->make_mark());
}

// Posted, because this may be called within a turn, in which it must not run: see session_port.
template <class Stream>
void websocket_stage<Stream>::offer_now() {
  offer_at_ = time_point::max();
  boost::asio::post(socket().get_executor(), this->template then<&websocket_stage::offer_again>());
}

template <class Stream>
void websocket_stage<Stream>::offer_again() {
  if (held_ != held::by_refusal) return;
  hand_over();
  if (held_ != held::by_refusal && !going_on_) go_through();
}

// ── Writing ───────────────────────────────────────────────────────────────────────────────────

template <class Stream>
void websocket_stage<Stream>::look() {
  if (phase_ != phase::open) return;
  if (channel_->overflowed()) {
    this->counts().slow_readers_closed.add();
    return close({.code = close_code::policy, .reason = "reading too slowly"});
  }
  if (is_failing()) {
    close_when_answered();
  } else if (held_ == held::by_refusal) {
    if (asked_ == asked::waiting && !channel_->is_behind()) {
      asked_ = asked::told;
      patience_ = {};  // a budget learns of handled messages a little later
      offer_now();
    }
  } else if (draining_) {
    drain();
  } else if ((held_ == held::by_window && channel_->out() <= this->limits().receive_window / 2) ||
             (held_ == held::by_mailbox && !channel_->is_behind())) {
    let_go();
    go_on();
  }
  write();
}

template <class Stream>
void websocket_stage<Stream>::write() {
  if (writing_ || mute_ || phase_ == phase::accepting || phase_ == phase::over) return;
  gather();
  if (out_.is_empty()) return;
  const auto parts = static_cast<duration::rep>(out_.bytes() / gathered_frames::write_bytes + 1);
  written_due_ = clock::now() + parts * duration(this->limits().idle_timeout);
  this->owner().set_alarm(written_due_);
  write_some();
}

// Gathers the next output, beginning with this stage's own frames.
template <class Stream>
void websocket_stage<Stream>::gather() {
  gather_control();
  if (phase_ != phase::open) return;
  if (next_ == batch_.size()) {
    batch_.clear();
    next_ = until_ = 0;
    if (batch_.capacity() > idle_batch_frames_max) batch_.shrink_to_fit();
    channel_->take(batch_);
  }
  for (; until_ != batch_.size() && !out_.is_full(); ++until_) {
    const frame& f = batch_[until_];
    if (f.what == frame::type::close) {
      // The last frame of a channel. Those before it have been gathered.
      begin_closing({.code = f.code, .reason = std::string{f.bytes()}});
      break;
    }
    add_message(f.what == frame::type::text ? opcode::text : opcode::binary, f.bytes());
  }
  gather_control();
}

template <class Stream>
void websocket_stage<Stream>::gather_control() {
  if (control_.empty()) return;
  out_.add(control_);
  std::string{}.swap(control_);
}

template <class Stream>
void websocket_stage<Stream>::add_message(opcode what, std::string_view payload) {
  if constexpr (side == role::client) {
    out_.add(what, payload, keys_.next());
  } else {
    out_.add(what, payload);
  }
}

template <class Stream>
void websocket_stage<Stream>::add_control(opcode what, std::string_view payload) {
  if constexpr (side == role::client) {
    append_frame(control_, what, payload, keys_.next());
  } else {
    append_frame(control_, what, payload);
  }
}

template <class Stream>
void websocket_stage<Stream>::write_some() {
  writing_ = true;
  out_.is_one()
      ? stream_.async_write_some(out_.one(), this->template then<&websocket_stage::on_written>())
      : stream_.async_write_some(out_.all(), this->template then<&websocket_stage::on_written>());
}

template <class Stream>
void websocket_stage<Stream>::on_written(net::error_code error, std::size_t bytes) {
  if (!error && !out_.wrote(bytes)) return write_some();
  writing_ = false;
  written_due_ = time_point::max();
  out_.clear();
  std::size_t cost = 0;
  for (std::size_t i = next_; i != until_; ++i) {
    cost += batch_[i].cost();
    batch_[i].data = std::string{};
  }
  if (cost > 0) channel_->sent(cost);
  const std::size_t frames = std::exchange(next_, until_);
  if (!error) {
    this->counts().messages_out.add(until_ - frames);
    all_written();
  } else if (phase_ == phase::open && this->has_outstanding()) {
    // The client may have sent its reason before it left. Reading finds that, or the end as well.
    mute_ = true;
    this->owner().set_alarm(due_ = clock::now() + this->limits().close_timeout);
  } else {
    lost(error);
  }
}

template <class Stream>
void websocket_stage<Stream>::all_written() {
  if (phase_ == phase::accepting) return on_accepted();
  write();
  if (writing_) return;
  answering_ = false;
  go_on();
  linger();
}

// ── Termination ───────────────────────────────────────────────────────────────────────────────

template <class Stream>
void websocket_stage<Stream>::drain() {
  draining_ = true;
  if (held_ == held::by_refusal) return;  // comes back once the message is with the session
  // Received messages are handled, and their replies sent, before the close frame.
  if (phase_ == phase::open && channel_->wait_for(0)) {
    channel_->close(close_code::going_away, "the server is going away");
    write();
  }
}

// The client has broken the protocol: nothing that it still sends is read. The messages before that
// are the session's business: its replies are written before the close frame, if they come within
// limits::close_timeout.
template <class Stream>
void websocket_stage<Stream>::begin_failing(closed as) {
  parser_.give_up();  // an incomplete message is not needed any more
  if (mute_) return close(std::move(as));
  failing_ = true;
  as_ = std::move(as);
  message_due_ = time_point::max();
  due_ = clock::now() + this->limits().close_timeout;
  this->owner().set_alarm(due_);
  close_when_answered();
}

template <class Stream>
void websocket_stage<Stream>::close_when_answered() {
  if (channel_->wait_for(0)) channel_->close(as_.code, as_.reason);
}

template <class Stream>
void websocket_stage<Stream>::session_ended(exit_reason why) {
  session_.reset();
  if (why == exit_reason::failed) return channel_->close(close_code::failed, "the session failed");
  channel_->close(close_code::normal, "");
}

template <class Stream>
void websocket_stage<Stream>::close(closed as) {
  begin_closing(std::move(as));
  write();
  go_on();
}

template <class Stream>
void websocket_stage<Stream>::begin_closing(closed as) {
  // The violation is the reason, however the session has ended meanwhile.
  if (!is_failing()) as_ = std::move(as);
  enter(phase::closing, clock::now() + this->limits().close_timeout);
  message_due_ = written_due_ = time_point::max();  // the phase has its own deadline
  let_go();
  end_throttling();
  // The frames that are being written must stay; the others are no longer needed.
  batch_.resize(until_);
  std::size_t writing = 0;
  for (std::size_t i = next_; i != until_; ++i) writing += batch_[i].cost();
  channel_->shut(writing);
  add_control(opcode::close, close_payload(as_.code, as_.reason));
}

// Called once each side has sent its last frame, or cannot send it. As http_stage::linger().
template <class Stream>
void websocket_stage<Stream>::linger() {
  const bool has_said_last = mute_ || (!writing_ && control_.empty());
  if (phase_ != phase::closing || !heard_last_ || !has_said_last || lingering_) return;
  lingering_ = true;
  net::error_code ignored;  // if this fails, reading does too
  socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
  in_.keep(in_.unread().last(0));
  if (!reading_) read_within_rate();
}

template <class Stream>
void websocket_stage<Stream>::lost(net::error_code error) {
  if (phase_ == phase::over) return;
  if (as_.code == 0) as_ = {.code = close_code::abnormal, .reason = error.message()};
  end(std::move(as_));
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
  place_.leave();
  if (std::exchange(counted_, false)) this->counts().websockets.subtract();
  channel_->shut();
  if (const auto session = std::move(session_)) session->deliver(std::move(as));
}

template <class Stream>
void websocket_stage<Stream>::abandon() noexcept {
  this->disown();
  say_closed({.code = close_code::abnormal,
              .reason = side == role::server ? "the server closed the connection"
                                             : "the connection was closed locally"});
  base::cut(socket());
}

// ── Time ──────────────────────────────────────────────────────────────────────────────────────

template <class Stream>
time_point websocket_stage<Stream>::tick(time_point now) {
  if (now >= offer_at_) offer_now();
  // Before the pause ends, because the next message may begin another one.
  const time_point look = look_for_disconnect(now);
  if (now >= throttled_until_) {
    end_throttling();
    go_on();
  }
  const time_point next = watch(now);
  return std::min({next, look, offer_at_, throttled_until_, message_due_, written_due_});
}

template <class Stream>
time_point websocket_stage<Stream>::watch(time_point now) {
  const http::limits& l = this->limits();
  if (phase_ == phase::over) return time_point::max();
  if (is_failing() && !mute_) {
    if (now < std::min(due_, written_due_)) return due_;
    close(as_);  // without the replies that are not written by now
    return due_;
  }
  if (phase_ == phase::open && !mute_) {
    if (now >= message_due_) {
      this->counts().requests_timed_out.add();
      close({.code = close_code::policy, .reason = "a message was not complete in time"});
      return due_;
    }
    if (now >= written_due_) {
      this->counts().slow_readers_closed.add();
      close({.code = close_code::policy, .reason = "reading too slowly"});
      return due_;
    }
    // A client that is not read from cannot be heard.
    const bool is_read = held_ == held::no && throttled_ == throttled::no && !draining_;
    const time_point heard = is_read ? stream_.meter().heard : now;
    if (now < heard + l.idle_timeout / 2) return heard + l.idle_timeout / 2;
    if (now < heard + l.idle_timeout) {
      ping_once_since(heard, now);
      return heard + l.idle_timeout;
    }
    this->counts().idle_closed.add();
    as_ = {.code = close_code::abnormal,
           .reason = side == role::server ? "no data was received from the client in time"
                                          : "no data was received from the server in time"};
  } else {
    if (now < due_) return due_;
    (phase_ == phase::accepting ? this->counts().requests_timed_out
                                : this->counts().close_timed_out)
        .add();
  }
  base::cut(socket());
  // The steps that this interrupts have the most precise reason.
  if (!this->has_outstanding()) lost(boost::asio::error::operation_aborted);
  return time_point::max();
}

template <class Stream>
void websocket_stage<Stream>::ping_once_since(time_point heard, time_point now) {
  if (pinged_ >= heard) return;
  pinged_ = now;
  add_control(opcode::ping, {});
  write();
}

}  // namespace troupe::http::detail
