// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byte_share.hpp"
#include "channel.hpp"
#include "frame_parser.hpp"
#include "gathered_frames.hpp"
#include "mask_keys.hpp"
#include "metered_stream.hpp"
#include "read_buffer.hpp"
#include "respond.hpp"
#include "stage.hpp"

namespace troupe::http::detail {

/// The WebSocket part of a connection: hands what it reads to the session and writes what the session
/// has put into the channel. It is of a server's connection or of one that this process has begun, and
/// «the client» below is who is at the other end. Of the latter kind it begins open.
///
///   accepting ──▶ open ──one side closes, or breaks the rules──▶ closing ──▶ over
///
/// A read brings any number of messages; all are handed over, and what is sent meanwhile goes out with
/// one write. While open it reads, unless the session has to catch up (`held_`): it has not handled
/// enough of what was read before, or its mailbox is full, or a message was refused by that or by a
/// budget. That message, and what was read behind it, stays in `in_`; it is offered again.
///
/// A message has limits::request_time to come, and 64 KiB have limits::idle_time to be written: so
/// neither a client that says a byte now and then, nor one that reads so, stays.
///
/// Closing, it says and hears a close frame each, one of which began it; then it lingers until the
/// client has closed the socket. The alarm sees to it that this ends.
///
/// Threads: the loop's.
template <class Stream>
class websocket_stage : public stage<websocket_stage<Stream>, Stream> {
  using base = stage<websocket_stage<Stream>, Stream>;

 public:
  websocket_stage(typename base::owner_type& owner, std::shared_ptr<const site> on,
                  metered_stream<Stream> stream, upgrade to, recipient<poke> me);

  void accept(std::string_view answer);
  /// In place of that: the other end has agreed, and sent this behind its answer.
  void begin(std::string_view ahead);
  /// As the session has it.
  [[nodiscard]] websocket handle() const { return channel_->handle(); }
  void look();
  void drain();
  void session_ended(exit_reason why);

  /// The connection is gone; operations that are outstanding end by themselves.
  void abandon() noexcept;

  /// Does what is due, and returns when to look again.
  time_point tick(time_point now);

 private:
  enum class phase : std::uint8_t { accepting, open, closing, over };
  enum class held : std::uint8_t { no, by_window, by_mailbox, by_refusal };
  enum class asked : std::uint8_t { no, waiting, told };

  static constexpr role side = end_of<Stream>::as;

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
  void on_read(net::error_code error, std::size_t bytes);
  void go_on();
  void go_on_later();
  void go_through();
  [[nodiscard]] bool goes_through() const noexcept;
  void heard(frame_parser::event what);

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
  void close(closed as);
  void begin_closing(closed as);
  void linger();
  void on_lingered(net::error_code);
  void lost(net::error_code error);
  void end(closed as);
  void say_closed(closed as);

  metered_stream<Stream> stream_;
  frame_parser parser_;
  byte_share kept_;  // the bytes that the parser keeps
  std::shared_ptr<channel> channel_;
  const session_factory* make_session_;
  std::unique_ptr<session_port> session_;  // null before it is made and after it was told `closed`
  read_buffer in_;
  gathered_frames out_;  // being written
  std::string control_;  // to be written next: frames of this stage's own
  [[no_unique_address]] keys_of<side> keys_;
  std::vector<frame> batch_;            // taken from the channel
  std::size_t next_ = 0;                // of the batch: the first that is not written
  std::size_t until_ = 0;               // the first that is not being written either
  closed as_{.code = 0, .reason = {}};  // how it ends; code 0: not yet
  time_point due_;                      // of the phase, or of one that cannot write any more
  time_point message_due_ = time_point::max();  // the end of the message that has begun
  time_point written_due_ = time_point::max();  // the end of the write that is going on
  time_point pinged_;
  time_point offer_at_ = time_point::max();  // what was refused
  duration patience_{};                      // how long it was to wait for that
  phase phase_ = phase::accepting;
  held held_ = held::no;
  asked asked_ = asked::no;  // with a mark, behind the refusal, to be told when there may be room
  bool is_text_ = false;     // what is handed over
  bool reading_ = false;
  bool going_on_ = false;  // go_through() has been posted
  bool writing_ = false;
  bool answering_ = false;   // a ping; nothing is read until that is written
  bool heard_last_ = false;  // nothing that the client still sends is of interest
  bool lingering_ = false;
  bool mute_ = false;  // writing has failed
  bool draining_ = false;
  bool counted_ = false;
};

}  // namespace troupe::http::detail
