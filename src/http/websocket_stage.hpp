// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission.hpp"
#include "byte_share.hpp"
#include "channel.hpp"
#include "client_address.hpp"
#include "connection_stage.hpp"
#include "frame_parser.hpp"
#include "gathered_frames.hpp"
#include "mask_keys.hpp"
#include "metered_stream.hpp"
#include "read_buffer.hpp"
#include "respond.hpp"

namespace troupe::http::detail {

/// The WebSocket part of a connection. It passes incoming messages to the session, and writes the
/// frames that the session has put into the channel. It belongs either to a server's connection or
/// to one that this process has opened; the latter begins in `open`. Below, «the client» means the
/// other end.
///
///   accepting ──▶ open ──one side closes, or breaks the rules──▶ closing ──▶ over
///
/// A read brings any number of messages, all of which are passed on, and the replies sent meanwhile
/// leave with one write. While open, the stage reads unless the session has to catch up (`held_`):
/// the session has not handled enough of the earlier messages, or its mailbox is full, or a message
/// was refused by the mailbox or by a budget. That message and the data that was read after it stay
/// in `in_`. The message is offered again.
///
/// A client that exceeds a rate of its address is not read until the rate permits it: after the
/// message that was too many, or after the read that brought too many bytes. This is independent of
/// `held_`. Too many such messages in a row close with 1008.
///
/// A message must arrive within limits::request_timeout, and 64 KiB must be written within
/// limits::idle_timeout. So neither a client that sends a byte now and then nor one that reads a
/// byte now and then stays.
///
/// After a violation, the stage stays open but reads nothing more until the session has handled the
/// messages that were complete before, at most limits::close_timeout. The replies to these are
/// written, and then the close frame.
///
/// While closing, each side sends one close frame; one of them began it. Then the stage lingers
/// until the client has closed the socket. The alarm bounds the time of all this.
///
/// Threads: the loop's.
template <class Stream>
class websocket_stage : public stage<websocket_stage<Stream>, Stream> {
  using base = stage<websocket_stage<Stream>, Stream>;

 public:
  /// `who`: whose rates count. `place`: that of a client on the connection of a trusted proxy.
  websocket_stage(typename base::owner_type& owner, std::shared_ptr<const server_context> on,
                  metered_stream<Stream> stream, upgrade to, recipient<poke> me,
                  const client_key& who = {}, client_place place = {});

  void accept(std::string_view answer);
  /// Replaces accept() at the client's end: the server has accepted, and has sent `ahead` after its
  /// response.
  void begin(std::string_view ahead);
  /// The handle that the session has.
  [[nodiscard]] websocket handle() const { return channel_->handle(); }
  void look();
  void drain();
  void session_ended(exit_reason why);

  /// The connection is gone. Outstanding operations complete on their own.
  void abandon() noexcept;

  /// Does what is due, and returns when it has to be called next.
  time_point tick(time_point now);

 private:
  enum class phase : std::uint8_t { accepting, open, closing, over };
  enum class held : std::uint8_t { no, by_window, by_mailbox, by_refusal };
  enum class asked : std::uint8_t { no, waiting, told };
  // By a rate of its address: nothing is read, or what was read is not looked at either.
  enum class throttled : std::uint8_t { no, reading, all };

  static constexpr role side = connection_end<Stream>::as;

  Stream& socket() noexcept { return stream_.next_layer(); }
  void enter(phase next, time_point due) {
    phase_ = next;
    due_ = due;
    this->owner().set_alarm(due);
  }

  void on_accepted();
  void open();
  void open_session();

  void read();
  void read_within_rate();
  void on_read(net::error_code error, std::size_t bytes);
  void go_on();
  void go_on_later();
  void go_through();
  [[nodiscard]] bool goes_through() const noexcept;
  void heard(frame_parser::event what);

  void count_received(std::size_t bytes);
  void count_message();
  void throttle(throttled what, duration wait);
  void end_throttling();
  [[nodiscard]] time_point look_for_disconnect(time_point now);

  void hand_over();
  [[nodiscard]] handed_over deliver();
  void hold(held why);
  void let_go();
  void offer_later();
  void offer_now();
  void offer_again();

  void write();
  void gather();
  void gather_control();
  void add_message(opcode what, std::string_view payload);
  void add_control(opcode what, std::string_view payload);
  void write_some();
  void on_written(net::error_code error, std::size_t bytes);
  void all_written();

  void time_message();
  void count_what_is_kept();
  time_point watch(time_point now);
  void ping_once_since(time_point heard, time_point now);
  /// The client has broken the protocol, and the session still replies to what came before.
  [[nodiscard]] bool is_failing() const noexcept { return phase_ == phase::open && failing_; }
  void begin_failing(closed as);
  void close_when_answered();
  void close(closed as);
  void begin_closing(closed as);
  void linger();
  void lost(net::error_code error);
  void end(closed as);
  void say_closed(closed as);

  metered_stream<Stream> stream_;
  frame_parser parser_;
  byte_share kept_;  // the bytes that the parser stores
  std::shared_ptr<channel> channel_;
  const session_factory* make_session_;
  std::unique_ptr<session_port> session_;  // null before it is created and after it got `closed`
  read_buffer in_;
  gathered_frames out_;  // frames that are being written
  std::string control_;  // frames of this stage's own, to be written next
  [[no_unique_address]] keys_of<side> keys_;
  std::vector<frame> batch_;            // taken from the channel
  std::size_t next_ = 0;                // the first frame of the batch that is not written
  std::size_t until_ = 0;               // the first frame that is not being written either
  closed as_{.code = 0, .reason = {}};  // how it ends; code 0: not yet
  time_point due_;  // of the phase, or of one that cannot write any more, or is failing
  time_point message_due_ = time_point::max();  // the end of the message that has begun
  time_point written_due_ = time_point::max();  // the end of the write that is going on
  time_point pinged_;
  time_point offer_at_ = time_point::max();  // when the refused message is offered again
  duration patience_{};                      // the current wait before that
  const client_key who_;
  client_place place_;
  time_point throttled_until_ = time_point::max();
  std::uint64_t throttled_messages_ = 0;  // one after another
  throttled throttled_ = throttled::no;
  phase phase_ = phase::accepting;
  held held_ = held::no;
  asked asked_ = asked::no;  // with a mark, behind the refusal, to be told when there may be room
  bool is_text_ = false;     // what is handed over
  bool reading_ = false;
  bool going_on_ = false;  // go_through() has been posted
  bool writing_ = false;
  bool answering_ = false;   // a ping; nothing is read until the pong is written
  bool heard_last_ = false;  // nothing that the client still sends is of interest
  bool failing_ = false;     // `as_` says why; close_when_answered() ends it, or the alarm
  bool lingering_ = false;
  bool mute_ = false;  // writing has failed
  bool draining_ = false;
  bool counted_ = false;
};

}  // namespace troupe::http::detail
