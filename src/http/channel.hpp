// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <troupe/http/limits.hpp>
#include <troupe/http/request.hpp>
#include <troupe/http/websocket.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/troupe.hpp>

#include "byte_share.hpp"
#include "window.hpp"

namespace troupe::http::detail {

/// From a channel to its connection: check what has changed.
struct poke {};

/// One message on its way to the client, or the close frame that ends the series.
struct frame {
  enum class type : std::uint8_t { text, binary, close };

  std::variant<std::string, std::shared_ptr<const std::string>> data;
  type what = type::text;
  std::uint16_t code = 0;  // of a close frame, whose data is the reason

  [[nodiscard]] std::string_view bytes() const noexcept;
  /// The bytes that it counts in send_queue_bytes. The frame itself counts too, or empty messages
  /// would be free.
  [[nodiscard]] std::size_t cost() const noexcept { return bytes().size() + sizeof(frame); }
};

/// The state that a WebSocket connection and its session share: the frames that the session has
/// sent and the socket has not taken, the number of messages that the session has not handled, and
/// whether the session has reached the mark after them.
///
/// Threads:   as its sections say. «The connection» means the loop's thread.
/// Invariant: the queued frames, and those that the connection has taken and not reported as
///            sent(), together never cost more than limits::send_queue_bytes and one close frame.
///            The part beyond own_bytes counts towards the limit for all channels together,
///            limits::send_queues_bytes. At most one poke about frames is outstanding. Nothing is
///            queued once the channel is shut.
class channel : public std::enable_shared_from_this<channel> {
 public:
  static constexpr std::size_t own_bytes = 16 * 1024;

  /// `all`: of all channels; null: this one is alone. `of_request`: what the request counts for.
  channel(const limits& bounds, request upgrade, recipient<poke> connection,
          std::string protocol = {}, std::shared_ptr<byte_gauge> all = nullptr,
          std::unique_ptr<byte_share> of_request = nullptr);

  [[nodiscard]] websocket handle() noexcept { return websocket{shared_from_this()}; }

  // ── Any thread ──────────────────────────────────────────────────────────────────────────────
  delivery send(frame f);
  void close(std::uint16_t code, std::string reason);
  void handled_one() noexcept;
  void caught_up() noexcept;
  [[nodiscard]] const request& upgrade_request() const noexcept { return upgrade_; }
  [[nodiscard]] const std::string& protocol() const noexcept { return protocol_; }

  // ── The connection ──────────────────────────────────────────────────────────────────────────
  /// Moves the queued frames into `batch`, which must be empty. If the queue is empty, the next
  /// frame causes a poke.
  void take(std::vector<frame>& batch);
  /// A frame has exceeded the limit. Nothing more is queued.
  [[nodiscard]] bool overflowed() const noexcept;
  void sent(std::size_t cost) noexcept;
  /// Ends sending, and drops the queued frames and the reference to the connection. `writing` is
  /// the cost of the frames that the connection has taken and still keeps.
  void shut(std::size_t writing = 0) noexcept;

  /// A place for a message to the session. The connection checks out() first.
  [[nodiscard]] window_place place();
  [[nodiscard]] std::uint32_t out() const noexcept { return window_.out(); }
  /// Returns true if at most `most` messages are out; otherwise a poke follows once that holds.
  [[nodiscard]] bool wait_for(std::uint32_t most) noexcept { return window_.wait_for(most); }

  /// To be sent after the last message. A poke follows once the session has reached the last mark.
  [[nodiscard]] mark make_mark();
  [[nodiscard]] bool is_behind() const noexcept;

 private:
  void poke_once(std::unique_lock<mutex>& lock);
  void tell(std::unique_lock<mutex>& lock);
  [[nodiscard]] bool charge(std::size_t bytes) noexcept;

  const std::size_t bytes_max_;
  const request upgrade_;
  const std::unique_ptr<byte_share> of_request_;
  const std::string protocol_;
  window window_;

  mutable mutex mutex_;         // guards the members below
  recipient<poke> connection_;  // empty once shut
  std::vector<frame> queue_;
  std::size_t bytes_ = 0;                 // cost of the frames that are queued, or taken and not
                                          // yet sent
  std::optional<byte_share> beyond_own_;  // in the budget of all channels
  bool poked_ = false;                    // the connection knows that there are frames
  bool closing_ = false;                  // accepts no more frames
  bool overflowed_ = false;
  std::uint32_t marks_ = 0;  // the number of marks that are out
};

}  // namespace troupe::http::detail
