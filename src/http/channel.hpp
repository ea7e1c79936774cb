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

/// To a connection, from its channel: look at what has changed.
struct poke {};

/// One message on its way to the client, or the closing that ends the series.
struct frame {
  enum class type : std::uint8_t { text, binary, close };

  std::variant<std::string, std::shared_ptr<const std::string>> data;
  type what = type::text;
  std::uint16_t code = 0;  // of a close; its data is the reason

  [[nodiscard]] std::string_view bytes() const noexcept;
  /// What it counts for in send_queue_bytes: itself too, or empty messages would be free.
  [[nodiscard]] std::size_t cost() const noexcept { return bytes().size() + sizeof(frame); }
};

/// What a WebSocket connection and its session have in common: the frames that the session sent and
/// the socket has not taken, how many messages the session has not handled, and whether it has got to
/// the mark behind them.
///
/// Threads:   as its sections say; «the connection» is the loop's thread.
/// Invariant: what is queued, and what the connection has taken and not reported as sent(), together
///            never cost more than limits::send_queue_bytes and one close frame. What that is beyond
///            own_bytes is part of what all channels have together: limits::send_queues_bytes. At
///            most one poke about frames is outstanding. Nothing is queued once it is shut.
class channel : public std::enable_shared_from_this<channel> {
 public:
  static constexpr std::size_t own_bytes = 16 * 1024;

  /// `all`: of all channels; null: this one is alone.
  channel(const limits& bounds, request upgrade, recipient<poke> connection,
          std::string protocol = {}, std::shared_ptr<byte_gauge> all = nullptr);

  [[nodiscard]] websocket handle() noexcept { return websocket{shared_from_this()}; }

  // ── Any thread ──────────────────────────────────────────────────────────────────────────────
  delivery send(frame f);
  void close(std::uint16_t code, std::string reason);
  void handled_one() noexcept;
  void caught_up() noexcept;
  [[nodiscard]] const request& upgrade_request() const noexcept { return upgrade_; }
  [[nodiscard]] const std::string& protocol() const noexcept { return protocol_; }

  // ── The connection ──────────────────────────────────────────────────────────────────────────
  /// Moves what is queued into `batch`, which must be empty. If that is nothing, the next frame
  /// makes a poke.
  void take(std::vector<frame>& batch);
  /// A frame has exceeded the limit; nothing is queued any more.
  [[nodiscard]] bool overflowed() const noexcept;
  void sent(std::size_t cost) noexcept;
  /// Ends sending; drops what is queued and the reference to the connection. `writing`: the cost
  /// of what the connection has taken and still keeps.
  void shut(std::size_t writing = 0) noexcept;

  /// A place for a message to the session. The connection asks out() first.
  [[nodiscard]] window_place place();
  [[nodiscard]] std::uint32_t out() const noexcept { return window_.out(); }
  /// True if at most `most` messages are out; otherwise a poke comes once that is so.
  [[nodiscard]] bool wait_for(std::uint32_t most) noexcept { return window_.wait_for(most); }

  /// For behind the last message. A poke comes once the session has got to the last of them.
  [[nodiscard]] mark make_mark();
  [[nodiscard]] bool is_behind() const noexcept;

 private:
  void poke_once(std::unique_lock<mutex>& lock);
  void tell(std::unique_lock<mutex>& lock);
  [[nodiscard]] bool charge(std::size_t bytes) noexcept;

  const std::size_t bytes_max_;
  const request upgrade_;
  const std::string protocol_;
  window window_;

  mutable mutex mutex_;         // guards what follows
  recipient<poke> connection_;  // empty once shut
  std::vector<frame> queue_;
  std::size_t bytes_ = 0;                 // cost of what is queued or taken and not yet sent
  std::optional<byte_share> beyond_own_;  // of what all have together
  bool poked_ = false;                    // the connection knows that there is something
  bool closing_ = false;                  // takes no more frames
  bool overflowed_ = false;
  std::uint32_t marks_ = 0;  // that are out
};

}  // namespace troupe::http::detail
