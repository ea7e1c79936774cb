// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/beast/websocket/stream.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "beast.hpp"
#include "channel.hpp"
#include "metered_stream.hpp"
#include "respond.hpp"
#include "stage.hpp"

namespace troupe::http::detail {

/// The WebSocket part of a connection: hands what it reads to the session and writes what the
/// session has put into the channel, each one at a time.
///
///   accepting ──▶ open ──one side closes, or breaks the rules──▶ closing ──▶ over
///
/// While open it reads, unless the session has to catch up (`held_`): it has not handled enough of
/// what was read before, or its mailbox is full, or the message that was just read was refused by
/// that or by a budget. That message stays in `buffer_` and is offered again. Closing, Beast
/// exchanges the close frames and the ends of the two streams; the alarm sees to it that this ends.
///
/// Threads: the loop's.
template <class Stream>
class websocket_stage : public stage<websocket_stage<Stream>, Stream> {
  using base = stage<websocket_stage<Stream>, Stream>;

 public:
  websocket_stage(basic_connection<Stream>& owner, std::shared_ptr<const site> on,
                  metered_stream<Stream> stream, upgrade to, recipient<poke> me);

  void accept(const parsed_request& handshake);
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

  metered_stream<Stream>& metered() noexcept { return codec_.next_layer(); }
  Stream& socket() noexcept { return metered().next_layer(); }
  void enter(phase next, time_point due) {
    phase_ = next;
    due_ = due;
    this->owner().set_alarm(due);
  }

  void on_accepted(net::error_code error);
  void open_session();
  void read();
  void on_read(net::error_code error, std::size_t);
  void hand_over();
  [[nodiscard]] handed_over deliver();
  void read_on();
  void hold(held why);
  void let_go();
  void offer_later();
  void offer_now();
  void offer_again();
  void write();
  void on_written(net::error_code error, std::size_t);
  time_point watch(time_point now);
  void ping_once_since(time_point heard, time_point now);
  void on_pinged(net::error_code);
  void start_closing() { enter(phase::closing, clock::now() + this->limits().close_time); }
  void close(closed as);
  void on_closed(net::error_code);
  void lost(net::error_code error);
  void end(closed as);
  void say_closed(closed as);

  beast::websocket::stream<metered_stream<Stream>, false> codec_;
  std::shared_ptr<channel> channel_;
  const session_factory* make_session_;
  std::unique_ptr<session_port> session_;  // null before it is made and after it was told `closed`
  beast::flat_buffer buffer_;
  std::vector<frame> batch_;  // taken from the channel
  std::size_t next_ = 0;      // of the batch: the frame that is being written, or the next
  closed said_{.code = 0, .reason = {}};  // with what this side closes; code 0: it does not
  time_point due_;                        // of the phase, or of one that cannot write any more
  time_point pinged_;
  time_point offer_at_ = time_point::max();  // what was refused
  duration patience_{};                      // how long it was to wait for that
  phase phase_ = phase::accepting;
  bool reading_ = false;
  bool writing_ = false;
  bool pinging_ = false;
  bool mute_ = false;  // writing has failed
  held held_ = held::no;
  asked asked_ = asked::no;  // with a mark, behind the refusal, to be told when there may be room
  bool draining_ = false;
  bool counted_ = false;
};

}  // namespace troupe::http::detail
