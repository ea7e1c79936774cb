// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admission.hpp"
#include "beast.hpp"
#include "body_budget.hpp"
#include "body_decoder.hpp"
#include "client_address.hpp"
#include "connection_stage.hpp"
#include "metered_stream.hpp"
#include "read_buffer.hpp"
#include "request_parser.hpp"
#include "respond.hpp"

namespace troupe::http::detail {

/// The HTTP part of a connection: one request at a time. A body is read only if a handler needs it;
/// every other request gets its response once its head is complete. Requests that a client sends
/// ahead wait in the buffer or in the socket.
///
///   waiting ──first bytes──▶ reading ──last byte──▶ writing ──keep-alive──▶ waiting
///      │                        │ bad, late,           │ or close
///      │                        │ needs no body        │
///      ▼ idle, eof              └──▶ writing           ▼
///     over ◀──────────────────────────────── (lingering, after an error)
///
/// A request for metrics is `making` between reading and writing: an actor makes the text, and
/// neither an operation nor the client can end this phase, but the alarm does.
///
/// A request whose handler is a coroutine is `handling` between reading and writing. The socket is
/// read meanwhile: what a client sends ahead waits in the buffer, up to its size, and the end of a
/// client cancels the handler. This read continues after the response, and is then the read that
/// waits for the next request. If it is outstanding when a WebSocket begins, it is cancelled and
/// awaited first, in the phase `upgrading`.
///
/// Memory for a request is bounded: 16 KiB of unparsed bytes, header_bytes for the head, body_bytes
/// for the body. The bodies of all connections share request_bodies_bytes.
///
/// A client that exceeds received_bytes_per_second is not read until its address is within the rate
/// again; meanwhile no read is outstanding, and the alarm continues. One that exceeds
/// requests_per_second is answered with 429. On the connection of a trusted proxy both belong to
/// the client that the request names.
///
/// Threads: the loop's.
template <class Stream>
class http_stage : public stage<http_stage<Stream>, Stream> {
  using base = stage<http_stage<Stream>, Stream>;

 public:
  /// `peer`: unmapped. Not used if the clients have no addresses.
  http_stage(basic_connection<Stream>& owner, std::shared_ptr<const server_context> on,
             Stream stream, const ip_address& peer)
      : base(owner, std::move(on)),
        stream_(std::move(stream), this->counts()),
        peer_(peer),
        is_proxied_(this->on().proxies.trusts(peer)),
        client_(this->on().is_unix ? "unix" : peer.to_string()),
        client_key_(peer),
        share_(this->on().bodies) {}

  void start() {
    since_ = clock::now();
    began_ = since_;
    handshake_due_ = since_ + this->limits().handshake_timeout;
    await_request();
  }

  /// Responds that no space is left, whatever the client requests.
  void refuse() {
    began_ = clock::now();
    fail({503, "too many connections"});
  }

  void drain() {
    draining_ = true;
    if (phase_ == phase::waiting) paused_ ? finish() : cancel();
  }

  /// The connection is gone. Outstanding operations complete on their own.
  void abandon() noexcept {
    uncount_handler();
    this->disown();
    place_.leave();
    base::cut(socket());
  }

  /// The text for a request that waits for metrics.
  void on_metrics(const metrics_text& made);
  /// The response of a coroutine. It may be that of an earlier request, which had timed out.
  void on_handled(handled&& m);

  /// Does what is due, and returns when to look again.
  time_point tick(time_point now);

 private:
  enum class phase : std::uint8_t {
    waiting,
    reading,
    making,
    handling,
    writing,
    upgrading,
    lingering,
    over
  };

  Stream& socket() noexcept { return stream_.next_layer(); }
  void enter(phase next, time_point due) {
    phase_ = next;
    this->owner().set_alarm(due);
  }
  void cancel() {
    net::error_code ignored;
    socket().cancel(ignored);
  }
  bool is_first() const noexcept { return handshake_due_ != time_point::max(); }

  void await_request();
  void begin_request();
  void forget_client();
  [[nodiscard]] bool find_client();
  void count_received(std::size_t bytes);
  void charge_received(std::size_t bytes);
  void read();
  void read_within_rate();
  void start_reading();
  void on_read(net::error_code error, std::size_t bytes);
  void go_through();
  void read_head();
  void on_head();
  void on_continued(net::error_code error, std::size_t);
  void read_body();
  [[nodiscard]] bool add_to_body(std::string_view piece);
  void answer();
  void leave_if_draining() noexcept;
  void await_metrics(const ref<metrics_maker>& from);
  void await_handler(const route_handler& by);
  void watch_client();
  void switch_to_websocket();
  void client_is_gone();
  void uncount_handler() noexcept {
    if (std::exchange(is_handler_counted_, false)) this->counts().handlers.subtract();
  }
  void answer_too_many(duration wait);
  void reject(const refusal& what);
  void fail(const refusal& what);  // for input that has not been counted as a request
  void refuse(const refusal& what);
  void write(reply r);
  void on_written(net::error_code error, std::size_t);
  [[nodiscard]] time_point read_when_due(time_point now, time_point due);
  [[nodiscard]] time_point writing_due() noexcept;
  [[nodiscard]] bool is_read_fast_enough() noexcept;
  void tell(unsigned status, std::uint64_t bytes);
  void linger();
  void finish();

  metered_stream<Stream> stream_;
  const ip_address peer_;
  const bool is_proxied_;  // the peer is a trusted proxy, and a request names its client
  std::string client_;     // as text; the peer until the request has named it
  client_key client_key_;
  client_place place_;        // of that client, on the connection of a proxy
  std::size_t received_ = 0;  // bytes of a client that is not known yet
  time_point read_at_{};      // until then the client is held to its rate
  read_buffer in_;
  std::optional<request_parser> parser_;  // from the first byte of a request to its response
  std::optional<body_decoder> decoder_;   // while its body is read
  std::string body_;
  body_share share_;  // of the memory for request bodies
  phase phase_ = phase::waiting;
  bool keep_alive_ = false;
  bool draining_ = false;
  bool timed_out_ = false;
  bool paused_ = false;               // read() waits for read_at_
  bool unread_ = false;               // the client may have sent more than was read
  bool is_reading_ = false;           // a read is outstanding
  bool is_continuing_ = false;        // 100 Continue is being written
  std::unique_ptr<upgrade> upgrade_;  // to a WebSocket, once no read is outstanding
  bool is_at_end_ = false;  // the client sends nothing more; found out while a request was handled
  std::uint64_t scrape_ = 0;  // the number of the last request for metrics
  bool is_handler_counted_ = false;
  std::uint64_t handled_ = 0;  // the number of the last request whose handler is a coroutine
  response_form form_;         // of its response
  std::string handled_path_;   // its path, for messages
  time_point handler_due_;     // the deadline for its response
  time_point since_;  // when the phase began, or when it was last found that the client reads
  std::uint64_t written_before_ = 0;              // bytes written at that time
  time_point began_;                              // when the request began
  unsigned status_ = 0;                           // status of the response
  std::string method_, target_;                   // of the request, for http::options::on_access
  time_point handshake_due_ = time_point::max();  // until the first request has arrived
  time_point request_due_;
};

}  // namespace troupe::http::detail
